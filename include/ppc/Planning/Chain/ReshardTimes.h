// Seconds to bring tensors from one layout to another on a cluster: the fastest sequence of the reshard planner's
// steps, each priced by CollectiveCost where the group of its axes lies. Answers are kept, so that a search may ask for
// every pair.
#ifndef PPC_PLANNING_CHAIN_RESHARDTIMES_H
#define PPC_PLANNING_CHAIN_RESHARDTIMES_H

#include "ppc/CostModel/CollectiveCost.h"
#include "ppc/Sharding/ReshardGraph.h"

#include <map>
#include <memory>

namespace mlir::ppc {

/// Where the ranks lie that differ only in `axes` of a grid (outermost axis first, the innermost axis's ranks `stride`
/// apart). Axes that are not next to each other count as the widest of the axes' reach: the slowest links that any
/// crosses.
GroupPlacement placeAxes(llvm::ArrayRef<ClusterLevel> levels, llvm::ArrayRef<LayoutAxis> grid, int64_t stride,
                         llvm::ArrayRef<int> axes);

class ReshardTimes {
public:
  /// References must outlive this.
  ReshardTimes(const Cluster &cluster, llvm::ArrayRef<LayoutAxis> grid, int64_t stride = 1);

  /// Infinite where no sequence exists (a complete value never becomes partial again).
  Seconds time(llvm::ArrayRef<int64_t> shape, int64_t elementBytes, const Layout &from, const Layout &to);
  /// The step's collective as training jobs see it: with the device's `collectiveShare` and `collectiveMeeting`.
  Seconds stepTime(const ReshardStep &step);
  llvm::ArrayRef<LayoutAxis> axes() const { return grid; }

private:
  const Cluster &cluster;
  llvm::ArrayRef<LayoutAxis> grid;
  std::vector<GroupPlacement> placements;                               // by the set of axes, as bits
  std::map<std::vector<int64_t>, std::unique_ptr<ReshardGraph>> graphs; // of the layouts of one shape
};

} // namespace mlir::ppc

#endif // PPC_PLANNING_CHAIN_RESHARDTIMES_H
