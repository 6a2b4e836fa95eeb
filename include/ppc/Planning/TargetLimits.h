// Limits of the programs of a target on a plan's decisions, so that a search can skip the rest.
#ifndef PPC_PLANNING_TARGETLIMITS_H
#define PPC_PLANNING_TARGETLIMITS_H

#include "ppc/Planning/PlanConstraints.h"
#include "ppc/Target/TargetCapabilities.h"

namespace mlir::ppc {

/// Restricts the constraints to decisions that programs of the target support; pins that need more are errors that name
/// the missing capability. `lackedBy` checks conditions on several decisions together, or on the model.
void limitToTarget(const TargetCapabilities &target, PlanConstraints &constraints);

/// Describes a pin that programs of the target cannot run: without the model, and only pins; empty: none. `precision`:
/// the program's.
std::string refusedPin(const TargetCapabilities &target, const PlanConstraints &constraints, Precision precision);

} // namespace mlir::ppc

#endif // PPC_PLANNING_TARGETLIMITS_H
