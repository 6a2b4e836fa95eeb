// Pins of the user, or a plan file, as the plan of the module.
#include "PlanBuilder.h"
#include "ppc/Analysis/ModuleTarget.h"
#include "ppc/Transforms/Plan/Passes.h"
#include "ppc/Transforms/Plan/PlanFile.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_MAKEPLANPASS
#include "ppc/Transforms/Plan/Passes.h.inc"

namespace {

struct MakePlanPass : impl::MakePlanPassBase<MakePlanPass> {
  using MakePlanPassBase::MakePlanPassBase;

  void runOnOperation() override {
    FailureOr<ParallelLayout> layout = pinnedLayout();
    if (failed(layout))
      return signalPassFailure();
    llvm::Expected<const TargetCapabilities *> capabilities = findTargetCapabilities(target);
    if (!capabilities) {
      getOperation().emitError() << llvm::toString(capabilities.takeError());
      return signalPassFailure();
    }
    setModuleTarget(getOperation(), **capabilities);
    FailureOr<PlanAttr> plan = planFile.empty() ? buildPlan(getOperation(), *layout, **capabilities)
                                                : readPlanFile(planFile, getOperation(), **capabilities);
    if (failed(plan) || failed(checkBatch(getOperation(), *plan)) || failed(checkSequence(getOperation(), *plan)))
      return signalPassFailure();
    if (!planFile.empty() && failed(readOpCuts(planFile, getOperation(), *plan, **capabilities)))
      return signalPassFailure();
    getOperation()->setAttr(attr::plan, *plan);
  }

private:
  FailureOr<ParallelLayout> pinnedLayout() {
    ParallelLayout layout;
    layout.dp = dp, layout.tp = tp, layout.pp = pp, layout.vp = vp, layout.cp = cp, layout.ep = ep;
    layout.tpRows = tpRows, layout.tpDepth = tpDepth;
    layout.microBatch = microBatch;
    layout.schedule = schedule;
    layout.sequenceParallel = sequenceParallel;
    layout.zero = zero;
    layout.shardGroup = shardGroup;
    layout.gradientGroup = gradientGroup, layout.parameterGroup = parameterGroup;
    layout.stageLayers.assign(layersPerStage.begin(), layersPerStage.end());
    std::optional<Recompute> wanted = parseRecompute(recompute);
    if (!wanted)
      return getOperation().emitError() << "recompute is '" << recompute << "', expected none, selective or full";
    layout.recompute = *wanted;
    std::optional<ContextKind> kind = parseContextKind(context);
    if (!kind)
      return getOperation().emitError() << "context is '" << context << "', expected all-gather or ulysses";
    layout.contextKind = *kind;
    std::optional<Offload> host = parseOffload(offload);
    if (!host)
      return getOperation().emitError()
             << "offload is '" << offload
             << "', expected none, optimizer, activations, parameters or several with + between them";
    layout.offload = *host;
    return layout;
  }
};

} // namespace
} // namespace mlir::ppc
