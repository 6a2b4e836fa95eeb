// The first bound of a grid that knows of memory: the least of all its schedules and kinds of state (ResidenceBound.h).
// Where activations are offloaded, the link to the host takes the place of memory.
#include "lib/Planning/Grid/GridExpansion.h"
#include "lib/Planning/Grid/ResidenceBound.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

using namespace mlir::ppc;

/// The least time of the floors with nothing recomputed.
static double leastTime(const std::array<ResidenceTerms, 2> &terms, llvm::ArrayRef<PipelineFloor> floors) {
  double least = infinity;
  for (const PipelineFloor &floor : floors)
    least = std::min(least, floor.step(terms[floor.split], 0));
  return least;
}

/// As that, where the copies of what layers keep may take longer than the layers; of what is recomputed there is less
/// to copy, so each layer takes the lesser of both. `floors`: of layers that keep everything on the device, whose share
/// of forwards in the work is another one.
static double boundOffloaded(const PlanRequest &request, LayerPrices prices, bool mayRecompute,
                             llvm::ArrayRef<PipelineFloor> floors, const ResidenceRoom &room) {
  if (mayRecompute)
    prices = leastOfBoth(std::move(prices));
  std::array<ResidenceTerms, 2> terms{sumResidence(request, prices, false, false),
                                      sumResidence(request, prices, true, false)};
  llvm::SmallVector<PipelineFloor, 16> own(floors);
  for (PipelineFloor &floor : own)
    floor.perWork = room.microBatches / room.devices;
  return leastTime(terms, own);
}

namespace {
/// Each kind of state of a grid, with what is known of it. Prices are made of those alone that are asked for: most are
/// left out by what is known of another one.
class BoundedStates {
public:
  BoundedStates(const PricingContext &grid, std::vector<StateChoice> all)
      : grid(grid), choices(std::move(all)), states(choices.size()) {
    for (size_t i = 0; i < states.size(); ++i)
      states[i].base = i > 0 && isCutLess(choices[i], choices[states[i - 1].base]) ? states[i - 1].base : i;
  }

  size_t size() const { return states.size(); }
  bool offloads(size_t i) const { return offloadsActivations(choices[i].offload); }
  /// What the state is cut less than, or itself: where no exchange is counted, that bounds this one, too.
  size_t baseOf(size_t i) const { return states[i].base; }

  /// Of these slices and this recomputation, from here on.
  void begin(int64_t slices, Recompute recompute) {
    nowSlices = slices;
    nowRecompute = recompute;
    for (State &state : states) {
      state.unexchanged = 0;
      if (state.context)
        setNow(state);
    }
  }
  PricingContext &context(size_t i) {
    State &state = states[i];
    if (!state.context) {
      state.layout = std::make_unique<ParallelLayout>(grid.layout);
      choices[i].setOf(*state.layout);
      state.context.emplace(grid, *state.layout);
      setNow(state);
    }
    return *state.context;
  }
  double &update(size_t i) { return states[i].update; }
  /// A lower bound where no exchange is counted, of what is gone through now; infinity: it does not fit.
  double &unexchanged(size_t i) { return states[i].unexchanged; }
  /// Keeps a lower bound on the steps that are gone through now.
  void bound(size_t i, double time) { states[i].time = std::min(states[i].time, time); }
  llvm::SmallVector<float, 0> times() const {
    llvm::SmallVector<float, 0> result;
    for (const State &state : states)
      result.push_back(state.time == infinity ? float(infinity) : std::nextafterf(float(slack * state.time), 0));
    return result;
  }

private:
  struct State {
    size_t base = 0;
    std::unique_ptr<ParallelLayout> layout; // that the context refers to
    std::optional<PricingContext> context;
    double update = -1, unexchanged = 0, time = infinity;
  };
  void setNow(State &state) const {
    state.context->slices = nowSlices;
    state.layout->recompute = nowRecompute;
  }
  const PricingContext &grid;
  std::vector<StateChoice> choices;
  std::vector<State> states;
  int64_t nowSlices = 1;
  Recompute nowRecompute = Recompute::None;
};
} // namespace

