// What of a plan's decisions programs of a target know at all, so that a search need not look at the rest.
#ifndef PPC_PLANNING_TARGETLIMITS_H
#define PPC_PLANNING_TARGETLIMITS_H

#include "ppc/Planning/PlanConstraints.h"
#include "ppc/TargetCapabilities/TargetCapabilities.h"

namespace mlir::ppc {

/// Limits what the constraints allow to what programs of the target know; pins that ask for more are errors that name
/// what is lacking. What depends on several decisions together, or on the model, is left to `lackedBy`.
void limitToTarget(const TargetCapabilities &target, PlanConstraints &constraints);

/// What programs of the target cannot run of what is pinned: without the model, and only what is pinned; empty:
/// nothing. `precision`: the program's.
std::string refusedPin(const TargetCapabilities &target, const PlanConstraints &constraints, Precision precision);

} // namespace mlir::ppc

#endif // PPC_PLANNING_TARGETLIMITS_H
