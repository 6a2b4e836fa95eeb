// Cost of resharding a value, in the terms of the IR. The search itself is the reshard planner's
// (ppc/Sharding/ReshardPlanner.h).
#ifndef PPC_ANALYSIS_RESHARDCOST_H
#define PPC_ANALYSIS_RESHARDCOST_H

#include "dialects/ppc/Ppc.h"
#include "ppc/Sharding/ReshardPlanner.h"

namespace mlir::ppc {

/// Converts the axes of `grid` for the planner; indices are positions in the mesh.
std::vector<LayoutAxis> layoutAxes(GridAttr grid);

/// Converts `sharding` to planner data. All its partial axes must have one combiner (shardings of ops do).
Layout toLayout(ShardingAttr sharding, GridAttr grid);

/// The cheapest collectives that bring a tensor of logical type `type` from one sharding to another. Errors as
/// `planReshard`.
llvm::Expected<ReshardPlan> planReshard(RankedTensorType type, ShardingAttr from, ShardingAttr to, GridAttr grid);

/// Reshard plans of one mesh, each searched once: the layers of a model ask for the same few.
class ReshardPlans {
public:
  explicit ReshardPlans(GridAttr grid) : grid(grid) {}
  /// As `planReshard`. The plan lives as long as this object.
  llvm::Expected<const ReshardPlan *> find(RankedTensorType type, ShardingAttr from, ShardingAttr to);

private:
  GridAttr grid;
  DenseMap<std::tuple<Type, Attribute, Attribute>, std::unique_ptr<ReshardPlan>> plans;
};

} // namespace mlir::ppc

#endif // PPC_ANALYSIS_RESHARDCOST_H