GridExpander::RefinedBound GridExpander::refineBound(const PlanSpace &space, const PlanGrid &grid, Bytes limit,
                                                     bool probes) {
  ParallelLayout layout = space.layoutOf(grid);
  llvm::ArrayRef<ScheduleEntry> entries = schedulesOf(space, layout);
  const PricingContext ofGrid(request.model, request.job, request.cluster, layout, request.stack);
  BoundedStates states(ofGrid, space.states(layout));
  std::vector<Recompute> recomputes = space.recomputes();
  bool canRecompute = llvm::is_contained(recomputes, Recompute::Full);
  bool mayKeep = llvm::is_contained(recomputes, Recompute::None);
  bool evenCut = request.stack.stageSplit == StageSplit::Balanced && layout.stageLayers.empty();
  double best = infinity;
  int64_t bestSlices = 1;
  struct Bounded {
    std::array<ResidenceTerms, 2> terms;
    llvm::SmallVector<PipelineFloor, 16> floors;
  };
  auto isAsked = [&](const ScheduleEntry &entry, int64_t slices) {
    return entry.schedule.shape.slices == slices && (!probes || entry.isProbe());
  };
  for (int64_t slices : {1, 2, 4, 8}) {
    if (llvm::none_of(entries, [&](const ScheduleEntry &entry) { return isAsked(entry, slices); }))
      continue;
    ParallelLayout asked = layout;
    PricingContext context(ofGrid, asked);
    context.slices = slices;
    std::shared_ptr<const LayerTotals> shared = programsOf(context, slices);
    const LayerTotals &programs = *shared;
    PipelineMessages messages = priceMessages(context);
    Seconds beside = timeBesideMessages(context);
    ResidenceRoom room{double(layout.microBatches(request.job)), double(slices), double(layout.pp), infinity};
    double before = best;
    for (bool selective : {false, true}) {
      if (selective ? !llvm::is_contained(recomputes, Recompute::Selective)
                    : recomputes == std::vector<Recompute>{Recompute::Selective})
        continue;
      asked.recompute = selective ? Recompute::Selective : Recompute::None;
      bool again = canRecompute && !selective;
      auto boundBy = [&](const LayerPrices &prices) {
        Bounded bounded{{sumResidence(request, prices, false, again), sumResidence(request, prices, true, again)}, {}};
        FloorTerms terms{request, programs, messages, beside, prices, again ? Recompute::Full : asked.recompute,
                         evenCut};
        for (const ScheduleEntry &entry : entries)
          if (isAsked(entry, slices))
            addFloor(bounded.floors, floorOf(terms, entry.schedule, *entry.placement));
        return bounded;
      };
      LayerPrices prices = priceLayers(context, programs);
      states.begin(slices, asked.recompute);
      auto holds = [&](size_t state) {
        const PricingContext &of = states.context(state);
        return ((selective || mayKeep) && leastMemory(of, prices, kinds, false) <= limit.value) ||
               (again && leastMemory(of, prices, kinds, true) <= limit.value);
      };
      Bounded whole = boundBy(prices);
      // Each kind of state with the room that it leaves; where it is exchanged in every micro-batch, with what that
      // takes.
      std::map<StateKey, Bounded> exchanging;
      for (size_t i = 0; i < states.size(); ++i) {
        if (states.offloads(i))
          continue;
        if (double known = states.unexchanged(states.baseOf(i)); known >= best) {
          states.bound(i, known);
          continue;
        }
        double &unexchanged = states.unexchanged(i) = infinity;
        if (!holds(i))
          continue;
        const PricingContext &of = states.context(i);
        LeastState least = leastState(of, prices, kinds, states.update(i));
        states.update(i) = least.update;
        room.capacity = limit.value - least.memory;
        double bound = leastStep(whole.terms, whole.floors, room, best - least.update);
        unexchanged = std::min(bound + least.update, std::max(best, least.update));
        if (bound + least.update >= best) {
          states.bound(i, unexchanged);
          continue; // the exchange of state only adds to it
        }
        if (of.layout.zero >= 3 || of.reducesEveryMicroBatch()) {
          auto [found, isNew] = exchanging.try_emplace(stateKey(of.layout));
          if (isNew)
            found->second = boundBy(priceLayers(of, programs));
          bound = leastStep(found->second.terms, found->second.floors, room, best - least.update);
        }
        states.bound(i, std::min(bound + least.update, best));
        best = std::min(best, bound + least.update);
      }
      // Where activations leave for the host they take no room.
      std::map<StateKey, double> offloading;
      const double leastWhole = leastTime(whole.terms, whole.floors);
      for (size_t i = 0; i < states.size(); ++i) {
        if (!states.offloads(i))
          continue;
        double known = std::max(leastWhole, states.unexchanged(states.baseOf(i)));
        if (auto plain = offloading.find(StateKey()); plain != offloading.end()) // likewise
          known = std::max(known, plain->second);
        if (known >= best || !holds(i)) {
          states.unexchanged(i) = known >= best ? known : infinity;
          states.bound(i, states.unexchanged(i));
          continue;
        }
        const PricingContext &of = states.context(i);
        bool exchanges = of.layout.zero >= 3 || of.reducesEveryMicroBatch();
        auto [found, isNew] = offloading.try_emplace(exchanges ? stateKey(of.layout) : StateKey());
        if (isNew)
          found->second = boundOffloaded(request, priceLayers(of, programs), again, whole.floors, room);
        if (found->second >= best) {
          states.bound(i, found->second);
          continue;
        }
        states.update(i) = leastState(of, prices, kinds, states.update(i)).update;
        states.bound(i, found->second + states.update(i));
        best = std::min(best, found->second + states.update(i));
      }
    }
    if (best < before)
      bestSlices = slices;
  }
  return {slack * best, bestSlices, states.times()};
}
