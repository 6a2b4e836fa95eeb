#include "lib/Planning/Grid/GridExpansion.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <algorithm>
#include <cmath>

using namespace mlir::ppc;

GridExpander::Expansion::Expansion(GridExpander &expander, const PlanSpace &space, const PlanGrid &grid,
                                   llvm::ArrayRef<float> floors, Bytes limit, SearchTargets &found,
                                   ExpansionCounts &counts)
    : expander(expander), request(expander.request), space(space), limit(limit), found(found), counts(counts),
      layout(space.layoutOf(grid)), entries(expander.schedulesOf(space, layout)), kinds(expander.kinds) {
  std::vector<StateChoice> all = space.states(layout);
  ParallelLayout asked = layout;
  PricingContext context(request.model, request.job, request.cluster, layout, request.stack);
  for (size_t i = 0; i < all.size(); ++i) {
    const double floor = floors.empty() ? 0 : double(floors[i]);
    all[i].setOf(asked);
    if (floor == infinity) {
      counts.memory += int64_t(entries.size());
      found.sawMemory(asked, gridKeys | stateKeys);
    } else if (!floors.empty() && floor > cutoff(asked, stateKeys)) {
      counts.prunedBusy += int64_t(entries.size());
    } else {
      states.push_back(std::make_unique<StateEntry>(context, all[i]));
      states.back()->floor = floor;
    }
  }
  fitsKept.assign(states.size() * entries.size(), Kept::Unknown);
}

void GridExpander::Expansion::run(int64_t firstSlices) {
  if (states.empty() || entries.empty())
    return;
  llvm::SmallVector<SlicedTerms, 4> all;
  for (int64_t next : {1, 2, 4, 8})
    if (llvm::any_of(entries, [&](const ScheduleEntry &entry) { return entry.schedule.shape.slices == next; }))
      all.emplace_back().slices = next;
  std::stable_partition(all.begin(), all.end(), [&](const SlicedTerms &terms) { return terms.slices == firstSlices; });
  // What is offloaded is mostly far slower: when all else is known, little of it is left.
  for (bool offloads : {false, true})
    if (llvm::any_of(states, [&](const auto &state) { return offloadsActivations(state->layout.offload) == offloads; }))
      for (SlicedTerms &terms : all)
        runSlices(terms, offloads, /*probes=*/false);
}

void GridExpander::Expansion::probe(int64_t sliceCount) {
  if (states.empty() || entries.empty())
    return;
  SlicedTerms terms{sliceCount, {}};
  runSlices(terms, /*offloads=*/false, /*probes=*/true);
}

void GridExpander::Expansion::runSlices(SlicedTerms &terms, bool offloads, bool probes) {
  slices = terms.slices;
  PricingContext context(request.model, request.job, request.cluster, layout, request.stack, slices);
  programs = expander.programsOf(context, slices);
  messages = priceMessages(context);
  beside = timeBesideMessages(context);
  // While there is nothing to prune by, what may be fastest comes first, whatever it recomputes.
  bool ordersAll = probes || cutoff(layout, 0) == infinity;
  std::vector<StateGroup> groups;
  for (Recompute next : space.recomputes()) {
    setRecompute(next);
    bounded = &terms.bounds[int(next)];
    // Parameters and gradients that are whole between steps leave the layers' times alone: one pipeline for all of
    // those. Prices of layers in arenas hold their state, by tensor.
    std::map<StateKey, std::vector<size_t>> alike; // where it matters
    for (size_t i = 0; i < states.size(); ++i) {
      const ParallelLayout &state = states[i]->layout;
      if (offloadsActivations(state.offload) != offloads)
        continue;
      bool matters = state.zero >= (request.stack.arena ? 1 : 3) || states[i]->context.reducesEveryMicroBatch();
      alike[matters ? stateKey(state) : StateKey()].push_back(i);
    }
    if (!boundEntries()) {
      for (auto &[key, group] : alike)
        counts.prunedBusy += int64_t(group.size() * entries.size());
      continue;
    }
    for (auto &[key, members] : alike) {
      StateGroup group{next, std::move(members), {}, {}};
      if (!collectChoices(group, ordersAll, probes))
        continue;
      if (ordersAll) {
        groups.push_back(std::move(group));
        continue;
      }
      for (const Choice &choice : group.choices)
        runChoice(choice, choice.states, group.prices);
    }
  }
  std::vector<std::pair<const StateGroup *, const Choice *>> order;
  for (const StateGroup &group : groups)
    for (const Choice &choice : group.choices)
      order.push_back({&group, &choice});
  llvm::stable_sort(order, [](const auto &a, const auto &b) { return a.second->order < b.second->order; });
  int64_t before = counts.priced;
  for (auto [group, choice] : order) {
    setRecompute(group->recompute);
    runChoice(*choice, choice->states, group->prices);
    if (probes && counts.priced > before)
      break;
  }
}

