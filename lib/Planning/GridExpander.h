// Prices the choices of one grid: bounds first, what survives exactly, with the parts of the cost model shared among choices.
#ifndef PPC_LIB_PLANNING_GRIDEXPANDER_H
#define PPC_LIB_PLANNING_GRIDEXPANDER_H

#include "PlanSpace.h"
#include "ppc/CostModel/StepParts.h"

#include <limits>
#include <map>
#include <mutex>
#include <tuple>

namespace mlir::ppc {

/// A priced layout.
struct Candidate {
  double time = std::numeric_limits<double>::infinity();
  double memory = 0;
  ParallelLayout layout;
};
/// Faster first, then less memory, then by the values of the keys: a total order on layouts.
bool isBetter(const Candidate &a, const Candidate &b);
/// Candidates that differ in how state is kept only (zero, shard group, offload, number of recomputed layers) count as one.
bool isSameShape(const ParallelLayout &a, const ParallelLayout &b);

/// The best candidates of different shapes.
class CandidateList {
public:
  explicit CandidateList(size_t capacity) : capacity(capacity) {}
  void add(Candidate candidate);
  /// No candidate slower than this gets in.
  double cutoff() const { return list.size() < capacity ? std::numeric_limits<double>::infinity() : list.back().time; }
  std::vector<Candidate> list; // best first

private:
  size_t capacity;
};

/// What happened to the choices of grids.
struct ExpansionCounts {
  int64_t prunedBusy = 0;     // by the time of the busiest device
  int64_t prunedPipeline = 0; // by filling and draining the pipeline
  int64_t prunedTimed = 0;    // by the pipeline's exact time, before state
  int64_t memory = 0;         // priced or bounded, and too large
  int64_t refused = 0;        // by the request's filter
  int64_t timed = 0;          // pipelines timed
  int64_t priced = 0;         // layouts priced
  void add(const ExpansionCounts &other);
};

/// Compiled schedules and where they place stages, shared by all threads.
class ScheduleCache {
public:
  /// Null: cannot be made.
  const PipelineProgram *program(const PipelineScheduleKind &kind, const PipelineShape &shape);
  struct Placement {
    std::vector<std::vector<int64_t>> stages; // per device, ascending; of a schedule with one replica
  };
  /// Null: several replicas, or it cannot be made.
  const Placement *placement(const PipelineScheduleKind &kind, const PipelineShape &shape);

private:
  std::mutex mutex;
  using Key = std::tuple<const PipelineScheduleKind *, int64_t, int64_t, int64_t, int64_t>;
  std::map<Key, std::unique_ptr<PipelineProgram>> programs;
  std::map<Key, std::unique_ptr<Placement>> placements;
};

/// Not thread-safe: one per thread.
class GridExpander {
public:
  GridExpander(const PlanRequest &request, ScheduleCache &schedules) : request(request), schedules(schedules) {}

  /// A lower bound on the step time of every choice of the grids with this key, per micro-batch: perfect balance, nothing
  /// recomputed, nothing exposed outside layers.
  struct KeyBound {
    double total = 0;    // seconds of one micro-batch on all stages together
    double leastLayer = 0;
  };
  KeyBound boundKey(const PlanSpace &space, const PlanGrid &grid);
  static double boundGrid(const PlanRequest &request, const KeyBound &key, const PlanGrid &grid, int64_t microBatch);

  /// Adds every choice of the grid that fits in `limit` and may be faster than the list's cutoff.
  void expand(const PlanSpace &space, const PlanGrid &grid, Bytes limit, CandidateList &found, ExpansionCounts &counts);

private:
  void expandState(const PlanSpace &space, ParallelLayout layout, const LayerPrograms &programs, llvm::ArrayRef<StateChoice> states,
                   Bytes limit, CandidateList &found, ExpansionCounts &counts);
  double pipelineBound(const StepSchedule &schedule, llvm::ArrayRef<ChunkCost> chunks, const PipelineMessages &messages);
  double memoryBound(const ParallelLayout &layout, const LayerPrices &prices, const StateChoice &state);
  double peakMemory(const PricingContext &context, double largestLayer, llvm::ArrayRef<ChunkCost> chunks,
                    const PipelineProgram &program);

  const PlanRequest &request;
  ScheduleCache &schedules;
  PipelineTimer timer;
  PipelineTime time;
};

} // namespace mlir::ppc

#endif // PPC_LIB_PLANNING_GRIDEXPANDER_H
