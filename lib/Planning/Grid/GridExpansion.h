// Choices of one degree combination, from lower bounds to exact costs.
#ifndef PPC_LIB_PLANNING_GRID_GRIDEXPANSION_H
#define PPC_LIB_PLANNING_GRID_GRIDEXPANSION_H

#include "lib/Planning/Grid/GridExpander.h"
#include "lib/Planning/Grid/ResidenceBound.h"

#include <limits>

namespace mlir::ppc {

/// Bounds are summed in another order than the exact costs.
constexpr double slack = 1 - 1e-9;
constexpr double infinity = std::numeric_limits<double>::infinity();

std::array<int64_t, layerKinds> countKinds(const ModelShape &model);
bool isLayer(int kind);
/// Time of one micro-batch on all stages, layers kept or wholly recomputed, and of the shortest layer.
GridExpander::KeyBound sumUp(const LayerPrices &prices, const std::array<int64_t, layerKinds> &counts, bool recomputed);
/// Backwards may pair with forwards, which saves the overlap.
inline double chainOf(const StageDurations &durations) {
  return (durations.forward + durations.pairedBackward()).value;
}
/// With [0] the lesser of kept and recomputed: recomputation is slower, unless it spares a slow host link its traffic.
LayerPrices leastOfBoth(LayerPrices prices);
/// Some device has at least its share of the work, and of whole layers.
double boundBusy(const ModelShape &model, const GridExpander::KeyBound &sum, int64_t pp, double microBatches);

/// A choice of state with its costs. The layout's schedule and recomputation change as choices are visited.
struct GridExpander::StateEntry {
  StateEntry(const PricingContext &grid, const StateChoice &state) : layout(grid.layout), context(grid, layout) {
    state.setOf(layout);
  }
  ParallelLayout layout;
  PricingContext context; // context of that layout
  double update = -1;     // LeastState::update
  double floor = 0;       // lower bound of every choice with this state, as far as it is known
};

/// Choices of one degree combination.
class GridExpander::Expansion {
public:
  /// `floors`: of each kind of state (RefinedBound); empty: not known.
  Expansion(GridExpander &expander, const PlanSpace &space, const PlanGrid &grid, llvm::ArrayRef<float> floors,
            Bytes limit, SearchTargets &found, ExpansionCounts &counts);

  /// `firstSlices`: where fast layouts are expected.
  void run(int64_t firstSlices);
  /// Adds a few choices that are likely to be fast.
  void probe(int64_t sliceCount);
  double boundMemory();
  void findLeastMemory(Candidate &best);

private:
  /// A choice of schedule with one recomputation and one state.
  struct Choice {
    size_t entry;
    llvm::ArrayRef<int64_t> cut;
    double bound;               // lower bound of `cut`
    double movedBound;          // lower bound of every partition; infinity: no other one is a choice
    double order;               // less first
    std::vector<size_t> states; // states of the group
  };
  /// States that share the times of layers, with one recomputation.
  struct StateGroup {
    Recompute recompute;
    std::vector<size_t> states;
    LayerPrices prices;
    std::vector<Choice> choices;
  };
  /// Stages that states of a group share: timed once.
  struct Timed {
    StageFit fit;
    std::vector<size_t> states;
    const PipelineProgram *program = nullptr;
  };
  using Fits = std::map<std::pair<std::vector<int64_t>, std::vector<int64_t>>, Timed>; // by partition and recomputed
                                                                                       // layers

  /// Programs for the slices, and the recomputation that keeps least.
  LayerPrices preparePrices(int64_t slices);
  /// Bounds each schedule with the state that costs layers least. False: none can beat the cutoff.
  bool boundEntries();
  /// Whether some schedule may be fast enough within the memory that a state leaves, if its exchange takes no time.
  bool mayHold(const LeastState &least) const;
  double boundAnyState(size_t entry);
  FloorTerms floorTermsOf(const LayerPrices &prices) const;
  void setRecompute(Recompute next);
  /// Collects a group's choices that bounds leave; `ordersByMemory`: their order considers memory. `probes`: only those
  /// that are probed. Returns false if there are none.
  bool collectChoices(StateGroup &group, bool ordersByMemory, bool probes);
  /// Whether the state fits with the even partition and nothing recomputed, so that any recomputation is needless;
  /// regardless of whether that choice was run, was pruned, or is still to come. False if only recomputation is a
  /// choice.
  bool fitsEverythingKept(size_t index, const ScheduleEntry &entry, const PipelineProgram &program);
  void runChoice(const Choice &choice, llvm::ArrayRef<size_t> group, const LayerPrices &prices);
  void runFitted(const Choice &choice, llvm::ArrayRef<size_t> group, const LayerPrices &prices);
  /// Finds the minimum numbers of recomputed layers that fit with the even partition, within the numbers that the
  /// constraints leave. Returns false if none fits.
  bool fitEvenCut(size_t index, const Choice &choice, StageFitter &fitter, Fits &fits, StageFit &fit);
  size_t leanestOf(llvm::ArrayRef<size_t> group) const;
  const PipelineProgram &leastLoads(const ScheduleEntry &entry, llvm::ArrayRef<int64_t> cut, const LayerPrices &prices,
                                    double latest, bool anyCut);
  void fitUniformly(size_t index, StageFitter &fitter, llvm::ArrayRef<int64_t> cut, Fits &fits, bool &any);
  void timeFits(const Choice &choice, const Fits &fits);