void GridExpander::Expansion::setRecompute(Recompute next) {
  recompute = layout.recompute = next;
  for (auto &state : states)
    state->layout.recompute = next;
}

llvm::ArrayRef<int64_t> GridExpander::Expansion::cutFor(int64_t chunks) {
  return expander.cutFor(programs, layout, chunks);
}

const PipelineProgram *GridExpander::Expansion::programFor(const ScheduleEntry &entry,
                                                           llvm::ArrayRef<ChunkCost> chunks) const {
  StepSchedule schedule = entry.schedule;
  fitSchedule(request.stack, chunks, messages, schedule);
  return expander.schedules.program(*schedule.kind, schedule.shape);
}

/// The schedule has one stage per device, so layers can move between devices one at a time.
bool GridExpander::Expansion::movesLayers(const ScheduleEntry &entry) const {
  return !isFitted(entry) && entry.schedule.shape.chunks == 1 && entry.schedule.shape.devices > 1 &&
         entry.placement->replicas == 1 && request.stack.stageSplit == StageSplit::Balanced &&
         layout.stageLayers.empty() && (recompute != Recompute::Full || space.choosesByStage());
}

void GridExpander::Expansion::setNumbers(ParallelLayout &changed, const StageFit &fit) const {
  changed.recomputedLayers = -1;
  changed.stageRecomputedLayers.clear();
  if (recompute != Recompute::Full)
    return;
  int64_t most = 0;
  bool all = true, uniform = true;
  std::vector<ChunkLayers> chunks = listChunks(fit.cut);
  for (size_t i = 0; i < chunks.size(); ++i) {
    all &= fit.recomputed[i] == chunks[i].recomputable(request.model);
    most = std::max(most, fit.recomputed[i]);
  }
  for (size_t i = 0; i < chunks.size(); ++i)
    uniform &= fit.recomputed[i] == std::min(most, chunks[i].recomputable(request.model));
  if (all)
    return;
  if (uniform)
    changed.recomputedLayers = most;
  else
    changed.stageRecomputedLayers.assign(fit.recomputed.begin(), fit.recomputed.end());
}

/// Some layer takes less time in some direction when it is recomputed.
static bool recomputingSparesTime(const LayerPrices &prices) {
  for (int kind = 0; kind < layerKinds; ++kind) {
    const LayerPrice &kept = prices(LayerKind(kind), false), &again = prices(LayerKind(kind), true);
    if (prices.present[kind] && isLayer(kind) &&
        (again.forward < kept.forward || again.backward < kept.backward || again.weightGradient < kept.weightGradient))
      return true;
  }
  return false;
}

