// Pins of the user, or a plan file, as the plan of the module.
#include "PlanBuilder.h"
#include "ppc/Transforms/Plan/Passes.h"
#include "ppc/Transforms/Plan/PlanFile.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_MAKEPLANPASS
#include "ppc/Transforms/Plan/Passes.h.inc"

namespace {

struct MakePlanPass : impl::MakePlanPassBase<MakePlanPass> {
  using MakePlanPassBase::MakePlanPassBase;

  void runOnOperation() override {
    PlanDegrees degrees{
        dp,   tp, pp, vp, microBatch, schedule, recompute, {}, llvm::to_vector(layersPerStage), sequenceParallel,
        zero, cp};
    llvm::Expected<const TargetCapabilities *> capabilities = findTargetCapabilities(target);
    if (!capabilities) {
      getOperation().emitError() << llvm::toString(capabilities.takeError());
      return signalPassFailure();
    }
    FailureOr<PlanAttr> plan = planFile.empty() ? buildPlan(getOperation(), degrees, **capabilities)
                                                : readPlanFile(planFile, getOperation(), **capabilities);
    if (failed(plan) || failed(checkBatch(getOperation(), *plan)))
      return signalPassFailure();
    if (!planFile.empty() && failed(readOpCuts(planFile, getOperation(), *plan, **capabilities)))
      return signalPassFailure();
    getOperation()->setAttr(attr::plan, *plan);
  }
};

} // namespace
} // namespace mlir::ppc
