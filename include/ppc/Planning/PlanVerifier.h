// Recomputes what a plan claims without the search: layers summed one by one, the whole schedule replayed action by
// action, memory followed through every action of every device. Slow (milliseconds to seconds) and straightforward on
// purpose.
#ifndef PPC_PLANNING_PLANVERIFIER_H
#define PPC_PLANNING_PLANVERIFIER_H

#include "ppc/Planning/PlanSearch.h"

namespace mlir::ppc {

/// Errors: a layout that cannot exist, breaks a pin or is refused; a step time, a stage's memory, a peak or a claim to
/// fit that differs from what is recomputed by more than `tolerance` (relative), naming both figures; a schedule that
/// does not verify.
llvm::Error verifyPlan(const PlanRequest &request, const Plan &plan, double tolerance = 1e-9);

} // namespace mlir::ppc

#endif // PPC_PLANNING_PLANVERIFIER_H