void GridExpander::Expansion::fitUniformly(size_t index, StageFitter &fitter, llvm::ArrayRef<int64_t> cut, Fits &fits,
                                           bool &any) {
  const ParallelLayout &state = states[index]->layout;
  std::vector<ChunkLayers> chunks = listChunks(cut);
  for (int64_t number :
       space.recomputedLayers(*std::max_element(cut.begin(), cut.end()) + request.model.predictionLayers)) {
    std::vector<int64_t> recomputed;
    for (const ChunkLayers &chunk : chunks)
      recomputed.push_back(number < 0 ? chunk.recomputable(request.model)
                                      : std::min(number, chunk.recomputable(request.model)));
    StageFit fit;
    if (!fitter.fitExactly(cut, recomputed, fit))
      continue;
    any = true;
    Timed &timed = fits[{fit.cut, fit.recomputed}];
    timed.states.push_back(index);
    timed.fit = std::move(fit);
    if (!offloadsActivations(state.offload))
      return;
  }
}

bool GridExpander::Expansion::fitEvenCut(size_t index, const Choice &choice, StageFitter &fitter, Fits &fits,
                                         StageFit &fit) {
  auto add = [&](const StageFit &more) {
    Timed &timed = fits[{more.cut, more.recomputed}];
    if (!timed.states.empty() && timed.states.back() == index)
      return;
    timed.states.push_back(index);
    if (timed.fit.cut.empty())
      timed.fit = more;
  };
  if (recompute != Recompute::Full) {
    if (!fitter.fitFewest(choice.cut, fit))
      return false;
    add(fit);
    return true;
  }
  if (llvm::ArrayRef<int64_t> given = space.constraints.stageRecomputedLayers; !given.empty()) {
    if (given.size() != choice.cut.size())
      return false;
    std::vector<ChunkLayers> chunks = listChunks(choice.cut);
    for (size_t i = 0; i < given.size(); ++i)
      if (given[i] > chunks[i].recomputable(request.model))
        return false;
    if (!fitter.fitExactly(choice.cut, given, fit))
      return false;
    add(fit);
    return true;
  }
  bool any = false;
  if (space.choosesByStage()) {
    if (!fitter.fitFewest(choice.cut, fit))
      return false;
    ParallelLayout written;
    written.recompute = recompute;
    setNumbers(written, fit);
    bool nothing = llvm::all_of(fit.recomputed, [](int64_t number) { return number == 0; });
    if (!nothing && space.allows(PlanKey::RecomputedLayers, planValue(written, PlanKey::RecomputedLayers))) {
      add(fit);
      any = true;
      // Whatever time more recomputation takes, unless it spares the host link some traffic.
      if (offloadsActivations(states[index]->layout.offload) && recomputingSparesTime(fitter.layerPrices())) {
        StageFit more = fit;
        int64_t largest = *std::max_element(choice.cut.begin(), choice.cut.end()) + request.model.predictionLayers;
        for (int64_t rounds = 1; rounds <= largest; ++rounds)
          if (fitter.raise(rounds, more))
            add(more);
      }
      return true;
    }
  }
  fitUniformly(index, fitter, choice.cut, fits, any);
  return any;
}

/// The state that keeps least on every device: cut most, over most ranks, offloaded most. Null: no single one does.
size_t GridExpander::Expansion::leanestOf(llvm::ArrayRef<size_t> group) const {
  auto rankOf = [&](size_t index) {
    const ParallelLayout &state = states[index]->layout;
    return std::array<int64_t, 5>{state.zero, planValue(state, PlanKey::ShardGroup), state.gradientRanks(),
                                  state.parameterRanks(), state.offload != Offload::None};
  };
  size_t leanest = group.front();
  for (size_t index : group)
    leanest = std::max(leanest, index, [&](size_t a, size_t b) { return rankOf(a) < rankOf(b); });
  std::array<int64_t, 5> least = rankOf(leanest);
  bool dominates = llvm::all_of(group, [&](size_t index) {
    std::array<int64_t, 5> other = rankOf(index);
    return other[0] <= least[0] && (other[0] == 0 || other[1] <= least[1]) && other[2] <= least[2] &&
           other[3] <= least[3] && other[4] <= least[4];
  });
  return dominates ? leanest : states.size();
}

