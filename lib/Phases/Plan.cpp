// train -> plan: the decisions of `#ppc.plan` on the program.
#include "mlir/Transforms/Passes.h"
#include "ppc/Phases/Phases.h"
#include "ppc/Transforms/Plan/Passes.h"

namespace mlir::ppc {

void buildPlanPhase(OpPassManager &pm) {
  pm.addPass(createApplyPlanPass());
  // Ops whose rules let the classes of the loss be cut.
  (void)parsePassPipeline("ppc-expand-cross-entropy,ppc-propagate-shardings,ppc-insert-reshards", pm);
}

} // namespace mlir::ppc