  void setChoice(ParallelLayout &changed, const ScheduleEntry &entry, bool effective) const {
    changed.schedule = entry.choice.schedule.str();
    changed.vp = effective ? entry.schedule.shape.chunks : entry.choice.vp;
    changed.recompute = recompute;
  }
  /// The layout's numbers as a plan writes them: one for all stages where that says the same.
  void setNumbers(ParallelLayout &changed, const StageFit &fit) const;
  bool movesLayers(const ScheduleEntry &entry) const;

  /// Whether the schedule is made for the durations of its chunks: every number of recomputed layers has another one.
  bool isFitted(const ScheduleEntry &entry) const {
    return request.stack.fittedSchedules && entry.schedule.kind->fitsDurations();
  }
  const PipelineProgram *programFor(const ScheduleEntry &entry, llvm::ArrayRef<ChunkCost> chunks) const;

  llvm::ArrayRef<int64_t> cutFor(int64_t chunks);
  double boundMemory(StateEntry &state, const LayerPrices &prices) const {
    return leastMemory(state.context, prices, kinds, recompute == Recompute::Full);
  }
  /// Chunks with everything kept.
  std::vector<ChunkCost> priceKept(const LayerPrices &prices, llvm::ArrayRef<int64_t> cut, bool splitBackward) const;
  double boundPipeline(const ScheduleEntry &entry, llvm::ArrayRef<ChunkCost> chunks) const;
  double boundAnyCut(const ScheduleEntry &entry, llvm::ArrayRef<ChunkCost> chunks) const;
  double cutoff(const ParallelLayout &layout, DecidedKeys more) const { return found.cutoff(layout, gridKeys | more); }

  static constexpr DecidedKeys allKeys = ~DecidedKeys(0);
  /// Decisions of a state.
  static constexpr DecidedKeys stateKeys =
      decided(PlanKey::Zero, PlanKey::ShardGroup, PlanKey::Offload, PlanKey::GradientGroup, PlanKey::ParameterGroup);

  GridExpander &expander;
  const PlanRequest &request;
  const PlanSpace &space;
  Bytes limit;
  SearchTargets &found;
  ExpansionCounts &counts;
  ParallelLayout layout;
  llvm::ArrayRef<ScheduleEntry> entries;
  const std::array<int64_t, layerKinds> &kinds;
  std::vector<std::unique_ptr<StateEntry>> states;
  enum class Kept : int8_t { Unknown, Fails, Fits };
  std::vector<Kept> fitsKept; // state x entry: whether it fits with everything kept, so that nothing need be recomputed

  std::shared_ptr<const LayerTotals> programs; // programs for schedules with that number of slices
  int64_t slices = 1;
  PipelineMessages messages;
  Seconds beside;
  Recompute recompute = Recompute::None;
  /// Lower bounds of one schedule, whatever the state.
  struct EntryBound {
    PipelineFloor pipeline;
    double floor = infinity; // bound from `pipeline`: for every partition
    double least = -1;       // bound over the partitions that are choices; -1: unknown
  };
  /// Lower bounds of one recomputation.
  struct EntryBounds {
    std::vector<EntryBound> entries; // empty: not known
    double busy = 0;
    LayerPrices prices; // costs of layers with unsharded state
    std::array<ResidenceTerms, 2> residence;
  };
  struct SlicedTerms {
    int64_t slices = 1;
    std::array<EntryBounds, 3> bounds; // by recomputation
  };
  /// The states that offload activations, or the others. `probes`: only until something is found.
  void runSlices(SlicedTerms &terms, bool offloads, bool probes);
  EntryBounds *bounded = nullptr; // bounds of `recompute`
};

} // namespace mlir::ppc

#endif // PPC_LIB_PLANNING_GRID_GRIDEXPANSION_H
