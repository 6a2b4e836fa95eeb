// ppc-test-host-numerics: compiles each public function for the host, runs it on random numbers on one or several
// ranks, and compares with the interpreter. ppc-test-kernel-numerics: kernels in PTX on one rank, by the PTX emulator.
#include "HostProgram.h"
#include "HostRuntime.h"
#include "KernelProgram.h"
#include "RandomOperands.h"
#include "TestPasses.h"

#include "mlir/Pass/Pass.h"
#include "ppc/Interpreter/Interpreter.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <random>

namespace mlir::ppc::test {
namespace {

/// Base of all ways of running a function: random arguments, and the comparison.
template <typename Program> struct TestNumericsPass : PassWrapper<TestNumericsPass<Program>, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestNumericsPass)
  static constexpr bool onHost = std::is_same_v<Program, HostProgram>;
  using Base = PassWrapper<TestNumericsPass<Program>, OperationPass<ModuleOp>>;
  using Base::getOperation;
  TestNumericsPass() = default;
  TestNumericsPass(const TestNumericsPass &other) : Base(other) {}
  StringRef getArgument() const override { return onHost ? "ppc-test-host-numerics" : "ppc-test-kernel-numerics"; }
  StringRef getDescription() const override {
    return onHost ? "compare host code with the interpreter on random numbers"
                  : "compare kernels in PTX, executed by the PTX emulator, with the interpreter on random numbers";
  }

  Pass::Option<int64_t> ranks{*this, "ranks", llvm::cl::desc("ranks along the axis tp"), llvm::cl::init(1)};
  Pass::Option<uint64_t> seed{*this, "seed", llvm::cl::desc("seed of the random numbers"), llvm::cl::init(1)};

  Pass::Option<double> rounding{
      *this, "rounding", llvm::cl::desc("error in addition to the last rounding, as test.rounding"), llvm::cl::init(0)};
  Pass::Option<std::string> chip{*this, "chip", llvm::cl::desc("chip that kernels are compiled for"),
                                 llvm::cl::init("sm_80")};
  Pass::Option<std::string> ptx{*this, "ptx", llvm::cl::desc("file that the PTX of kernels is written to")};

  llvm::Expected<std::unique_ptr<Program>> compile() {
    if constexpr (onHost)
      return Program::compile(getOperation());
    else
      return Program::compile(getOperation(), chip, ptx);
  }

  /// Random values for an argument: `test.range = [low, high]` or [-1, 1); integers in [0, `test.below`) or [0, 8).
  /// With `test.value` that number. Representable in the element type.
  ReferenceTensor randomArgument(func::FuncOp function, unsigned index, std::mt19937_64 &random) {
    auto type = cast<RankedTensorType>(function.getArgumentTypes()[index]);
    ReferenceTensor tensor = ReferenceTensor::zeros(type);
    double low = -1, high = 1;
    if (auto range = function.getArgAttrOfType<DenseF64ArrayAttr>(index, "test.range")) {
      low = range[0];
      high = range[1];
    }
    auto below = function.getArgAttrOfType<IntegerAttr>(index, "test.below");
    auto fixed = function.getArgAttrOfType<FloatAttr>(index, "test.value");
    for (double &value : tensor.data) {
      value = std::uniform_real_distribution<double>(low, high)(random);
      if (below || type.getElementType().isInteger())
        value = double(random() % uint64_t(below ? std::max<int64_t>(1, below.getInt()) : 8));
      if (fixed)
        value = fixed.getValueAsDouble();
      if (type.getElementType().isF32())
        value = float(value);
      if (type.getElementType().isBF16())
        value = Bf16(value);
    }
    return tensor;
  }

  /// Error of one result of a function, over the ranks: |got - wanted| / |wanted| in the Euclidean norm.
  static double relativeDifference(ArrayRef<RankValues> wanted, ArrayRef<RankValues> got, size_t result) {
    double difference = 0, all = 0;
    for (auto [expected, actual] : llvm::zip(wanted, got))
      for (auto [x, y] : llvm::zip(expected[result].data, actual[result].data))
        if (x != y) // infinities
          difference += (x - y) * (x - y), all += x * x;
        else if (std::isfinite(x))
          all += x * x;
    return difference > 0 ? std::sqrt(difference / all) : 0;
  }

