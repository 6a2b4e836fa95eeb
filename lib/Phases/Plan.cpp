// train -> plan: the decisions of `#ppc.plan` on the program.
#include "ppc/Phases/Phases.h"
#include "ppc/Transforms/Contracts/Passes.h"
#include "ppc/Transforms/Plan/Passes.h"
#include "ppc/Transforms/Sharding/Passes.h"

namespace mlir::ppc {

void buildPlanPhase(OpPassManager &pm) {
  pm.addPass(createApplyPlanPass());
  // Ops whose rules let the classes of the loss be cut.
  pm.addPass(createExpandCrossEntropyPass());
  pm.addPass(createPropagateShardingsPass());
  pm.addPass(createInsertReshardsPass());
  pm.addPass(createVerifyPlannedPass());
}

} // namespace mlir::ppc
