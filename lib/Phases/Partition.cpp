// plan -> partition: one program per stage, local shapes, explicit collectives and messages.
#include "mlir/Transforms/Passes.h"
#include "ppc/Phases/Phases.h"
#include "ppc/Transforms/Pipeline/Passes.h"

namespace mlir::ppc {

void buildPartitionPhase(OpPassManager &pm) {
  (void)parsePassPipeline("ppc-partition-to-spmd,ppc-simplify-collectives", pm);
  pm.addPass(createSplitStagesPass());
  pm.addPass(createApplySchedulePass());
}

} // namespace mlir::ppc
