// The first bound of a grid that knows of memory: the least of all its schedules and kinds of state (ResidenceBound.h).
// Where activations are offloaded, the link to the host takes the place of memory.
#include "lib/Planning/Grid/GridExpansion.h"
#include "lib/Planning/Grid/ResidenceBound.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

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

GridExpander::RefinedBound GridExpander::refineBound(const PlanSpace &space, const PlanGrid &grid, Bytes limit,
                                                     bool probes) {
  ParallelLayout layout = space.layoutOf(grid);
  llvm::ArrayRef<ScheduleEntry> entries = schedulesOf(space, layout);
  // Each kind of state; contexts refer to layouts.
  struct State {
    ParallelLayout layout;
    double update = -1;
  };
  std::vector<State> states;
  for (const StateChoice &choice : space.states(layout)) {
    State &state = states.emplace_back(State{layout});
    choice.setOf(state.layout);
  }
  std::vector<PricingContext> contexts;
  contexts.reserve(states.size());
  for (const State &state : states)
    contexts.emplace_back(request.model, request.job, request.cluster, state.layout, request.stack);
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
    PricingContext context(request.model, request.job, request.cluster, asked, request.stack, slices);
    std::shared_ptr<const LayerTotals> shared = programsOf(context, slices);
    const LayerTotals &programs = *shared;
    PipelineMessages messages = priceMessages(context);
    Seconds beside = timeBesideMessages(context);
    ResidenceRoom room{double(layout.microBatches(request.job)), double(slices), double(layout.pp), infinity};
    double before = best;
    for (PricingContext &each : contexts)
      each.slices = slices;
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
      auto holds = [&](size_t state) {
        return ((selective || mayKeep) && leastMemory(contexts[state], prices, kinds, false) <= limit.value) ||
               (again && leastMemory(contexts[state], prices, kinds, true) <= limit.value);
      };
      Bounded whole = boundBy(prices);
      // Each kind of state with the room that it leaves; where it is exchanged in every micro-batch, with what that
      // takes.
      std::map<StateKey, Bounded> exchanging;
      for (size_t i = 0; i < states.size(); ++i) {
        State &state = states[i];
        state.layout.recompute = asked.recompute;
        if (offloadsActivations(state.layout.offload) || !holds(i))
          continue;
        LeastState least = leastState(contexts[i], prices, kinds, state.update);
        state.update = least.update;
        room.capacity = limit.value - least.memory;
        double bound = leastStep(whole.terms, whole.floors, room, best - least.update);
        if (bound + least.update >= best)
          continue; // the exchange of state only adds to it
        if (state.layout.zero >= 3 || contexts[i].reducesEveryMicroBatch()) {
          auto [found, isNew] = exchanging.try_emplace(stateKey(state.layout));
          if (isNew)
            found->second = boundBy(priceLayers(contexts[i], programs));
          bound = leastStep(found->second.terms, found->second.floors, room, best - least.update);
        }
        best = std::min(best, bound + least.update);
      }
      // Where activations leave for the host they take no room.
      std::map<StateKey, double> offloading;
      for (size_t i = 0; i < states.size(); ++i) {
        State &state = states[i];
        if (!offloadsActivations(state.layout.offload) || leastTime(whole.terms, whole.floors) >= best || !holds(i))
          continue;
        bool exchanges = state.layout.zero >= 3 || contexts[i].reducesEveryMicroBatch();
        auto [found, isNew] = offloading.try_emplace(exchanges ? stateKey(state.layout) : StateKey());
        if (isNew)
          found->second = boundOffloaded(request, priceLayers(contexts[i], programs), again, whole.floors, room);
        if (found->second >= best)
          continue;
        state.update = leastState(contexts[i], prices, kinds, state.update).update;
        best = std::min(best, found->second + state.update);
      }
    }
    if (best < before)
      bestSlices = slices;
  }
  return {slack * best, bestSlices};
}
