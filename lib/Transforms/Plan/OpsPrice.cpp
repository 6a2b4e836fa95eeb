#include "OpsPrice.h"

#include "PlanInputs.h"
#include "ppc/Analysis/ModuleTarget.h"

namespace mlir::ppc {

bool cutsOps(ModuleOp module) {
  return module
      .walk([](Operation *op) { return op->hasAttr(attr::factors) ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

llvm::Expected<OpsPrice> priceOps(ModuleOp module, StringRef cluster) {
  auto plan = module->getAttrOfType<PlanAttr>(attr::plan);
  FailureOr<ProgramChain> program = readProgramChain(module);
  if (failed(program))
    return llvm::createStringError("the program cannot be read as a chain of layers");
  FailureOr<OpCuts> cuts = readFactors(*program, plan);
  if (failed(cuts))
    return llvm::createStringError("ops cannot be sharded as specified by ppc.factors");
  llvm::Expected<Cluster> machine = planMachine(cluster, plan.getGrid().deviceCount() * plan.getPipelineDevices());
  if (!machine)
    return machine.takeError();
  llvm::Expected<const TargetCapabilities *> target = moduleTarget(module);
  if (!target)
    return target.takeError();
  llvm::Expected<Stack> stack = findStack((*target)->stack);
  if (!stack)
    return stack.takeError();
  ChainRequest request{program->model, *machine, *stack};
  request.base.precision = program->precision;
  request.cuts = std::move(*cuts);
  request.target = *target;
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
  for (PlanKey key : {PlanKey::ShardGroup, PlanKey::GradientGroup, PlanKey::ParameterGroup})
    request.constraints.relax(key);
  llvm::Expected<ChainSearchResult> result = searchChainPlan(request);
  if (!result)
    return result.takeError();
  if (result->plans.empty())
    return llvm::createStringError(result->reason);
  return OpsPrice{program->model.batch, std::move(*machine), std::move(result->plans.front())};
}

} // namespace mlir::ppc
