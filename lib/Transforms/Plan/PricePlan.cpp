// What the plan of a module will take, as the planner predicts it.
#include "PlanInputs.h"
#include "mlir/IR/Remarks.h"
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
      remark::missed(getOperation().getLoc(), remark::RemarkOpts::name("price").category("ppc-plan")) << remark::reason("{0}", reason);
    }
  }

private:
  llvm::Error price(PlanAttr plan) {
    int64_t ranks = plan.getGrid().deviceCount() * int64_t(plan.getStages().size());
    llvm::Expected<PlanInputs> inputs = planInputs(getOperation(), cluster, ranks);
    if (!inputs)
      return inputs.takeError();
    llvm::Expected<ParallelLayout> layout = layoutOf(plan, *inputs);
    if (!layout)
      return layout.takeError();
    llvm::Expected<Plan> priced = pricePlan(inputs->request(), *layout);
    if (!priced)
      return priced.takeError();
    Builder builder(&getContext());
    SmallVector<int64_t> memory;
    for (const StageCost &stage : priced->cost.stages)
      memory.push_back(int64_t(stage.memory.total().value));
    getOperation()->setAttr("ppc.prediction",
                            builder.getDictionaryAttr(
                                {builder.getNamedAttr("layout", builder.getStringAttr(toString(*layout))),
                                 builder.getNamedAttr("machine", builder.getStringAttr(inputs->cluster.name)),
                                 builder.getNamedAttr("step_time_s", builder.getF64FloatAttr(priced->cost.stepTime.value)),
                                 builder.getNamedAttr("memory_bytes", builder.getDenseI64ArrayAttr(memory))}));
    return llvm::Error::success();
  }
};

} // namespace
} // namespace mlir::ppc
