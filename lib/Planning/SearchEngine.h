// Best-first search over the grids of a space, on all cores, with a result that does not depend on their number: grids are
// expanded in waves of fixed sizes, each wave against the cutoff that the waves before it left.
#ifndef PPC_LIB_PLANNING_SEARCHENGINE_H
#define PPC_LIB_PLANNING_SEARCHENGINE_H

#include "GridExpander.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/ThreadPool.h"

namespace mlir::ppc {

/// A space, its grids with lower bounds on their step times, least first.
struct BoundedSpace {
  std::shared_ptr<const PlanSpace> space;
  std::vector<std::pair<double, PlanGrid>> grids;
};

struct SearchOutcome {
  std::vector<Candidate> best;
  double lowerBound = std::numeric_limits<double>::infinity();
  int64_t grids = 0, expanded = 0, prunedGrids = 0;
  ExpansionCounts counts;
};

class SearchEngine {
public:
  explicit SearchEngine(const PlanRequest &request);

  /// Prices every grid's bound.
  BoundedSpace bound(const PlanConstraints &constraints, int64_t devices);
  /// The grids of `whole` that tighter constraints leave.
  static BoundedSpace restrict(const BoundedSpace &whole, const PlanConstraints &constraints);
  /// The `capacity` best candidates of different shapes. `seeds`: known candidates of the space.
  SearchOutcome search(const BoundedSpace &bounded, Bytes limit, size_t capacity, llvm::ArrayRef<Candidate> seeds = {});

  /// The layout of the space that needs least memory (its time is not set); nothing: every one is refused.
  std::optional<Candidate> findLeastMemory(const BoundedSpace &bounded);

private:
  /// use(i, worker) for i in [0, count), in any order.
  void parallel(size_t count, llvm::function_ref<void(size_t, GridExpander &)> use);

  const PlanRequest &request;
  ScheduleCache schedules;
  llvm::DefaultThreadPool pool;
  std::vector<std::unique_ptr<GridExpander>> workers;
};

} // namespace mlir::ppc

#endif // PPC_LIB_PLANNING_SEARCHENGINE_H