/// No device keeps more than the one before it.
static bool descends(const PipelineProgram &loads) {
  auto loadOf = [&](size_t device) { return loads.moments[device].front().front(); };
  for (size_t device = 0; device < loads.moments.size(); ++device) {
    if (loads.moments[device].size() != 1 || loads.moments[device].front().size() != 1)
      return false;
    if (device &&
        (loadOf(device).forward > loadOf(device - 1).forward || loadOf(device).weight > loadOf(device - 1).weight))
      return false;
  }
  return true;
}

void GridExpander::Expansion::runChoice(const Choice &choice, llvm::ArrayRef<size_t> group, const LayerPrices &prices) {
  const ScheduleEntry &entry = entries[choice.entry];
  if (isFitted(entry))
    return runFitted(choice, group, prices);
  bool full = recompute == Recompute::Full;
  const PipelineProgram *program = nullptr;
  auto fitterOf = [&](StateEntry &state) {
    setChoice(state.layout, entry, true);
    return StageFitter(state.context, prices, *program, expander.groupsOf(*program), beside,
                       entry.schedule.splitBackward, limit);
  };
  // What is possible at all, found out with the leanest state: its stages recompute least.
  ParallelLayout asked = layout;
  setChoice(asked, entry, false);
  double evenBound = choice.bound, movedBound = choice.movedBound,
         latest = cutoff(asked, decided(PlanKey::Recompute, PlanKey::Schedule, PlanKey::Vp));
  // `loadsOf`: what devices keep at least, of any cut or of the choice's.
  auto boundByLeanest = [&](size_t index, llvm::function_ref<const PipelineProgram &(bool)> loadsOf) {
    StateEntry &state = *states[index];
    if (offloadsActivations(state.layout.offload) || (full && !space.choosesByStage()))
      return;
    setChoice(state.layout, entry, true);
    auto fitterOf = [&](const PipelineProgram &loads) {
      StageFitter fitter(state.context, prices, loads, expander.groupsOf(loads), beside, entry.schedule.splitBackward,
                         limit);
      fitter.ignoresHost = true; // others may not offload
      return fitter;
    };
    StageFit fit;
    double longest = latest / (double(entry.schedule.shape.microBatches) * slack);
    if (evenBound <= latest)
      switch (fitterOf(loadsOf(false)).fitWithin(choice.cut, longest, fit)) {
      case StageFitter::FitWithin::Memory:
        evenBound = infinity;
        break;
      case StageFitter::FitWithin::Time:
        evenBound = std::nextafter(latest, infinity);
        break;
      case StageFitter::FitWithin::Fits:
        evenBound = std::max(evenBound, boundPipeline(entry, fit.chunks));
        break;
      }
    if (movedBound > latest || latest == infinity)
      return;
    const PipelineProgram &loads = loadsOf(true);
    if (!fitterOf(loads).holdsWithin(choice.cut, longest, descends(loads)))
      movedBound = infinity;
  };
  size_t leanest = leanestOf(group);
  bool hasLeanest = leanest < states.size();
  if (hasLeanest && latest < infinity &&
      (program = expander.schedules.knownLoads(*entry.schedule.kind, entry.schedule.shape)))
    boundByLeanest(leanest, [&](bool) -> const PipelineProgram & { return *program; });
  else if (hasLeanest && latest < infinity)
    boundByLeanest(leanest, [&](bool anyCut) -> const PipelineProgram & {
      return leastLoads(entry, choice.cut, prices, latest, anyCut);
    });
  if (hasLeanest && latest < infinity && !program && std::min(evenBound, movedBound) <= latest)
    if (const PipelineProgram *some = expander.schedules.someLoads(*entry.schedule.kind, entry.schedule.shape)) {
      PipelineProgram &least = expander.loads[entry.placement][0];
      leastLoads(entry, choice.cut, prices, latest, /*anyCut=*/false);
      for (size_t device = 0; device < least.moments.size(); ++device)
        if (!some->moments[device].empty())
          least.moments[device] = some->moments[device];
      boundByLeanest(leanest, [&](bool anyCut) -> const PipelineProgram & {
        return anyCut ? leastLoads(entry, choice.cut, prices, latest, true) : least;
      });
    }

  Fits even;
  std::vector<size_t> bound; // states that even stages do not fit, or only with layers recomputed
  for (size_t index : group) {
    StateEntry &state = *states[index];
    Kept &kept = fitsKept[index * entries.size() + choice.entry];
    if (recompute != Recompute::None && kept == Kept::Fits) {
      ++counts.needless;
      continue;
    }
    setChoice(state.layout, entry, false);
    double own = cutoff(state.layout, allKeys);
    if (std::min(evenBound, movedBound) > own) {
      ++(evenBound == infinity ? counts.memory : counts.prunedPipeline);
      if (evenBound == infinity)
        found.sawMemory(state.layout, allKeys);
      continue;
    }
    setNumbers(state.layout, StageFit());
    if (request.refuse && !request.refuse(state.layout).empty()) {
      ++counts.refused;
      found.sawRefusal(state.layout, allKeys);
      continue;
    }
    if (!program) {
      if (!(program = expander.schedules.loads(*entry.schedule.kind, entry.schedule.shape)))
        return;
      if (hasLeanest && group.size() > 1)
        boundByLeanest(leanest, [&](bool) -> const PipelineProgram & { return *program; });
    }
    StageFitter fitter = fitterOf(state);
    StageFit fit;
    bool fitsEvenly = evenBound <= own && fitEvenCut(index, choice, fitter, even, fit);
    if (recompute == Recompute::None && evenBound <= own && !offloadsActivations(state.layout.offload))
      kept = fitsEvenly ? Kept::Fits : Kept::Fails;
    if (movedBound < infinity && (!fitsEvenly || full))
      bound.push_back(index);
    else if (!fitsEvenly && evenBound > own && evenBound < infinity)
      ++counts.prunedPipeline;
    else if (!fitsEvenly)
      ++counts.memory, found.sawMemory(state.layout, allKeys);
  }
  if (!program)
    return;
  for (auto &[key, timed] : even)
    timed.program = program;
  timeFits(choice, even);

  Fits moved;
  for (size_t index : bound) {
    StateEntry &state = *states[index];
    setChoice(state.layout, entry, false);
    if (movedBound > cutoff(state.layout, allKeys)) {
      ++counts.prunedPipeline;
      continue;
    }
    StageFitter fitter = fitterOf(state);
    StageFit fit;
    if (!fitter.moveLayers(choice.cut, fit)) {
      ++counts.memory, found.sawMemory(state.layout, allKeys);
      continue;
    }
    ++counts.moved;
    ParallelLayout written;
    written.recompute = recompute;
    setNumbers(written, fit);
    bool nothing = llvm::all_of(fit.recomputed, [](int64_t number) { return number == 0; });
    if (full && (nothing || !space.allows(PlanKey::RecomputedLayers, planValue(written, PlanKey::RecomputedLayers))))
      continue;
    Timed &timed = moved[{fit.cut, fit.recomputed}];
    timed.states.push_back(index);
    timed.fit = std::move(fit);
  }
  for (auto &[key, timed] : moved)
    timed.program = program;
  timeFits(choice, moved);
}

