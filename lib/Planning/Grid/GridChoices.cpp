// Which choices of a grid are left after bounds that know of time and memory, and what comes first.
#include "lib/Planning/Grid/GridExpansion.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mlir::ppc;

LayerPrices mlir::ppc::leastOfBoth(LayerPrices prices) {
  for (std::array<LayerPrice, 2> &price : prices.prices) {
    price[0].forward = std::min(price[0].forward, price[1].forward);
    price[0].backward = std::min(price[0].backward, price[1].backward);
    price[0].weightGradient = std::min(price[0].weightGradient, price[1].weightGradient);
  }
  return prices;
}

bool GridExpander::Expansion::boundEntries() {
  double latest = cutoff(layout, decided(PlanKey::Recompute));
  std::vector<EntryBound> &bounds = bounded->entries;
  if (bounds.empty()) {
    bool full = recompute == Recompute::Full;
    PricingContext context(request.model, request.job, request.cluster, layout, request.stack,
                           slices); // whole state, nothing offloaded
    bounded->prices = priceLayers(context, *programs);
    if (full)
      bounded->prices = leastOfBoth(bounded->prices);
    const LayerPrices &prices = bounded->prices;
    bounded->busy =
        boundBusy(request.model, sumUp(prices, kinds, false), layout.pp, double(layout.microBatches(request.job)));
    if (bounded->busy > latest)
      return false;
    bounds.assign(entries.size(), EntryBound());
    std::array<ResidenceTerms, 2> &terms = bounded->residence;
    terms = {sumResidence(request, prices, false, full), sumResidence(request, prices, true, full)};
    FloorTerms floorTerms = floorTermsOf(prices);
    for (size_t i = 0; i < entries.size(); ++i)
      if (entries[i].schedule.shape.slices == slices) {
        bounds[i].pipeline = floorOf(floorTerms, entries[i].schedule, *entries[i].placement);
        bounds[i].floor = slack * bounds[i].pipeline.step(terms[bounds[i].pipeline.split], 0);
      }
  }
  if (bounded->busy > latest)
    return false;
  ParallelLayout asked = layout;
  for (size_t i = 0; i < entries.size(); ++i) {
    setChoice(asked, entries[i], false);
    if (bounds[i].floor <= cutoff(asked, decided(PlanKey::Recompute, PlanKey::Schedule, PlanKey::Vp)) &&
        entries[i].schedule.shape.slices == slices)
      return true;
  }
  return false;
}

bool GridExpander::Expansion::mayHold(const LeastState &least) const {
  ParallelLayout asked = layout;
  const ResidenceRoom room{double(layout.microBatches(request.job)), double(slices), double(layout.pp),
                           limit.value - least.memory};
  for (size_t i = 0; i < entries.size(); ++i) {
    const EntryBound &bound = bounded->entries[i];
    if (entries[i].schedule.shape.slices != slices)
      continue;
    setChoice(asked, entries[i], false);
    double latest = cutoff(asked, decided(PlanKey::Recompute, PlanKey::Schedule, PlanKey::Vp));
    if (bound.floor <= latest && mayTake(latest / slack - least.update, bounded->residence, bound.pipeline, room))
      return true;
  }
  return false;
}

FloorTerms GridExpander::Expansion::floorTermsOf(const LayerPrices &prices) const {
  return {request,
          *programs,
          messages,
          beside,
          prices,
          recompute,
          request.stack.stageSplit == StageSplit::Balanced && layout.stageLayers.empty()};
}

double GridExpander::Expansion::boundAnyState(size_t entry) {
  EntryBound &bound = bounded->entries[entry];
  if (bound.least < 0) {
    const ScheduleEntry &each = entries[entry];
    std::vector<ChunkCost> chunks =
        priceKept(bounded->prices, cutFor(layout.pp * each.schedule.shape.chunks), each.schedule.splitBackward);
    bound.least = boundPipeline(each, chunks);
    if (movesLayers(each))
      bound.least = std::min(bound.least, boundAnyCut(each, chunks));
  }
  return bound.least;
}

