#include "ppc/Transforms/Plan/PlanLedger.h"

#include "OpsPrice.h"
#include "PlanInputs.h"
#include "ppc/Analysis/ModuleTarget.h"
#include "ppc/CostModel/PricedLedger.h"
#include "ppc/Planning/Chain/ChainLedger.h"

namespace mlir::ppc {

llvm::Expected<Ledger> planLedger(ModuleOp module, StringRef cluster) {
  auto plan = module->getAttrOfType<PlanAttr>(attr::plan);
  if (!plan)
    return llvm::createStringError("the module has no ppc.plan");
  if (cutsOps(module)) {
    llvm::Expected<OpsPrice> price = priceOps(module, cluster);
    if (!price)
      return price.takeError();
    return chainLedger(price->plan, price->batch);
  }
  int64_t ranks = plan.getGrid().deviceCount() * plan.getPipelineDevices();
  llvm::Expected<const TargetCapabilities *> target = moduleTarget(module);
  if (!target)
    return target.takeError();
  llvm::Expected<PlanInputs> inputs = planInputs(module, cluster, ranks, **target);
  if (!inputs)
    return inputs.takeError();
  llvm::Expected<ParallelLayout> layout = degreesOf(plan, *inputs);
  if (!layout)
    return layout.takeError();
  return priceLedger(inputs->model, inputs->job, inputs->cluster, *layout, inputs->stack);
}

} // namespace mlir::ppc