/// With one number for all stages, or those that are given: a schedule of its own each, so more of them may take less
/// time.
void GridExpander::Expansion::runFitted(const Choice &choice, llvm::ArrayRef<size_t> group, const LayerPrices &prices) {
  const ScheduleEntry &entry = entries[choice.entry];
  std::vector<ChunkLayers> chunks = listChunks(choice.cut);
  std::vector<std::vector<int64_t>> numbers;
  if (recompute != Recompute::Full)
    numbers.push_back(std::vector<int64_t>(chunks.size(), 0));
  else if (llvm::ArrayRef<int64_t> given = space.constraints.stageRecomputedLayers; !given.empty())
    numbers.push_back(given);
  else
    for (int64_t number : space.recomputedLayers(*std::max_element(choice.cut.begin(), choice.cut.end()) +
                                                 request.model.predictionLayers))
      numbers.push_back(std::vector<int64_t>(chunks.size(), number < 0 ? std::numeric_limits<int64_t>::max() : number));
  Fits fits;
  for (std::vector<int64_t> &list : numbers) {
    StageFit priced;
    priced.cut = choice.cut;
    for (size_t i = 0; i < chunks.size(); ++i) {
      list[i] = std::min(list[i], chunks[i].recomputable(request.model));
      priced.chunks.push_back(
          priceChunk(request.model, prices, chunks[i], list[i], beside, entry.schedule.splitBackward));
    }
    priced.recomputed = list;
    Timed timed{std::move(priced), {}, nullptr};
    for (size_t index : group) {
      StateEntry &state = *states[index];
      setChoice(state.layout, entry, false);
      setNumbers(state.layout, timed.fit);
      if (choice.bound > cutoff(state.layout, allKeys)) {
        ++counts.prunedPipeline;
        continue;
      }
      if (request.refuse && !request.refuse(state.layout).empty()) {
        ++counts.refused;
        found.sawRefusal(state.layout, allKeys);
        continue;
      }
      if (!timed.program && !(timed.program = programFor(entry, timed.fit.chunks)))
        break;
      setChoice(state.layout, entry, true);
      StageFitter fitter(state.context, prices, *timed.program, expander.groupsOf(*timed.program), beside,
                         entry.schedule.splitBackward, limit);
      StageFit fit;
      if (fitter.fitExactly(choice.cut, list, fit))
        timed.states.push_back(index);
      else
        ++counts.memory, found.sawMemory(state.layout, allKeys);
    }
    if (!timed.states.empty())
      fits.try_emplace({timed.fit.cut, timed.fit.recomputed}, std::move(timed));
  }
  timeFits(choice, fits);
}

