// Best-first search over the grids of a space, on all cores, with a result that does not depend on their number: grids
// are expanded in waves of fixed sizes, each wave against the cutoff that the waves before it left.
#ifndef PPC_LIB_PLANNING_GRID_SEARCHENGINE_H
#define PPC_LIB_PLANNING_GRID_SEARCHENGINE_H

#include "lib/Planning/Grid/GridExpander.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/ThreadPool.h"

#include <chrono>

namespace mlir::ppc {

/// A space, its grids with lower bounds on their step times, least first. Where keys have families, bounds are of
/// these; only the first grid is known to be the first by the bounds of keys, and has its own.
struct BoundedSpace {
  std::shared_ptr<const PlanSpace> space;
  std::vector<std::pair<double, PlanGrid>> grids;
  std::shared_ptr<std::vector<GridExpander::KeyBound>> keys; // as far as they were asked for; else `total` is negative
};

struct SearchOutcome {
  SearchTargets found;
  llvm::ArrayRef<Candidate> best() const { return found.targets.front().found.list; }
  double lowerBound = std::numeric_limits<double>::infinity();
  int64_t grids = 0, expanded = 0, prunedGrids = 0;
  ExpansionCounts counts;
};

class SearchEngine {
public:
  explicit SearchEngine(const PlanRequest &request);

  /// The grids of a space in any order, with 0 for bounds: enough for findLeastMemory.
  BoundedSpace enumerate(const PlanConstraints &constraints, int64_t devices) const;
  /// Computes the bound of every degree combination.
  BoundedSpace bound(const PlanConstraints &constraints, int64_t devices);
  /// Adds the bound of every key.
  BoundedSpace boundKeys(BoundedSpace bounded);
  /// The grids of `whole` that tighter constraints leave.
  static BoundedSpace restrict(const BoundedSpace &whole, const PlanConstraints &constraints);
  /// Searches for all targets at once: each degree combination is expanded for all targets that it may serve. `seeds`:
  /// known candidates of the space. `stage`: name in the reported progress.
  SearchOutcome search(const BoundedSpace &bounded, Bytes limit, SearchTargets targets, llvm::StringRef stage = "plans",
                       llvm::ArrayRef<Candidate> seeds = {});
  /// The `capacity` best candidates of different shapes.
  SearchOutcome search(const BoundedSpace &bounded, Bytes limit, size_t capacity);

  /// The layout of the space that needs least memory (its time is not set); nothing: every one is refused.
  std::optional<Candidate> findLeastMemory(const BoundedSpace &bounded);

  /// Calls use(i, worker) for i in [0, count), on all cores or on `maxThreads`, in any order.
  void parallel(size_t count, llvm::function_ref<void(size_t, GridExpander &)> use,
                size_t maxThreads = std::numeric_limits<size_t>::max());

  /// The schedules that a search compiled. Thread-safe; lives as long as this.
  PipelineTimer::Compiled compiled();

private:
  /// Bounds the keys of grids from `begin` on, of some whose bounds are at most `latest`.
  void settle(const BoundedSpace &bounded, size_t begin, double latest);
  /// Bound of the combination's key.
  double boundOf(const BoundedSpace &bounded, const PlanGrid &grid) const;
  void putFirst(BoundedSpace &bounded);
  /// `done`: of the stage; `more`: done since the last report or search.
  void report(llvm::StringRef stage, int64_t done, int64_t more, int64_t left, double best);

  /// Bound of a degree combination tightened by a memory limit, for later searches: it holds with that limit or less,
  /// too.
  struct Refined {
    GridExpander::RefinedBound bound;
    Bytes limit;
  };
  using RefinedBounds = llvm::DenseMap<size_t, Refined>; // by number of the degree combination

  /// The open grids of one search, best first.
  class Queue;

  const PlanRequest &request;
  std::map<int64_t, RefinedBounds> refined;       // by PlanSpace::id
  std::chrono::steady_clock::time_point reported; // when progress last was
  int64_t allDone = 0;                            // grids, over all stages
  double bestReported = std::numeric_limits<double>::infinity();
  ScheduleCache schedules;
  llvm::DefaultThreadPool pool;
  std::vector<std::unique_ptr<GridExpander>> workers;
};

} // namespace mlir::ppc

#endif // PPC_LIB_PLANNING_GRID_SEARCHENGINE_H
