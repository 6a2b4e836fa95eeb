#include "ppc/Transforms/Plan/PlanLedger.h"

#include "PlanInputs.h"
#include "ppc/CostModel/PricedLedger.h"

namespace mlir::ppc {

llvm::Expected<Ledger> planLedger(ModuleOp module, StringRef cluster) {
  auto plan = module->getAttrOfType<PlanAttr>(attr::plan);
  if (!plan)
    return llvm::createStringError("the module has no ppc.plan");
  bool cutsOps = module
                     .walk([](Operation *op) {
                       return op->hasAttr(attr::factors) ? WalkResult::interrupt() : WalkResult::advance();
                     })
                     .wasInterrupted();
  if (cutsOps)
    return llvm::createStringError("the plan cuts ops by themselves, not by degrees of parallelism");
  int64_t ranks = plan.getGrid().deviceCount() * plan.getPipelineDevices();
  llvm::Expected<PlanInputs> inputs = planInputs(module, cluster, ranks);
  if (!inputs)
    return inputs.takeError();
  llvm::Expected<ParallelLayout> layout = layoutOf(plan, *inputs);
  if (!layout)
    return layout.takeError();
  return priceLedger(inputs->model, inputs->job, inputs->cluster, *layout, inputs->stack);
}

} // namespace mlir::ppc
