// Does ppc-verify-equivalence notice mistakes? Makes random ones in a partitioned program, runs the result on numbers,
// in f64 and rounded to f32, to know whether the mistake matters, and asks the checker.
#include "ProgramMutation.h"
#include "RankExecutor.h"
#include "TestPasses.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "ppc/Equivalence/EquivalenceChecker.h"

using namespace mlir;
using namespace mlir::ppc;
using namespace mlir::ppc::test;

namespace {

/// By device, buffer and rank.
using Outputs = std::vector<std::vector<RankTensors>>;

/// Sums of f32, and roundings to bf16 after them, depend on their order.
bool same(const Outputs &a, const Outputs &b, Arithmetic arithmetic) {
  double tolerance = arithmetic == Arithmetic::Exact ? 1e-9 : 2e-2,
         floor = arithmetic == Arithmetic::Exact ? 1e-3 : 0.05;
  for (auto [stageA, stageB] : llvm::zip_equal(a, b))
    for (auto [ranksA, ranksB] : llvm::zip_equal(stageA, stageB))
      for (auto [tensorA, tensorB] : llvm::zip_equal(ranksA, ranksB))
        if (!sameNumbers(tensorA.data, tensorB.data, tolerance, floor))
          return false;
  return true;
}

/// The numbers that ops name become what f32 has of them.
void roundAttributes(ModuleOp module) {
  Builder builder(module.getContext());
  module.walk([&](Operation *op) {
    for (NamedAttribute attribute : op->getAttrs()) {
      if (auto number = dyn_cast<FloatAttr>(attribute.getValue()); number && number.getType().isF64())
        op->setAttr(attribute.getName(), builder.getF64FloatAttr(float(number.getValueAsDouble())));
      if (auto list = dyn_cast<DenseF64ArrayAttr>(attribute.getValue())) {
        auto rounded = llvm::map_to_vector(list.asArrayRef(), [](double number) { return double(float(number)); });
        op->setAttr(attribute.getName(), builder.getDenseF64ArrayAttr(rounded));
      }
    }
  });
}

struct TestEquivalenceMutationsPass : PassWrapper<TestEquivalenceMutationsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestEquivalenceMutationsPass)
  TestEquivalenceMutationsPass() = default;
  TestEquivalenceMutationsPass(const TestEquivalenceMutationsPass &other) : PassWrapper(other) {}

  StringRef getArgument() const final { return "test-ppc-equivalence-mutations"; }
  StringRef getDescription() const final {
    return "Make random mistakes in a partitioned program and see which of those that change its numbers are noticed";
  }
  void getDependentDialects(DialectRegistry &registry) const final { registry.insert<PpcDialect, func::FuncDialect>(); }

  Option<std::string> logical{*this, "logical", llvm::cl::desc("file with the logical program")};
  Option<int64_t> count{*this, "count", llvm::cl::desc("mistakes that change numbers to make"), llvm::cl::init(50)};
  Option<int64_t> seed{*this, "seed", llvm::cl::desc("seed of mistakes and values"), llvm::cl::init(1)};
  Option<std::string> only{*this, "only", llvm::cl::desc("kind of mistake; default: all")};
  Option<bool> list{*this, "list", llvm::cl::desc("print every mistake with its outcome"), llvm::cl::init(false)};

  void runOnOperation() override {
    OwningOpRef<ModuleOp> whole = parseSourceFile<ModuleOp>(logical, &getContext());
    auto step = whole ? whole->lookupSymbol<func::FuncOp>("step") : func::FuncOp();
    if (!step)
      return fail("no logical program with @step in " + logical);
    Random random(seed);
    values = randomValues(step, random);
    for (Arithmetic arithmetic : {Arithmetic::Exact, Arithmetic::Rounded})
      if (std::string error = execute(getOperation(), arithmetic, expected[int(arithmetic)]); !error.empty())
        return fail("the program does not run: " + error);
    if (failed(checkEquivalence(*whole, getOperation())))
      return fail("the program is not accepted");
    int64_t tries = 0;
    ArrayRef<StringRef> kinds = mutationKinds();
    while (changed + broken < count && ++tries < 200 * count) {
      Random own(seed * 1000003 + tries);
      StringRef kind = only.empty() ? kinds[own() % kinds.size()] : StringRef(only);
      if (!only.empty() && !llvm::is_contained(kinds, kind))
        return fail("no such kind of mistake: " + only);
      judge(*whole, kind, tries, own);
    }
    llvm::outs() << changed << " mistakes changed numbers, " << noticed << " of them noticed; " << broken
                 << " did not run, " << brokenNoticed << " of them noticed; " << harmless << " changed nothing, "
                 << overcautious << " of them refused\n";
    for (const std::string &miss : misses)
      llvm::outs() << "missed: " << miss << "\n";
  }

