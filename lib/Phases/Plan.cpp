// train -> plan: the decisions of `#ppc.plan` on the program.
#include "ppc/Phases/Phases.h"
#include "ppc/Transforms/Contracts/Passes.h"
#include "ppc/Transforms/Plan/Passes.h"
#include "ppc/Transforms/Sharding/Passes.h"

namespace mlir::ppc {

void buildPlanPhase(OpPassManager &pm) {
  pm.addPass(createApplyPlanPass());
  // Their rules allow to shard the classes of the loss.
  pm.addPass(createExpandCrossEntropyPass());
  pm.addPass(createPropagateShardingsPass());
  pm.addPass(createInsertReshardsPass());
  pm.addPass(createVerifyPlannedPass());
}

} // namespace mlir::ppc