  /// Kernels are held to these in the Euclidean norm, besides each element; `test.rounding` and the option allow more.
  LogicalResult checkNorm(func::FuncOp function, ArrayRef<RankValues> wanted, ArrayRef<RankValues> got, uint64_t seed) {
    for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
      double difference = relativeDifference(wanted, got, i);
      bool isBf16 = getElementTypeOrSelf(type).isBF16();
      double &worst = isBf16 ? worstOfBf16 : worstOfOthers;
      worst = std::max(worst, difference);
      double most = isBf16 ? 5e-3 : 1e-6;
      if (auto more = function->getAttrOfType<FloatAttr>("test.rounding"))
        most += more.getValueAsDouble();
      if (!onHost && difference > most + rounding)
        return function.emitError() << "result " << i << " differs by " << llvm::formatv("{0:e2}", difference).str()
                                    << " in relative L2, expected at most "
                                    << llvm::formatv("{0:e2}", most + rounding).str() << " (seed " << seed << ")";
    }
    return success();
  }

  LogicalResult compare(func::FuncOp function, Program &program, uint64_t seed) {
    std::mt19937_64 random(seed);
    SmallVector<SmallVector<ReferenceTensor>> arguments(ranks);
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      bool same =
          isa<IntegerType>(getElementTypeOrSelf(function.getArgumentTypes()[i])) || function.getArgAttr(i, "test.same");
      for (auto &values : arguments)
        values.push_back(same && !arguments[0].empty() && &values != &arguments[0]
                             ? arguments[0][i]
                             : randomArgument(function, i, random));
    }
    MLIRContext *context = function.getContext();
    auto grid = GridAttr::get(context, {StringAttr::get(context, "tp")}, {int64_t(ranks)});
    FailureOr<SmallVector<RankValues>> wanted = interpretSpmd(grid, function, arguments);
    if (failed(wanted))
      return failure();
    auto got = program.run(function, arguments);
    if (!got)
      return function.emitError(llvm::toString(got.takeError()));
    for (int64_t rank = 0; rank < ranks; ++rank)
      for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
        // A bf16 result is rounded once, if nothing before it is; `test.rounding` is how much else is lost.
        double tolerance = getElementTypeOrSelf(type).isF64()    ? 1e-11
                           : getElementTypeOrSelf(type).isBF16() ? 0x1p-8 + 1e-5
                                                                 : 1e-5;
        if (auto rounding = function->getAttrOfType<FloatAttr>("test.rounding"))
          tolerance += rounding.getValueAsDouble();
        tolerance += this->rounding;
        for (auto [j, pair] : llvm::enumerate(llvm::zip((*wanted)[rank][i].data, (*got)[rank][i].data))) {
          auto [expected, actual] = pair;
          bool close = expected == actual || (std::isnan(expected) && std::isnan(actual)) ||
                       std::abs(expected - actual) <= tolerance * std::max(1.0, std::abs(expected));
          if (!close)
            return function.emitError() << "result " << i << " element " << j << " on rank " << rank << " is "
                                        << std::to_string(actual) << ", expected " << std::to_string(expected)
                                        << " (seed " << seed << ")";
        }
      }
    return checkNorm(function, *wanted, *got, seed);
  }

  void runOnOperation() override {
    if (failed(verifySizes(this->getOperation(), int64_t(1) << 22)))
      return this->signalPassFailure();
    // Collectives of the interpreter and of the compiler ask the plan for group sizes only when blocks are padded.
    auto program = compile();
    if (!program) {
      getOperation().emitError(llvm::toString(program.takeError()));
      return this->signalPassFailure();
    }
    for (auto function : getOperation().template getOps<func::FuncOp>()) {
      if (!function.isPublic() || !llvm::all_of(function.getArgumentTypes(), llvm::IsaPred<RankedTensorType>))
        continue;
      if (std::string missing = (*program)->notExecuted(function); !missing.empty()) {
        llvm::outs() << "@" << function.getSymName() << " not executed: " << missing << "\n";
        continue;
      }
      worstOfBf16 = worstOfOthers = 0;
      for (uint64_t round = 0; round < 3; ++round)
        if (failed(compare(function, **program, seed + round)))
          return this->signalPassFailure();
      llvm::outs() << "@" << function.getSymName() << " agrees on " << ranks << " ranks (seeds " << seed << " to "
                   << seed + 2 << "), relative L2 at most " << llvm::formatv("{0:e1}", worstOfOthers);
      if (worstOfBf16 > 0)
        llvm::outs() << ", in bf16 " << llvm::formatv("{0:e1}", worstOfBf16);
      llvm::outs() << "\n";
    }
  }

private:
  double worstOfBf16 = 0, worstOfOthers = 0; // errors of the current function
};
} // namespace

void registerTestHostNumerics() {
  PassRegistration<TestNumericsPass<HostProgram>>();
  PassRegistration<TestNumericsPass<KernelProgram>>();
}

} // namespace mlir::ppc::test
