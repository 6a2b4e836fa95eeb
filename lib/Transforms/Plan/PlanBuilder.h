// From a layout to the plan of a module: where the stages begin, and what expandLayout makes of the rest
// (ppc/Planning/Files/PlanPreset.h).
#ifndef PPC_LIB_TRANSFORMS_PLAN_PLANBUILDER_H
#define PPC_LIB_TRANSFORMS_PLAN_PLANBUILDER_H

#include "dialects/ppc/Ppc.h"
#include "ppc/CostModel/ParallelLayout.h"
#include "ppc/TargetCapabilities/TargetCapabilities.h"

namespace mlir::ppc {

/// `vp` 0: as many as the schedule needs; no `stageLayers`: the cut whose slowest stage is fastest, by FLOPs. Errors,
/// at the module: a degree below 1, a batch that does not divide, stages that do not fit the layers, an unknown
/// schedule, what programs of the target lack, a sequence shorter than tp with sequence parallelism, or that does not
/// divide by cp (then by cp x tp), cp with experts, ep that is no multiple of tp or divides neither experts nor ranks.
FailureOr<PlanAttr> buildPlan(ModuleOp module, const ParallelLayout &layout, const TargetCapabilities &target);

/// Whether the batch divides into the plan's micro-batches.
LogicalResult checkBatch(ModuleOp module, PlanAttr plan);

/// That not both the plan's dimensions and the slices of its schedule cut the sequence.
LogicalResult checkSequence(ModuleOp module, PlanAttr plan);

} // namespace mlir::ppc

#endif // PPC_LIB_TRANSFORMS_PLAN_PLANBUILDER_H
