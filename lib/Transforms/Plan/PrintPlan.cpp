// Shows the plan.
#include "mlir/IR/BuiltinOps.h"
#include "ppc/Transforms/Plan/Passes.h"
#include "ppc/Transforms/Plan/PlanFile.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_PRINTPLANPASS
#include "ppc/Transforms/Plan/Passes.h.inc"

namespace {

struct PrintPlanPass : impl::PrintPlanPassBase<PrintPlanPass> {
  void runOnOperation() override {
    auto plan = getOperation()->getAttrOfType<PlanAttr>(attr::plan);
    if (!plan) {
      getOperation().emitError("has no ppc.plan: run ppc-search-plan or ppc-make-plan first");
      return signalPassFailure();
    }
    llvm::errs() << planText(plan) << opCutsText(getOperation(), plan);
    if (auto prediction = getOperation()->getAttrOfType<DictionaryAttr>("ppc.prediction"))
      llvm::errs() << predictionText(prediction);
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace mlir::ppc
