// The cheapest sequence of collectives between two layouts of one tensor: Dijkstra over layouts, exact for the costs
// below. The number of layouts grows with (dimensions + 2)^axes: microseconds for 2 axes, milliseconds for 4.
#ifndef PPC_SHARDING_RESHARDPLANNER_H
#define PPC_SHARDING_RESHARDPLANNER_H

#include "ppc/Sharding/Layout.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir::ppc {

/// Kind of a reshard step: its effect on the local tensor, over a group of n ranks (those that differ only in `axes`;
/// the index in the group is row-major over `axes` as listed) and its bytes per rank on a ring, b being the local
/// bytes:
///
///   AllReduce      combines element by element; `axes` are no longer partial              2 (n-1)/n b
///                  (log_sum_exp costs two: the maximum, then the sum)
///   ReduceScatter  combines, then keeps block [index] of `dim`: `axes` leave the partial
///                  axes and become the minor-most of `dim`. sum and max only              (n-1)/n b (before, padded)
///   AllGather      concatenates along `dim`: its minor-most `axes` go away                (n-1)/n b (after, padded)
///   Slice          keeps block [index] of `dim`, local: `axes` become its minor-most      0
///   AllToAll       splits `dim` into n blocks, sends block j to rank j, concatenates the
///                  received ones along `fromDim`: `axes` move from minor-most of `fromDim` to
///                  minor-most of `dim`                                                    (n-1)/n b (padded)
///
/// The n blocks of a local extent e are ceil(e / n) wide, padded with zeros; a concatenation is truncated to the local
/// extent of the layout after the step. A dimension whose extent its blocks do not divide is only ever split or
/// concatenated over all of its axes at once, so block offsets never nest unevenly. Every step keeps padding zero (an
/// all-reduce with log_sum_exp must ensure it).
enum class ReshardKind { AllReduce, ReduceScatter, AllGather, Slice, AllToAll };
/// "all_reduce", "reduce_scatter", "all_gather", "slice", "all_to_all".
llvm::StringRef toString(ReshardKind kind);

struct ReshardStep {
  ReshardKind kind = ReshardKind::Slice;
  std::vector<int> axes;             // the group; for splits and concatenations major to minor, as on the dim
  int64_t dim = -1;                  // dimension that is split or concatenated; AllToAll: the one that is split
  int64_t fromDim = -1;              // AllToAll: the one that gets whole
  Combiner combiner = Combiner::Sum; // for AllReduce and ReduceScatter
  Layout result;                     // layout after the step
  double bytes = 0;                  // sent by each rank
};

/// `all_to_all {tp} dim 1 from 0 -> [{}, {tp}]`
std::string toString(const ReshardStep &step, llvm::ArrayRef<LayoutAxis> grid);

/// Every legal step from `layout` (which must verify), for searches with costs of their own.
void forEachReshardStep(llvm::ArrayRef<LayoutAxis> grid, llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
                        const Layout &layout, llvm::function_ref<void(ReshardStep)> visit);

struct ReshardCosts {
  double bytesPerCollective = 4096; // latency of a collective, as the bytes that could have been sent meanwhile
  double bytesPerSlice = 1;         // only prefers fewer steps

  double of(const ReshardStep &step) const {
    return step.bytes + (step.kind == ReshardKind::Slice ? bytesPerSlice : bytesPerCollective);
  }
};

struct ReshardPlan {
  std::vector<ReshardStep> steps;
  double bytes = 0; // sent by each rank
  double cost = 0;  // bytes plus the costs per step
};

/// The cheapest plan; no steps when the layouts are the same. Axes of size 1 change nothing and appear in no step.
/// Equal costs: fewer steps, then the first in a fixed order, so the answer is the same on every machine.
/// Errors: a layout that does not verify; a target that is partial over an axis where the source is not, or with
/// another combiner.
llvm::Expected<ReshardPlan> planReshard(llvm::ArrayRef<LayoutAxis> grid, llvm::ArrayRef<int64_t> shape,
                                        int64_t elementBytes, const Layout &from, const Layout &to,
                                        const ReshardCosts &costs = {});

} // namespace mlir::ppc

#endif // PPC_SHARDING_RESHARDPLANNER_H