void GridExpander::Expansion::timeFits(const Choice &choice, const Fits &fits) {
  const ScheduleEntry &entry = entries[choice.entry];
  for (const auto &[key, timed] : fits) {
    llvm::ArrayRef<ChunkCost> chunks = timed.fit.chunks;
    double bound = boundPipeline(entry, chunks);
    std::vector<size_t> left;
    for (size_t index : timed.states) {
      setChoice(states[index]->layout, entry, false);
      if (bound > cutoff(states[index]->layout, allKeys))
        ++counts.prunedPipeline;
      else if (recompute != Recompute::None && fitsEverythingKept(index, entry, *timed.program))
        ++counts.needless;
      else
        left.push_back(index);
    }
    if (left.empty())
      continue;
    const PipelineProgram *program = timed.program;
    if (program->actions.empty() && !(program = expander.schedules.program(*entry.schedule.kind, entry.schedule.shape)))
      return;
    llvm::SmallVector<StageDurations, 64> durations;
    for (const ChunkCost &chunk : chunks)
      durations.push_back(chunk.durations);
    if (llvm::Error error = expander.timer.time(*program, durations, messages, expander.time)) {
      llvm::consumeError(std::move(error));
      continue;
    }
    ++counts.timed;
    for (size_t index : left) {
      StateEntry &state = *states[index];
      setChoice(state.layout, entry, false);
      double latest = cutoff(state.layout, allKeys);
      if (pipelineTime(request.stack, expander.time).value > latest) {
        ++counts.prunedTimed;
        continue;
      }
      setChoice(state.layout, entry, true);
      StepCost cost = assembleStep(state.context, chunks, *program, expander.time);
      ++counts.priced;
      if (cost.stepTime.value > latest)
        continue;
      Candidate candidate{cost.stepTime.value, cost.peakMemory.value, state.layout};
      setChoice(candidate.layout, entry, false);
      setNumbers(candidate.layout, timed.fit);
      if (!llvm::equal(timed.fit.cut, choice.cut))
        candidate.layout.stageLayers.assign(timed.fit.cut.begin(), timed.fit.cut.end());
      found.add(candidate);
    }
  }
}
