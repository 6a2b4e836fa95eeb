// Estimates the choices of one degree combination: lower bounds first, then exact costs of the rest, with the parts of
// the cost model shared among choices.
#ifndef PPC_LIB_PLANNING_GRID_GRIDEXPANDER_H
#define PPC_LIB_PLANNING_GRID_GRIDEXPANDER_H

#include "lib/Planning/Grid/PlanSpace.h"
#include "lib/Planning/Grid/ScheduleCache.h"
#include "lib/Planning/Grid/SearchTargets.h"
#include "lib/Planning/Grid/StageFit.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>
#include <memory>

namespace mlir::ppc {

/// Numbers of choices by outcome.
struct ExpansionCounts {
  int64_t prunedBusy = 0;     // by the work of a device
  int64_t prunedPipeline = 0; // by filling and draining the pipeline
  int64_t prunedTimed = 0;    // by the pipeline's exact time
  int64_t memory = 0;         // too large
  int64_t refused = 0;        // by the request's filter
  int64_t needless = 0;       // recomputes though nothing must be
  int64_t moved = 0;          // stage partitions with layers moved for memory
  int64_t timed = 0;          // pipelines timed
  int64_t priced = 0;         // layouts estimated
  void add(const ExpansionCounts &other);
};

/// Not thread-safe: one per thread.
class GridExpander {
public:
  GridExpander(const PlanRequest &request, ScheduleCache &schedules);

  /// Decisions in a degree combination.
  static constexpr DecidedKeys gridKeys =
      decided(PlanKey::Devices, PlanKey::Dp, PlanKey::Tp, PlanKey::Pp, PlanKey::Cp, PlanKey::Ep, PlanKey::Etp,
              PlanKey::SequenceParallel, PlanKey::MicroBatch, PlanKey::Context, PlanKey::Precision, PlanKey::Attention,
              PlanKey::TpRows, PlanKey::TpDepth);

  /// A lower bound on the time of one micro-batch in every choice of the grids with this key: nothing recomputed, no
  /// state exchanged.
  struct KeyBound {
    double total = 0;      // seconds on all stages together
    double leastLayer = 0; // lower bound of one layer
  };
  KeyBound boundKey(const PlanSpace &space, const PlanGrid &grid);
  /// Lower bound for all degree combinations whose keys differ only in expert degrees.
  KeyBound boundFamily(const PlanSpace &space, const PlanGrid &grid);
  /// Whether that is less work.
  static bool hasFamilies(const PlanRequest &request);
  static double boundGrid(const PlanRequest &request, const KeyBound &key, const PlanGrid &grid, int64_t microBatch);

  struct RefinedBound {
    double time = 0;    // 0: not known
    int64_t slices = 1; // that it is of
    /// Lower bound for each state, in the order of PlanSpace::states; infinity: it does not fit. Rounded down.
    llvm::SmallVector<float, 0> states;
  };
  /// As boundGrid, but also considers memory (GridBound.cpp). Slower. `probes`: only for the choices that `probe`
  /// visits.
  RefinedBound refineBound(const PlanSpace &space, const PlanGrid &grid, Bytes limit, bool probes = false);

  /// Adds every choice of the degree combination that fits in `limit` and may be faster than the targets' cutoffs.
  /// `bound`: bound of the combination with that limit.
  void expand(const PlanSpace &space, const PlanGrid &grid, const RefinedBound &bound, Bytes limit,
              SearchTargets &found, ExpansionCounts &counts);

  /// Adds a few choices that are likely to be fast, of 1F1B with full sequences or slices. `bound`: as above, for the
  /// choices that this visits.
  void probe(const PlanSpace &space, const PlanGrid &grid, const RefinedBound &bound, Bytes limit, SearchTargets &found,
             ExpansionCounts &counts);

  /// Makes `best` the choice of the degree combination that needs least memory, if that is less than its own.
  void findLeastMemory(const PlanSpace &space, const PlanGrid &grid, Candidate &best);
  /// Lower bound on the memory of every choice of the degree combination.
  double boundMemory(const PlanSpace &space, const PlanGrid &grid);

private:
  struct ScheduleEntry {
    ScheduleChoice choice;
    StepSchedule schedule;
    const StagePlacement *placement;

    bool isProbe() const { return schedule.kind->alternates; }
  };
  struct StateEntry;
  class Expansion;
  llvm::ArrayRef<ScheduleEntry> schedulesOf(const PlanSpace &space, const ParallelLayout &layout);
  llvm::ArrayRef<StageGroup> groupsOf(const PipelineProgram &program);
  /// The fields of the layout that programs depend on, number of slices, and micro-batches where those count.
  using ProgramFields = std::array<int64_t, 15>;
  ProgramFields programFields(const ParallelLayout &layout, int64_t slices) const;
  KeyBound leastOfMicroBatches(ParallelLayout layout, llvm::function_ref<KeyBound(const PricingContext &)> bound);
  /// totalPrograms; layers without experts once for all expert degrees.
  LayerTotals totalsOf(const PricingContext &context, int64_t slices);
  /// Cached layer programs; combinations that share layers follow each other closely.
  std::shared_ptr<const LayerTotals> programsOf(const PricingContext &context, int64_t slices);

  /// Partition of the layers into that number of chunks with the layout's recomputation; valid as long as `programs`.
  llvm::ArrayRef<int64_t> cutFor(const std::shared_ptr<const LayerTotals> &programs, const ParallelLayout &layout,
                                 int64_t chunks);

  const PlanRequest &request;
  ScheduleCache &schedules;
  std::array<int64_t, layerKinds> kinds; // layers of the model, embedding and LM head
  PipelineTimer timer;
  PipelineTime time;
  std::map<const PipelineProgram *, std::vector<StageGroup>> groups;
  std::map<const StagePlacement *, std::array<PipelineProgram, 2>> loads; // loads of Expansion::leastLoads; chunks as
                                                                          // placed
  std::map<ProgramFields, std::shared_ptr<const LayerTotals>> cachedPrograms;
  std::map<ProgramFields, LayerTotals> sharedTotals; // whatever the expert degrees
  /// By programs, recomputation, number of chunks.
  struct CachedCuts {
    std::weak_ptr<const LayerTotals> programs;
    std::map<std::pair<int64_t, int64_t>, std::vector<int64_t>> cuts;
  };
  std::map<const LayerTotals *, CachedCuts> cachedCuts;
  int64_t cachedSpace = 0; // id
  std::map<std::pair<int64_t, int64_t>, std::vector<ScheduleEntry>>
      cachedSchedules; // schedules of cachedSpace; by pp, micro-batches
};

} // namespace mlir::ppc

#endif // PPC_LIB_PLANNING_GRID_GRIDEXPANDER_H
