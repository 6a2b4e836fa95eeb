// Layouts that a search chooses from, in two levels: degree combinations (degrees and decisions of a layer's program),
// and the choices of one combination (schedule and chunks, recomputation, state, offload). Enumerated here once for the
// search, its exhaustive twin in the tests, and the verifier.
#ifndef PPC_LIB_PLANNING_GRID_PLANSPACE_H
#define PPC_LIB_PLANNING_GRID_PLANSPACE_H

#include "ppc/CostModel/StepParts.h"
#include "ppc/Planning/PlanSearch.h"

namespace mlir::ppc {

/// Part of a degree combination that decides layer programs.
struct ProgramKey {
  int32_t tp, cp, ep, etp, microBatch;
  bool sequenceParallel;
  ContextKind context;
  int32_t tpRows = 1, tpDepth = 1;
};

struct PlanGrid {
  int32_t key; // index into PlanSpace::keys
  int32_t dp, pp;
};

struct ScheduleChoice {
  llvm::StringRef schedule;
  int64_t vp;
};

struct StateChoice {
  int64_t zero, shardGroup;
  Offload offload;
  int64_t gradientGroup = 0, parameterGroup = 0;

  void setOf(ParallelLayout &layout) const {
    layout.zero = zero;
    layout.shardGroup = shardGroup;
    layout.offload = offload;
    layout.gradientGroup = gradientGroup;
    layout.parameterGroup = parameterGroup;
  }
};

/// Whether `state` differs from `base`, which shards gradients and parameters over all ranks, only in that it shards
/// them over fewer: except for gathered values and transfers in flight, it takes no less memory, and no less time to
/// update. For StateChoice and ParallelLayout.
template <typename State> bool isCutLess(const State &state, const State &base) {
  return state.zero == base.zero && state.shardGroup == base.shardGroup && state.offload == base.offload &&
         base.gradientGroup == 0 && base.parameterGroup == 0 && (state.gradientGroup || state.parameterGroup);
}

/// Key of states that take equally long to exchange for layers.
using StateKey = std::array<int64_t, 4>;
inline StateKey stateKey(const ParallelLayout &layout) {
  return {layout.zero, layout.shardGroup, layout.gradientGroup, layout.parameterGroup};
}

class PlanSpace {
public:
  /// All grids of `devices` devices that the constraints allow.
  PlanSpace(const PlanRequest &request, const PlanConstraints &constraints, int64_t devices);

  /// Space with the same keys under tighter constraints, without degree combinations.
  PlanSpace(const PlanSpace &whole, const PlanConstraints &constraints)
      : keys(whole.keys), request(whole.request), constraints(constraints) {}

  std::vector<ProgramKey> keys;
  std::vector<PlanGrid> grids; // in the order of keys

  /// The request's base with the fields of the degree combination; everything else neutral.
  ParallelLayout layoutOf(const PlanGrid &grid) const;
  bool allows(PlanKey key, int64_t value) const { return constraints.allows(key, value); }

  /// Choices of a degree combination; each in a fixed order. Empty: the constraints leave none.
  std::vector<ScheduleChoice> schedules(const ParallelLayout &layout) const;
  std::vector<Recompute> recomputes() const;
  /// States; those that are sharded less (isCutLess) come after those that are sharded more.
  std::vector<StateChoice> states(const ParallelLayout &layout) const;
  /// Each stage may have a number of recomputed layers of its own, chosen by the search.
  bool choosesByStage() const;
  /// Else: one for all stages, ascending, the last meaning all (-1); for stages of at most `layers`.
  std::vector<int64_t> recomputedLayers(int64_t layers) const;

  const PlanRequest &request;
  PlanConstraints constraints;
  const int64_t id = nextId(); // differs between all spaces: key of caches

private:
  static int64_t nextId();
  static bool mayChooseGroups(const Stack &stack);
  /// Whether gradients and parameters may be sharded over separate groups without a pin: known software does not
  /// support it.
  const bool choosesGroups = mayChooseGroups(request.stack);
  /// Groups over which gradients and parameters may be sharded with such a state (StateChoice), the full shard group
  /// first.
  using StateGroups = llvm::SmallVector<std::pair<int64_t, int64_t>, 8>;
  StateGroups stateGroups(int64_t zero, int64_t shardGroup, const ParallelLayout &layout) const;
  std::vector<int64_t> degrees(PlanKey key, int64_t product, int64_t most) const;
  /// Adds grids with the key and all expert degrees, for these numbers of dp and pp.
  void addKeys(ProgramKey key, int64_t devices, llvm::ArrayRef<std::pair<int64_t, int64_t>> rest);
  bool depthMovesLess(const ParallelLayout &layout) const;
  /// Values of tpRows and tpDepth for these degrees: none, and those that are pinned, or move less.
  std::vector<std::pair<int64_t, int64_t>> tensorAxes(const ParallelLayout &layout) const;
};

/// Keys that mean nothing in a layout, so that constraints on them hold: the schedule of one stage, how attention works
/// without context parallelism, ...
bool isVacuous(const ParallelLayout &layout, PlanKey key);
/// The first key that means something and breaks the constraints.
std::optional<PlanKey> brokenConstraint(const PlanConstraints &constraints, const ParallelLayout &layout);

} // namespace mlir::ppc

#endif // PPC_LIB_PLANNING_GRID_PLANSPACE_H
