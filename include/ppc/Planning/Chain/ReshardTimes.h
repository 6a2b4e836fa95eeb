// Seconds to reshard tensors on a cluster: the fastest sequence of the reshard planner's steps, or the one that
// compiled programs use, each step estimated by CollectiveCost for the placement of its group. Results are cached, so
// that a search may ask for every pair.
#ifndef PPC_PLANNING_CHAIN_RESHARDTIMES_H
#define PPC_PLANNING_CHAIN_RESHARDTIMES_H

#include "ppc/CostModel/CollectiveCost.h"
#include "ppc/Sharding/ReshardGraph.h"

#include <map>
#include <memory>

namespace mlir::ppc {

/// Placement of the ranks that differ only in `axes` of a mesh (outermost axis first, neighbours along the innermost
/// axis `stride` apart). Axes that are not adjacent count as the widest of them: the slowest links that any crosses.
GroupPlacement placeAxes(llvm::ArrayRef<ClusterLevel> levels, llvm::ArrayRef<LayoutAxis> grid, int64_t stride,
                         llvm::ArrayRef<int> axes);

class ReshardTimes {
public:
  /// References must outlive this. `compiled`: the steps that ppc-insert-reshards takes, which count bytes
  /// (planReshard), instead of the fastest.
  ReshardTimes(const Cluster &cluster, llvm::ArrayRef<LayoutAxis> grid, int64_t stride = 1, bool compiled = false);

  /// Infinite where no sequence exists (a complete value never becomes partial again).
  Seconds time(llvm::ArrayRef<int64_t> shape, int64_t elementBytes, const Layout &from, const Layout &to);
  /// The steps that this time is of. Requires: a finite time.
  std::vector<ReshardStep> steps(llvm::ArrayRef<int64_t> shape, int64_t elementBytes, const Layout &from,
                                 const Layout &to);
  /// The step's collective as training jobs see it: with the device's `collectiveShare` and `collectiveMeeting`.
  Seconds stepTime(const ReshardStep &step);
  llvm::ArrayRef<LayoutAxis> axes() const { return grid; }

private:
  ReshardGraph &graphOf(llvm::ArrayRef<int64_t> shape, int64_t elementBytes, const Layout &from);

  const Cluster &cluster;
  llvm::ArrayRef<LayoutAxis> grid;
  bool compiled;
  std::vector<GroupPlacement> placements;                               // by the set of axes, as bits
  std::map<std::vector<int64_t>, std::unique_ptr<ReshardGraph>> graphs; // by the layouts of one shape
  using Cut = std::vector<std::vector<int>>;
  /// Results of compiled, by its arguments.
  std::map<std::tuple<const ReshardGraph *, Cut, std::vector<int>, Cut, std::vector<int>>, Seconds> sums;
};

} // namespace mlir::ppc

#endif // PPC_PLANNING_CHAIN_RESHARDTIMES_H
