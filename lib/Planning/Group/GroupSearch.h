// Plans for heterogeneous clusters: each group of devices alone, and pipelines with stages on several groups.
#ifndef PPC_LIB_PLANNING_GROUP_GROUPSEARCH_H
#define PPC_LIB_PLANNING_GROUP_GROUPSEARCH_H

#include "lib/Planning/Grid/PlanSpace.h"

namespace mlir::ppc {

/// The part of a layout of stages on several groups that does not depend on how many stages each has.
struct GroupGrid {
  int64_t dp, tp, cp, ep, microBatch;
  bool sequenceParallel;
};

/// The space of pipelines over several groups, enumerated once for the search and for its exhaustive twin in the tests.
/// tp: divisors of the heads that fit into the innermost unit of every group; cp: powers of two; dp and micro-batch:
/// divisors of the batch; ep: divisors of the experts. Every order of the groups, every number of stages on each. A
/// pinned degree is taken as it is.
class GroupSpace {
public:
  GroupSpace(const PlanRequest &request);

  std::vector<GroupGrid> grids() const;
  ParallelLayout layoutOf(const GroupGrid &grid) const;
  /// Which groups, front to back, and the number of stages on each; two groups at least.
  std::vector<llvm::SmallVector<int64_t, 8>> placements(const GroupGrid &grid) const;
  std::vector<ScheduleChoice> schedules(const ParallelLayout &layout) const;
  std::vector<Recompute> recomputes() const;
  std::vector<int64_t> zeros(const ParallelLayout &layout) const;
  /// With schedules of one chunk per device: all layers recomputed on some of the groups and none on the others, as
  /// stage_recomputed_layers before the layers are partitioned.
  std::vector<llvm::SmallVector<int64_t, 8>> recomputedOnGroups(llvm::ArrayRef<int64_t> stages) const;

private:
  const PlanRequest &request;
  PlanSpace choices;
};

/// Returns the pinned choice that is not searched for stages on several groups ("offload optimizer"); empty: none.
std::string notSearchedOverGroups(const PlanConstraints &constraints);

/// Estimates a layout on several groups; if it does not fit and stages have one chunk, with layers moved to devices
/// that have memory left. Returns std::nullopt if it is invalid or does not fit.
std::optional<Plan> fitOverGroups(const PlanRequest &request, ParallelLayout layout, StepEstimator &estimator,
                                  PipelineTimer &timer);

/// searchPlan for clusters of several groups.
llvm::Expected<PlanSearchResult> searchGroups(const PlanRequest &request);

} // namespace mlir::ppc

#endif // PPC_LIB_PLANNING_GROUP_GROUPSEARCH_H