private:
  void fail(const Twine &message) {
    getOperation().emitError() << message;
    signalPassFailure();
  }

  /// A step and an evaluation, and what both leave. "" or what went wrong.
  std::string execute(ModuleOp program, Arithmetic arithmetic, Outputs &outputs) {
    OwningOpRef<ModuleOp> rounded;
    if (arithmetic == Arithmetic::Rounded) {
      rounded = program.clone();
      roundAttributes(*rounded);
      program = *rounded;
    }
    RankExecutor step(program, arithmetic), evaluation(program, arithmetic);
    std::string error = step.run(values);
    if (error.empty())
      error = evaluation.evaluate(values);
    if (!error.empty())
      return error;
    outputs = step.outputs();
    for (std::vector<RankTensors> &loss : evaluation.evaluation())
      outputs.push_back(std::move(loss));
    return "";
  }

  void judge(ModuleOp whole, StringRef kind, int64_t number, Random &random) {
    OwningOpRef<ModuleOp> mutant = getOperation().clone();
    std::optional<std::string> what = mutateProgram(*mutant, kind, random);
    if (!what)
      return;
    std::string first;
    ScopedDiagnosticHandler silent(&getContext(), [&](Diagnostic &diagnostic) {
      if (first.empty())
        first = diagnostic.str();
      return success();
    });
    if (failed(verify(*mutant)))
      return; // no program
    first.clear();
    bool accepted = succeeded(checkEquivalence(whole, *mutant));
    std::string reason = std::exchange(first, "");
    Outputs found;
    std::string error = execute(*mutant, Arithmetic::Exact, found);
    bool isSame = error.empty() && same(found, expected[0], Arithmetic::Exact);
    StringRef outcome = !error.empty() ? "does not run" : isSame ? "changes nothing" : "changes numbers";
    if (isSame) {
      found.clear();
      error = execute(*mutant, Arithmetic::Rounded, found);
      isSame = error.empty() && same(found, expected[1], Arithmetic::Rounded);
      if (!isSame)
        outcome = "changes numbers of f32 alone";
    }
    if (!error.empty()) {
      ++broken;
      brokenNoticed += !accepted;
    } else if (isSame) {
      ++harmless;
      overcautious += !accepted;
    } else {
      ++changed;
      noticed += !accepted;
    }
    if (accepted && !isSame)
      misses.push_back("#" + std::to_string(number) + " " + kind.str() + ", which " + outcome.str() + ": " + *what);
    if (list)
      llvm::outs() << "#" << number << " " << kind << " " << outcome << ", "
                   << (accepted ? "accepted" : "refused: " + reason) << "\n    " << *what << "\n";
  }

  NamedTensors values;
  Outputs expected[2]; ///< exact, rounded
  int64_t changed = 0, noticed = 0, broken = 0, brokenNoticed = 0, harmless = 0, overcautious = 0;
  SmallVector<std::string> misses;
};

} // namespace

void ppc::test::registerTestEquivalenceMutations() { PassRegistration<TestEquivalenceMutationsPass>(); }
