// What the plan of a module will take, as the planner predicts it.
#include "PlanInputs.h"
#include "RecomputeTime.h"
#include "mlir/IR/Remarks.h"
#include "ppc/Analysis/ProgramChain.h"
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
  llvm::Error priceOps(PlanAttr plan, int64_t ranks);
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
  if (getOperation()
          .walk([](Operation *op) {
            return op->hasAttr(attr::factors) ? WalkResult::interrupt() : WalkResult::advance();
          })
          .wasInterrupted())
    return priceOps(plan, ranks);
  llvm::Expected<PlanInputs> inputs = planInputs(getOperation(), cluster, ranks);
  if (!inputs)
    return inputs.takeError();
  RecomputeShares again = recomputeShares(getOperation(), plan);
  llvm::Expected<ParallelLayout> layout = layoutOf(withoutNamedOps(plan), *inputs);
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

llvm::Error PricePlanPass::priceOps(PlanAttr plan, int64_t ranks) {
  FailureOr<ProgramChain> program = readProgramChain(getOperation());
  if (failed(program))
    return llvm::createStringError("the program cannot be read as a chain of layers");
  FailureOr<OpCuts> cuts = readFactors(*program, plan);
  if (failed(cuts))
    return llvm::createStringError("ops cannot be cut as ppc.factors say");
  llvm::Expected<Cluster> machine = planMachine(cluster, ranks);
  if (!machine)
    return machine.takeError();
  llvm::Expected<Stack> stack = findStack(defaultTarget().stack);
  if (!stack)
    return stack.takeError();
  ChainRequest request{program->model, *machine, *stack};
  request.base.precision = program->precision;
  request.cuts = std::move(*cuts);
  request.target = &defaultTarget();
  request.memoryLimit = Bytes(1e18); // what it takes, not whether that fits
  ParallelLayout layout = request.base;
  layout.dp = plan.getGrid().product(AxisRole::Data);
  layout.tp = plan.getGrid().deviceCount() / layout.dp;
  layout.pp = plan.getPipelineDevices();
  layout.vp = plan.getVp();
  layout.schedule = plan.getSchedule().str();
  layout.microBatch = std::max<int64_t>(1, program->model.batch / (layout.dp * plan.getMicroBatches()));
  ArrayRef<int64_t> first = plan.getStages();
  auto layersBefore = [&](size_t stage) {
    return stage < first.size() ? llvm::lower_bound(program->numbers, first[stage]) - program->numbers.begin()
                                : int64_t(program->numbers.size());
  };
  for (size_t stage = 0; first.size() > 1 && stage < first.size(); ++stage)
    layout.stageLayers.push_back(layersBefore(stage + 1) - layersBefore(stage) - (stage == 0) -
                                 (stage + 1 == first.size()));
  if (plan.getRecompute() && !plan.getRecompute().empty()) {
    for (Recompute recompute : {Recompute::Selective, Recompute::Full})
      if (plan.getRecompute() == recomputeLayers(*program, recompute))
        layout.recompute = recompute;
    if (layout.recompute == Recompute::None)
      return llvm::createStringError("the plan recomputes other layers than all but the first and the last");
  }
  request.constraints.pinAll(layout);
  request.constraints.relax(PlanKey::ShardGroup);
  llvm::Expected<ChainSearchResult> result = searchChainPlan(request);
  if (!result)
    return result.takeError();
  if (result->plans.empty())
    return llvm::createStringError(result->reason);
  const ChainPlan &priced = result->plans.front();
  std::string axes = axesText(priced.axes);
  predict(toString(priced.layout) + (axes.empty() ? "" : ", " + axes) + ", ops cut by themselves", *machine,
          priced.cost);
  return llvm::Error::success();
}

} // namespace
} // namespace mlir::ppc
