// What the plan of a module will take, as the planner predicts it.
#include "OpsPrice.h"
#include "PlanInputs.h"
#include "RecomputeTime.h"
#include "mlir/IR/Remarks.h"
#include "ppc/Analysis/ModuleTarget.h"
#include "ppc/Transforms/Plan/Passes.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_PRICEPLANPASS
#include "ppc/Transforms/Plan/Passes.h.inc"

namespace {

struct PricePlanPass : impl::PricePlanPassBase<PricePlanPass> {
  using PricePlanPassBase::PricePlanPassBase;

  void runOnOperation() override {
    auto plan = getOperation()->getAttrOfType<PlanAttr>(attr::plan);
    if (!plan) {
      getOperation().emitError("has no ppc.plan: run ppc-search-plan or ppc-make-plan first");
      return signalPassFailure();
    }
    if (llvm::Error error = price(plan)) {
      std::string reason = llvm::toString(std::move(error));
      remark::missed(getOperation().getLoc(), remark::RemarkOpts::name("price").category("ppc-plan"))
          << remark::reason("{0}", reason);
    }
  }

private:
  llvm::Error price(PlanAttr plan);
  /// Where ops are cut by themselves: as the search prices them, with nothing left to choose.
  llvm::Error predictOps();
  void predict(const std::string &layout, const Cluster &machine, const StepCost &cost, bool knowsMemory = true);
};

void PricePlanPass::predict(const std::string &layout, const Cluster &machine, const StepCost &cost, bool knowsMemory) {
  Builder builder(&getContext());
  SmallVector<int64_t> memory;
  if (knowsMemory)
    for (const StageCost &stage : cost.stages)
      memory.push_back(int64_t(stage.memory.total().value));
  SmallVector<NamedAttribute> prediction{
      builder.getNamedAttr("layout", builder.getStringAttr(layout)),
      builder.getNamedAttr("machine", builder.getStringAttr(machine.name)),
      builder.getNamedAttr("step_time_s", builder.getF64FloatAttr(cost.stepTime.value)),
      builder.getNamedAttr("memory_bytes", builder.getDenseI64ArrayAttr(memory))};
  if (machine.unmeasured)
    prediction.push_back(builder.getNamedAttr("unmeasured", builder.getUnitAttr()));
  getOperation()->setAttr("ppc.prediction", builder.getDictionaryAttr(prediction));
}

llvm::Error PricePlanPass::price(PlanAttr plan) {
  int64_t ranks = plan.getGrid().deviceCount() * plan.getPipelineDevices();
  if (cutsOps(getOperation()))
    return predictOps();
  llvm::Expected<const TargetCapabilities *> target = moduleTarget(getOperation());
  if (!target)
    return target.takeError();
  llvm::Expected<PlanInputs> inputs = planInputs(getOperation(), cluster, ranks, **target);
  if (!inputs)
    return inputs.takeError();
  RecomputeShares again = recomputeShares(getOperation(), plan);
  llvm::Expected<ParallelLayout> layout = degreesOf(withoutNamedOps(plan), *inputs);
  if (!layout)
    return layout.takeError();
  if (!again.empty()) {
    llvm::Expected<StepCost> cost = priceWithOps(*inputs, *layout, again);
    if (!cost)
      return cost.takeError();
    predict(toString(*layout) + ", and single ops", inputs->cluster, *cost, /*knowsMemory=*/false);
    return llvm::Error::success();
  }
  llvm::Expected<Plan> priced = pricePlan(inputs->request(), *layout);
  if (!priced)
    return priced.takeError();
  predict(toString(*layout), inputs->cluster, priced->cost);
  return llvm::Error::success();
}

llvm::Error PricePlanPass::predictOps() {
  llvm::Expected<OpsPrice> price = priceOps(getOperation(), cluster);
  if (!price)
    return price.takeError();
  std::string axes = axesText(price->plan.axes);
  predict(toString(price->plan.layout) + (axes.empty() ? "" : ", " + axes) + ", op-level sharding", price->machine,
          price->plan.cost);
  return llvm::Error::success();
}

} // namespace
} // namespace mlir::ppc
