// What backward computes again of one layer, as a graph without IR: cuts of least weight, and choices of which none is
// better.
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
    double cost = 0;            ///< of a copy; not negative
    std::vector<int32_t> reads; ///< values
    bool isForced = false;      ///< its results are not kept
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

/// Of marked ops those that are copied then, and the price.
RecomputeChoice evaluateChoice(const RecomputeGraph &graph, const std::vector<bool> &marked);

/// What an op must be.
enum class Fixed : signed char { Free, Kept, Again };

/// The choice whose cost + `price` x kept bytes is least, among those that agree with `fixed` (by op; empty: all free).
/// Nothing where there is none. A cut of least weight (the same graph as in AOTAutograd's partitioner, of which the
/// ends are "in backward" and "not"): an op whose copy costs c is cut from the sink for c, a value of b bytes from its
/// maker for price x b.
std::optional<RecomputeChoice> leastWeight(const RecomputeGraph &graph, double price, const std::vector<Fixed> &fixed);

/// Choices of which no other is better in cost or kept bytes and as good in the other, most bytes first.
struct RecomputeFrontier {
  std::vector<RecomputeChoice> choices;
  std::vector<size_t> hull; ///< of them those on the lower convex hull; first and last are among them
  bool isWhole = false;     ///< none is missing
};

/// The hull is found by cuts; what lies between its points by branch and bound, whose bound is a cut as well, with
/// `cuts` of them in all. Where these do not do, what was found then is among the choices all the same.
RecomputeFrontier findFrontier(const RecomputeGraph &graph, int64_t cuts);

/// A choice of each layer of a stage that together keep at least `wanted` bytes less than their first ones.
struct StageChoice {
  std::vector<size_t> choices; ///< by layer, of its frontier
  int64_t saved = 0;
  double cost = 0;      ///< more than that of the first ones
  double bound = 0;     ///< no choice that saves as much costs less
  bool isLeast = false; ///< nor does one cost less than this
};

/// Where not so much can be saved, all that can. `states`: how many sums of choices to follow at most.
StageChoice chooseForStage(const std::vector<const RecomputeFrontier *> &layers, int64_t wanted, size_t states);

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_RECOMPUTE_RECOMPUTEGRAPH_H
