// What of a plan's decisions programs of a target know at all, so that a search need not look at the rest.
#ifndef PPC_PLANNING_TARGETLIMITS_H
#define PPC_PLANNING_TARGETLIMITS_H

#include "ppc/Planning/PlanConstraints.h"
#include "ppc/Target/TargetCapabilities.h"

namespace mlir::ppc {

/// Limits what the constraints allow to what programs of the target know; pins that ask for more are errors that name
/// what is lacking. What depends on several decisions together, or on the model, is left to `lackedBy`.
void limitToTarget(const TargetCapabilities &target, PlanConstraints &constraints);

} // namespace mlir::ppc

#endif // PPC_PLANNING_TARGETLIMITS_H
