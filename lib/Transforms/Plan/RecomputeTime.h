// The time of steps whose plan names single ops that backward computes again (ppc-fit-recompute).
#ifndef PPC_LIB_TRANSFORMS_PLAN_RECOMPUTETIME_H
#define PPC_LIB_TRANSFORMS_PLAN_RECOMPUTETIME_H

#include "PlanInputs.h"

#include <map>

namespace mlir::ppc {

/// By layer, the share of its forward that named ops are, by roofline: bytes moved or FLOPs, whichever takes longer.
using RecomputeShares = std::map<int64_t, double>;
/// Requires: a module before differentiation. Names of ops that only a partitioned program has (collectives) count
/// nothing.
RecomputeShares recomputeShares(ModuleOp module, PlanAttr plan);

/// The plan without what it says of single ops.
PlanAttr withoutNamedOps(PlanAttr plan);

/// `layout` with each layer's share of what computing the whole layer again takes. What its stages keep is not known:
/// memory is that of the layout.
llvm::Expected<StepCost> priceWithOps(const PlanInputs &inputs, const ParallelLayout &layout,
                                      const RecomputeShares &shares);

} // namespace mlir::ppc

#endif // PPC_LIB_TRANSFORMS_PLAN_RECOMPUTETIME_H
