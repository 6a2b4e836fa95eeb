// Plan files against a model: each is refused with a place in the file, or compiles and computes what one rank does, on
// the interpreter in f64. One process reads many, so that thousands take minutes.
#include "RankExecutor.h"
#include "StepValues.h"
#include "TestPasses.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "ppc/Equivalence/EquivalenceChecker.h"
#include "ppc/Interpreter/ShardedTensors.h"
#include "ppc/Phases/Phases.h"
#include "ppc/Transforms/Plan/Passes.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace mlir::ppc;
using namespace mlir::ppc::test;

namespace {

/// Logical tensors of a step's outputs by name.
using Results = std::map<std::string, ReferenceTensor>;

struct TestPlanFilesPass : PassWrapper<TestPlanFilesPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestPlanFilesPass)
  TestPlanFilesPass() = default;
  TestPlanFilesPass(const TestPlanFilesPass &other) : PassWrapper(other) {}

  StringRef getArgument() const final { return "test-ppc-plan-files"; }
  StringRef getDescription() const final {
    return "Compile a copy of the model by each plan file of a list, and compare its numbers with those of one rank";
  }
  void getDependentDialects(DialectRegistry &registry) const final { registry.insert<PpcDialect, func::FuncDialect>(); }

  Option<std::string> list{*this, "list", llvm::cl::desc("file with the path of a plan file in each line")};
  Option<int64_t> seed{*this, "seed", llvm::cl::desc("seed of the values"), llvm::cl::init(1)};

  void runOnOperation() override {
    auto paths = llvm::MemoryBuffer::getFile(list);
    if (!paths) {
      getOperation().emitError() << "cannot read " << list.getValue();
      return signalPassFailure();
    }
    SmallVector<StringRef> lines;
    (*paths)->getBuffer().split(lines, '\n', -1, /*KeepEmpty=*/false);
    Results expected;
    std::string problem = compute("", expected);
    if (!problem.empty()) {
      getOperation().emitError() << "the model does not run on one rank: " << problem;
      return signalPassFailure();
    }
    for (StringRef path : lines) {
      Results found;
      std::string outcome = compute(path, found);
      if (outcome.empty())
        outcome = difference(found, expected);
      llvm::outs() << path << ": " << (outcome.empty() ? "equal" : outcome) << "\n";
      llvm::outs().flush();
    }
  }

private:
  /// Runs passes; "" or the first error.
  std::string run(ModuleOp module, llvm::function_ref<void(OpPassManager &)> build) {
    std::string first;
    ScopedDiagnosticHandler collect(&getContext(), [&](Diagnostic &diagnostic) {
      if (first.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error)
        first = diagnostic.str();
      return success();
    });
    PassManager pm(&getContext());
    build(pm);
    bool ok = succeeded(pm.run(module));
    return ok ? "" : first.empty() ? "failed without a word" : first;
  }

  /// Compiles by a plan file, or without one for one rank, and runs a step. "", "refused: ..." where the file is not
  /// taken, "failed: ..." where it is and something goes wrong behind.
  std::string compute(StringRef path, Results &results) {
    OwningOpRef<ModuleOp> module = getOperation().clone();
    MakePlanPassOptions plan;
    plan.planFile = path.str();
    auto oneLine = [](std::string text) {
      std::replace(text.begin(), text.end(), '\n', ' ');
      return text;
    };
    if (std::string error = run(*module, [&](OpPassManager &pm) { pm.addPass(createMakePlanPass(plan)); });
        !error.empty())
      return "refused: " + oneLine(error);
    TrainOptions train;
    if (std::string error = run(*module, [&](OpPassManager &pm) { buildTrainPhase(pm, train); }); !error.empty())
      return "failed: " + oneLine(error);
    OwningOpRef<ModuleOp> logical = module->clone();
    if (std::string error = run(*module,
                                [&](OpPassManager &pm) {
                                  buildPlanPhase(pm);
                                  buildPartitionPhase(pm);
                                });
        !error.empty())
      return "failed: " + oneLine(error);
    if (std::string error = prove(*logical, *module); !error.empty())
      return "failed: " + oneLine(error);
    Random random(seed);
    NamedTensors values = randomValues(*logical->getOps<func::FuncOp>().begin(), random);
    RankExecutor executor(*module);
    if (std::string error = executor.run(values); !error.empty())
      return "failed: " + error;
    return assemble(*module, executor, results);
  }

  std::string prove(ModuleOp logical, ModuleOp module) {
    std::string first;
    ScopedDiagnosticHandler collect(&getContext(), [&](Diagnostic &diagnostic) {
      if (first.empty())
        first = diagnostic.str();
      return success();
    });
    return succeeded(checkEquivalence(logical, module)) ? "" : "not proved: " + first;
  }

  std::string assemble(ModuleOp module, RankExecutor &executor, Results &results) {
    ppcrt::ProgramOp program = ppcrt::findProgram(module);
    GridAttr grid = program.getDeviceGrid();
    std::vector<std::vector<RankTensors>> outputs = executor.outputs();
    std::string first;
    ScopedDiagnosticHandler collect(&getContext(), [&](Diagnostic &diagnostic) {
      first = diagnostic.str();
      return success();
    });
    for (auto [device, tensors] : llvm::zip_equal(program.getDevices(), outputs))
      for (auto [buffer, ranks] :
           llvm::zip_equal(llvm::to_vector(device.getBody().front().getOps<ppcrt::BufferOp>()), tensors)) {
        if (ranks.empty() || buffer.getRole() == ppcrt::BufferRole::Gradient) // what is left of sums is nobody's
          continue;
        RankedTensorType type = buffer.getLogicalType();
        ShardingAttr sharding = buffer.getShardingAttr();
        if (!sharding)
          sharding = ShardingAttr::replicated(&getContext(), type.getRank());
        AssembleOptions options;
        options.tolerance = 1e-6;
        FailureOr<ReferenceTensor> whole =
            assembleTensor(ranks, type.getShape(), sharding, grid, [&] { return module.emitError(); }, options);
        if (failed(whole))
          return "differs: " + buffer.describe() + ": " + first;
        results[buffer.describe()] = std::move(*whole);
      }
    return "";
  }

  static std::string difference(const Results &found, const Results &expected) {
    for (auto &[name, tensor] : expected) {
      auto other = found.find(name);
      if (other == found.end())
        return "differs: no rank has " + name;
      if (!sameNumbers(tensor.data, other->second.data, 1e-6, 1e-3))
        return "differs: " + name;
    }
    return "";
  }
};

} // namespace

void ppc::test::registerTestPlanFiles() { PassRegistration<TestPlanFilesPass>(); }
