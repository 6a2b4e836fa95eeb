// Recomputation of one layer in backward, as a graph without IR: minimum cuts, and the Pareto frontier of choices.
#ifndef PPC_TRANSFORMS_RECOMPUTE_RECOMPUTEGRAPH_H
#define PPC_TRANSFORMS_RECOMPUTE_RECOMPUTEGRAPH_H

#include <cstdint>
#include <optional>
#include <vector>

namespace mlir::ppc {

/// Ops of forward and the values that backward, or copies of these ops, would read. A value that is needed in backward
/// is kept, or its maker is copied there, which needs what the maker reads.
struct RecomputeGraph {
  struct Value {
    int64_t bytes = 0;
    int32_t maker = -1;    ///< an op; -1: it cannot be made again
    bool isNeeded = false; ///< by backward itself
    bool operator==(const Value &other) const {
      return bytes == other.bytes && maker == other.maker && isNeeded == other.isNeeded;
    }
  };
  struct Op {
    double cost = 0;            ///< cost of a copy; not negative
    std::vector<int32_t> reads; ///< values
    bool isForced = false;      ///< its results are not saved
    bool operator==(const Op &other) const {
      return cost == other.cost && reads == other.reads && isForced == other.isForced;
    }
  };
  std::vector<Op> ops;
  std::vector<Value> values;
  bool operator==(const RecomputeGraph &other) const { return ops == other.ops && values == other.values; }
};

struct RecomputeChoice {
  std::vector<bool> again; ///< by op: copied into backward
  int64_t kept = 0;        ///< bytes
  double cost = 0;         ///< of all copies
};

/// Returns the ops that are copied if these ops are marked, and the cost.
RecomputeChoice evaluateChoice(const RecomputeGraph &graph, const std::vector<bool> &marked);

/// Constraint on an op.
enum class Fixed : signed char { Free, Kept, Again };

/// The choice with minimal cost + `price` x saved bytes, among those that agree with `fixed` (by op; empty: all
/// free). Returns std::nullopt if there is none. A minimum cut (the same graph as in AOTAutograd's partitioner, whose
/// ends are "in backward" and "not"): separating an op whose copy costs c from the sink costs c, separating a value of
/// b bytes from its producer costs `price` x b.
std::optional<RecomputeChoice> leastWeight(const RecomputeGraph &graph, double price, const std::vector<Fixed> &fixed);

/// Choices of which no other is better in cost or kept bytes and as good in the other, most bytes first.
struct RecomputeFrontier {
  std::vector<RecomputeChoice> choices;
  std::vector<size_t> hull; ///< indices of choices on the lower convex hull; first and last are among them
  bool isWhole = false;     ///< true if no choice is missing
};

/// The hull is found by minimum cuts; choices between its points by branch and bound, whose bound is a minimum cut
/// as well, with `cuts` of them in all. If these do not suffice, the choices found by then are returned.
RecomputeFrontier findFrontier(const RecomputeGraph &graph, int64_t cuts);

/// A choice of each layer of a stage that together keep at least `wanted` bytes less than their first ones.
struct StageChoice {
  std::vector<size_t> choices; ///< by layer, of its frontier
  int64_t saved = 0;
  double cost = 0;      ///< more than that of the first ones
  double bound = 0;     ///< no choice that saves as much costs less
  bool isLeast = false; ///< nor does one cost less than this
};

/// Returns the choice that frees most if not as much can be freed. `states`: upper bound on the sums of choices to
/// follow.
StageChoice chooseForStage(const std::vector<const RecomputeFrontier *> &layers, int64_t wanted, size_t states);

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_RECOMPUTE_RECOMPUTEGRAPH_H