bool GridExpander::Expansion::collectChoices(StateGroup &group, bool ordersByMemory, bool probes) {
  bool full = recompute == Recompute::Full;
  constexpr DecidedKeys known = stateKeys | decided(PlanKey::Recompute);
  llvm::erase_if(group.states, [&](size_t state) { // what was found since may be faster than all of it
    if (states[state]->floor <= cutoff(states[state]->layout, known))
      return false;
    counts.prunedBusy += int64_t(entries.size());
    return true;
  });
  // How the state is kept changes the times of layers, not their bytes: most states need no prices of their own.
  llvm::erase_if(group.states, [&](size_t state) {
    if (boundMemory(*states[state], bounded->prices) <= limit.value)
      return false;
    counts.memory += int64_t(entries.size());
    found.sawMemory(states[state]->layout, gridKeys | known);
    return true;
  });
  std::vector<LeastState> room; // of those states
  llvm::erase_if(group.states, [&](size_t state) {
    StateEntry &entry = *states[state];
    LeastState least = leastState(entry.context, bounded->prices, kinds, entry.update);
    entry.update = least.update;
    if (offloadsActivations(entry.layout.offload) || mayHold(least)) {
      room.push_back(least);
      return false;
    }
    counts.prunedPipeline += int64_t(entries.size());
    return true;
  });
  if (group.states.empty())
    return false;
  const LayerPrices &prices = group.prices = priceLayers(states[group.states.front()]->context, *programs);
  LayerPrices least = full ? leastOfBoth(prices) : prices;
  double microBatches = double(layout.microBatches(request.job));
  double busy = boundBusy(request.model, sumUp(least, kinds, false), layout.pp, microBatches);
  for (size_t i = group.states.size(); i-- > 0;)
    if (busy > cutoff(states[group.states[i]]->layout, known)) {
      counts.prunedBusy += int64_t(entries.size());
      group.states.erase(group.states.begin() + i);
      room.erase(room.begin() + i);
    }
  const std::vector<size_t> &possible = group.states;
  if (possible.empty())
    return false;

  // What no schedule of its shape can beat in the room that a state leaves.
  std::array<ResidenceTerms, 2> residence{sumResidence(request, prices, false, full),
                                          sumResidence(request, prices, true, full)};
  FloorTerms floorTerms = floorTermsOf(prices);
  auto mayHold = [&](const ScheduleEntry &entry, double latest) {
    if (latest == infinity)
      return possible;
    PipelineFloor floor = floorOf(floorTerms, entry.schedule, *entry.placement);
    std::vector<size_t> result;
    for (auto [state, least] : llvm::zip(possible, room))
      if (offloadsActivations(states[state]->layout.offload) ||
          mayTake(latest / slack - least.update, residence, floor,
                  {microBatches, double(slices), double(layout.pp), limit.value - least.memory}))
        result.push_back(state);
    return result;
  };

  std::vector<Choice> &choices = group.choices;
  ParallelLayout asked = layout;
  for (size_t i = 0; i < entries.size(); ++i) {
    const ScheduleEntry &entry = entries[i];
    if (entry.schedule.shape.slices != slices || (probes && !entry.isProbe()))
      continue;
    if (llvm::all_of(possible, [&](size_t state) { return fitsKept[state * entries.size() + i] == Kept::Fits; })) {
      counts.needless += int64_t(possible.size());
      continue;
    }
    setChoice(asked, entry, false);
    double latest = cutoff(asked, decided(PlanKey::Recompute, PlanKey::Schedule, PlanKey::Vp));
    std::vector<size_t> holding;
    if (bounded->entries[i].floor <= latest)
      holding = mayHold(entry, latest);
    if (!holding.empty() && boundAnyState(i) > latest)
      holding.clear();
    counts.prunedPipeline += int64_t(possible.size() - holding.size());
    if (holding.empty())
      continue;
    llvm::ArrayRef<int64_t> cut = cutFor(layout.pp * entry.schedule.shape.chunks);
    std::vector<ChunkCost> chunks = priceKept(least, cut, entry.schedule.splitBackward);
    Choice choice{i,
                  cut,
                  boundPipeline(entry, chunks),
                  movesLayers(entry) ? boundAnyCut(entry, chunks) : infinity,
                  0,
                  std::move(holding)};
    if (std::min(choice.bound, choice.movedBound) > latest) {
      counts.prunedPipeline += int64_t(choice.states.size());
      continue;
    }
    choice.order = std::min(choice.bound, choice.movedBound);
    if (ordersByMemory && !offloadsActivations(states[possible.front()]->layout.offload)) {
      double inRoom = infinity;
      PipelineFloor floor = floorOf(floorTerms, entry.schedule, *entry.placement);
      for (const LeastState &state : room)
        inRoom = std::min(inRoom, state.update + leastStep(residence, floor,
                                                           {microBatches, double(slices), double(layout.pp),
                                                            limit.value - state.memory},
                                                           inRoom - state.update));
      choice.order = std::max(choice.order, inRoom);
    }
    choices.push_back(std::move(choice));
  }
  llvm::sort(choices,
             [](const Choice &a, const Choice &b) { return std::tie(a.order, a.entry) < std::tie(b.order, b.entry); });
  return !choices.empty();
}

bool GridExpander::Expansion::fitsEverythingKept(size_t index, const ScheduleEntry &entry,
                                                 const PipelineProgram &program) {
  Kept &known = fitsKept[index * entries.size() + size_t(&entry - entries.data())];
  if (known != Kept::Unknown)
    return known == Kept::Fits;
  known = Kept::Fails;
  StateEntry &state = *states[index];
  // A schedule that is made for its durations may take less time when some of them are longer.
  if (isFitted(entry) || offloadsActivations(state.layout.offload) ||
      !space.allows(PlanKey::Recompute, int64_t(Recompute::None)))
    return false;
  Recompute before = recompute;
  setRecompute(Recompute::None);
  setNumbers(state.layout, StageFit());
  setChoice(state.layout, entry, false);
  if (!request.refuse || request.refuse(state.layout).empty()) {
    setChoice(state.layout, entry, true);
    LayerPrices prices = priceLayers(state.context, *programs);
    StageFitter fitter(state.context, prices, program, expander.groupsOf(program), beside, entry.schedule.splitBackward,
                       limit);
    StageFit fit;
    if (fitter.fitFewest(cutFor(layout.pp * entry.schedule.shape.chunks), fit))
      known = Kept::Fits;
  }
  setRecompute(before);
  setChoice(state.layout, entry, false);
  return known == Kept::Fits;
}
