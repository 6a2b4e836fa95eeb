// Order of plans: estimated by the formulas, replayed event by event as far as their order requires, fastest first.
#ifndef PPC_LIB_PLANNING_PLANRANKING_H
#define PPC_LIB_PLANNING_PLANRANKING_H

#include "lib/Planning/Grid/SearchEngine.h"

namespace mlir::ppc {

/// Number of best layouts by the formulas that are replayed, however many are listed, so that the first plan does not
/// depend on the list.
constexpr size_t replayedPlans = 10;

/// Estimates a layout with StepEstimator, with details and whether it fits. Errors: as StepEstimator::estimate.
llvm::Expected<Plan> priceInDetail(const PlanRequest &request, const ParallelLayout &layout, StepEstimator &estimator,
                                   StepDetail &detail);

class PlanRanking {
public:
  struct Entry {
    Plan plan;
    Candidate candidate;
    StepDetail detail;
    bool joins = true;   // may be the first plan
    bool slower = false; // than all that may be listed, when replayed
    double time() const { return (plan.simulated ? plan.simulated->stepTime : plan.cost.stepTime).value; }
  };

  /// Both must outlive this.
  PlanRanking(const PlanRequest &request, SearchEngine &engine)
      : request(request), engine(engine), estimator(engine.compiled()) {}

  /// Returns the number of its entry; a known layout has one already. `joins`: whether it is replayed and may come
  /// first; others follow, ordered by the formulas. Errors: as StepEstimator::estimate.
  llvm::Expected<size_t> add(const Candidate &candidate, bool joins);
  /// Replays plans that may be listed; none if the request asks for no replays. Errors: as simulateStep.
  llvm::Error replay();
  /// The entries that may be listed, best first, one of each shape.
  std::vector<size_t> order() const;
  /// How many of the first of `order` cannot be told apart by their replayed times.
  size_t ties(llvm::ArrayRef<size_t> order) const;
  /// Which of the first `count` of `order` has the fewest kinds of parallelism and of saving memory.
  size_t simplest(llvm::ArrayRef<size_t> order, size_t count) const;
  const Entry &operator[](size_t number) const { return entries[number]; }
  Entry take(size_t number) { return std::move(entries[number]); }
  /// "by closed formulas ... is fastest", where replays put another plan first; else empty.
  std::string reorderedNote() const;
  /// Why of the plans within the request's tolerance another one than the fastest comes first; else empty.
  std::string memoryNote() const;

private:
  /// Replayed times of the fastest of each shape, least first.
  std::vector<double> replayedTimes() const;
  /// Steps that take longer need no replay.
  double latest() const;
  /// No step: it takes longer than `latest`.
  llvm::Expected<std::optional<SimulatedStep>> replayOne(const Entry &entry, double latest);
  /// Entries, fastest first; those that do not join last.
  std::vector<size_t> byTime() const;
  /// Position in `order`, which is by time, of the entry with the least memory within the request's tolerance.
  std::vector<size_t>::iterator leastMemory(std::vector<size_t> &order) const;

  const PlanRequest &request;
  SearchEngine &engine;
  StepEstimator estimator;
  std::vector<Entry> entries;
};

} // namespace mlir::ppc

#endif // PPC_LIB_PLANNING_PLANRANKING_H
