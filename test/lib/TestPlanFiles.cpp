// Plan files against a model: each is refused with a position in the file, or compiles and computes the numbers of one
// rank, on the interpreter in f64. One process reads many, so that thousands take minutes.
#include "StepResults.h"
#include "TestPasses.h"
#include "mlir/Pass/Pass.h"
#include "ppc/Phases/Phases.h"
#include "ppc/Transforms/Plan/Passes.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace mlir::ppc;
using namespace mlir::ppc::test;

namespace {

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
    StepResults expected;
    std::string problem = compute("", expected);
    if (!problem.empty()) {
      getOperation().emitError() << "the model does not run on one rank: " << problem;
      return signalPassFailure();
    }
    for (StringRef path : lines) {
      StepResults found;
      std::string outcome = compute(path, found);
      if (outcome.empty())
        outcome = difference(found, expected);
      llvm::outs() << path << ": " << (outcome.empty() ? "equal" : outcome) << "\n";
      llvm::outs().flush();
    }
  }

private:
  /// Compiles by a plan file, or without one for one rank, and runs a step. Returns "", "refused: ..." if the file is
  /// not accepted, "failed: ..." if it is and a later step fails.
  std::string compute(StringRef path, StepResults &results) {
    OwningOpRef<ModuleOp> module = getOperation().clone();
    MakePlanPassOptions plan;
    plan.planFile = path.str();
    if (std::string error = runPasses(*module, [&](OpPassManager &pm) { pm.addPass(createMakePlanPass(plan)); });
        !error.empty())
      return "refused: " + oneLine(error);
    TrainOptions train;
    if (std::string error = runPasses(*module, [&](OpPassManager &pm) { buildTrainPhase(pm, train); }); !error.empty())
      return "failed: " + oneLine(error);
    OwningOpRef<ModuleOp> logical = module->clone();
    if (std::string error = runPasses(*module,
                                      [&](OpPassManager &pm) {
                                        buildPlanPhase(pm);
                                        buildPartitionPhase(pm);
                                      });
        !error.empty())
      return "failed: " + oneLine(error);
    if (std::string error = proveEquivalence(*logical, *module); !error.empty())
      return "failed: " + oneLine(error);
    return computeStep(*logical, *module, seed, results);
  }
};

} // namespace

void ppc::test::registerTestPlanFiles() { PassRegistration<TestPlanFilesPass>(); }
