// Recomputes what a plan claims without the search: layers summed one by one, the whole schedule replayed action by
// action, memory followed through every action of every device. Slow (milliseconds to seconds) and straightforward on
// purpose.
#ifndef PPC_PLANNING_PLANVERIFIER_H
#define PPC_PLANNING_PLANVERIFIER_H

#include "ppc/Planning/PlanSearch.h"

namespace mlir::ppc {

/// Errors: a layout that cannot exist on the request's cluster, breaks a pin or is refused.
llvm::Error verifyPlanLayout(const PlanRequest &request, const ParallelLayout &layout);

/// The first claim of a plan, whose layout verifies, that differs from what is recomputed by more than `tolerance`
/// (relative), naming both figures: a time of the step, a stage's memory in bytes, a peak, whether it fits, model FLOPs
/// utilization. Empty: none does. Errors: a schedule that does not verify.
llvm::Expected<std::string> claimThatDiffers(const PlanRequest &request, const Plan &plan, double tolerance = 1e-9);

/// Errors: what verifyPlanLayout says, and a claim that differs.
llvm::Error verifyPlan(const PlanRequest &request, const Plan &plan, double tolerance = 1e-9);

} // namespace mlir::ppc

#endif // PPC_PLANNING_PLANVERIFIER_H
