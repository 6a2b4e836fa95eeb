#include "GridExpander.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

using namespace mlir::ppc;

/// Bounds are sums in another order than what they bound.
static constexpr double slack = 1 - 1e-9;
static constexpr double infinity = std::numeric_limits<double>::infinity();

void ExpansionCounts::add(const ExpansionCounts &other) {
  prunedBusy += other.prunedBusy;
  prunedPipeline += other.prunedPipeline;
  prunedTimed += other.prunedTimed;
  memory += other.memory;
  refused += other.refused;
  needless += other.needless;
  timed += other.timed;
  priced += other.priced;
}

static double busy(const LayerPrice &price) { return (price.forward + price.backward + price.weightGradient).value; }

static std::array<int64_t, layerKinds> countKinds(const ModelShape &model) {
  std::array<int64_t, layerKinds> counts{};
  ++counts[int(LayerKind::Embedding)];
  ++counts[int(LayerKind::Head)];
  for (int64_t layer = 0; layer < model.layers; ++layer)
    ++counts[int(layerKind(model, layer))];
  return counts;
}

static bool isLayer(int kind) { return kind != int(LayerKind::Embedding) && kind != int(LayerKind::Head); }

/// Time of one micro-batch on all stages, layers kept or wholly recomputed, and of the shortest layer.
static GridExpander::KeyBound sumUp(const LayerPrices &prices, const std::array<int64_t, layerKinds> &counts, bool recomputed) {
  GridExpander::KeyBound sum;
  sum.leastLayer = infinity;
  for (int kind = 0; kind < layerKinds; ++kind) {
    if (!counts[kind])
      continue;
    double once = busy(prices(LayerKind(kind), recomputed && isLayer(kind)));
    sum.total += once * double(counts[kind]);
    if (isLayer(kind))
      sum.leastLayer = std::min(sum.leastLayer, once);
  }
  return sum;
}

GridExpander::KeyBound GridExpander::boundKey(const PlanSpace &space, const PlanGrid &grid) {
  ParallelLayout layout = space.layoutOf(grid);
  std::array<int64_t, layerKinds> counts = countKinds(request.model);
  KeyBound best{infinity, infinity};
  // What depends on the number of micro-batches grows or shrinks with it: the least is at one end.
  int64_t most = std::max<int64_t>(1, request.job.globalBatch / layout.microBatch);
  bool depends = !request.stack.fusedGradientAccumulation || elementBytes(layout.precision) < 2;
  for (int64_t dp : depends ? std::vector<int64_t>{1, most} : std::vector<int64_t>{layout.dp}) {
    layout.dp = dp;
    PricingContext context(request.model, request.job, request.cluster, layout, request.stack);
    KeyBound sum = sumUp(priceLayers(context, buildPrograms(context)), counts, false);
    best.total = std::min(best.total, sum.total);
    best.leastLayer = std::min(best.leastLayer, sum.leastLayer);
  }
  return best;
}

/// Some device has at least its share of the work, and of whole layers.
static double boundBusy(const ModelShape &model, const GridExpander::KeyBound &sum, int64_t pp, double microBatches) {
  double layers = std::ceil(double(model.layers) / double(pp));
  return slack * microBatches * std::max(sum.total / double(pp), layers * sum.leastLayer);
}

double GridExpander::boundGrid(const PlanRequest &request, const KeyBound &key, const PlanGrid &grid, int64_t microBatch) {
  return boundBusy(request.model, key, grid.pp, double(request.job.globalBatch / (grid.dp * microBatch)));
}

llvm::ArrayRef<GridExpander::ScheduleEntry> GridExpander::schedulesOf(const PlanSpace &space, const ParallelLayout &layout) {
  if (cachedSpace != space.id) {
    cachedSpace = space.id;
    cachedSchedules.clear();
  }
  auto [found, isNew] = cachedSchedules.try_emplace({layout.pp, layout.microBatches(request.job)});
  if (isNew)
    for (const ScheduleChoice &choice : space.schedules(layout)) {
      ParallelLayout asked = layout;
      asked.schedule = choice.schedule.str();
      asked.vp = choice.vp;
      StepSchedule schedule = llvm::cantFail(resolveSchedule(request.job, asked));
      found->second.push_back({choice, schedule, schedules.placement(*schedule.kind, schedule.shape)});
    }
  return found->second;
}

/// How state is kept, with what prices it. The layout's schedule and recomputation change as choices are gone through.
struct GridExpander::StateEntry {
  StateEntry(const PlanRequest &request, ParallelLayout base, const StateChoice &state)
      : layout(std::move(base)), context(request.model, request.job, request.cluster, layout, request.stack) {
    layout.zero = state.zero;
    layout.shardGroup = state.shardGroup;
    layout.offload = state.offload;
  }
  ParallelLayout layout;
  PricingContext context; // of that layout
};

/// One grid's choices.
class GridExpander::Expansion {
public:
  Expansion(GridExpander &expander, const PlanSpace &space, const PlanGrid &grid, Bytes limit, CandidateList &found,
            ExpansionCounts &counts)
      : expander(expander), request(expander.request), space(space), limit(limit), found(found), counts(counts),
        layout(space.layoutOf(grid)), entries(expander.schedulesOf(space, layout)), kinds(countKinds(request.model)) {
    for (const StateChoice &state : space.states(layout))
      states.push_back(std::make_unique<StateEntry>(request, layout, state));
    fitsKept.assign(states.size() * entries.size(), false);
  }

  void run();
  double boundMemory();
  void findLeastMemory(Candidate &best);

private:
  /// What one choice of schedule looks like under one recomputation and one kind of state.
  struct Choice {
    size_t entry;
    llvm::ArrayRef<int64_t> cut;
    double bound;
  };
  /// Programs for the slices, and the recomputation that keeps least.
  LayerPrices preparePrices(int64_t slices);
  void runSlices(int64_t slices);
  /// Bounds each schedule with the state that costs layers least. False: none can beat the cutoff.
  bool boundEntries();
  void runGroup(llvm::ArrayRef<size_t> group);
  void runChoice(const Choice &choice, llvm::ArrayRef<size_t> group, const LayerPrices &prices);
  void setChoice(ParallelLayout &changed, const ScheduleEntry &entry, int64_t number, bool effective) const {
    changed.schedule = entry.choice.schedule.str();
    changed.vp = effective ? entry.schedule.shape.chunks : entry.choice.vp;
    changed.recompute = recompute;
    changed.recomputedLayers = number;
  }
  llvm::ArrayRef<int64_t> cutFor(int64_t chunks);
  /// The schedule, fitted to the chunks. Null: cannot be made.
  const PipelineProgram *programFor(const ScheduleEntry &entry, llvm::ArrayRef<ChunkCost> chunks) const;
  double boundMemory(StateEntry &state, const LayerPrices &prices);
  double boundPipeline(const ScheduleEntry &entry, llvm::ArrayRef<ChunkCost> chunks) const;
  bool fits(const PricingContext &context, llvm::ArrayRef<ChunkCost> chunks, const PipelineProgram &program) const;

  GridExpander &expander;
  const PlanRequest &request;
  const PlanSpace &space;
  Bytes limit;
  CandidateList &found;
  ExpansionCounts &counts;
  ParallelLayout layout;
  llvm::ArrayRef<ScheduleEntry> entries;
  std::array<int64_t, layerKinds> kinds;
  std::vector<std::unique_ptr<StateEntry>> states;
  std::vector<bool> fitsKept; // state x entry: fits with everything kept, so nothing need be recomputed

  LayerPrograms programs; // of schedules that cut a sequence into so many slices
  int64_t slices = 1;
  PipelineMessages messages;
  Recompute recompute = Recompute::None;
  std::map<int64_t, std::vector<int64_t>> cuts; // of `recompute`; by number of chunks
  std::vector<double> entryBounds;              // of `recompute`, whatever the state
};

void GridExpander::Expansion::run() {
  if (states.empty() || entries.empty())
    return;
  for (int64_t next : {1, 2, 4, 8})
    if (llvm::any_of(entries, [&](const ScheduleEntry &entry) { return entry.schedule.shape.slices == next; }))
      runSlices(next);
}

void GridExpander::Expansion::runSlices(int64_t sliceCount) {
  slices = sliceCount;
  PricingContext context(request.model, request.job, request.cluster, layout, request.stack, slices);
  programs = buildPrograms(context);
  messages = priceMessages(context);
  for (Recompute next : space.recomputes()) {
    recompute = layout.recompute = next;
    cuts.clear();
    if (!boundEntries()) {
      counts.prunedBusy += int64_t(states.size() * entries.size());
      continue;
    }
    // Parameters and gradients that are whole between steps leave the layers' times alone: one pipeline for all of those.
    std::map<std::tuple<int64_t, int64_t, bool>, std::vector<size_t>> groups; // zero, shard group where they matter; offload
    for (size_t i = 0; i < states.size(); ++i) {
      ParallelLayout &state = states[i]->layout;
      state.recompute = recompute;
      bool matters = state.zero >= 3 || states[i]->context.reducesEveryMicroBatch();
      groups[{matters ? state.zero : 0, matters ? state.shardGroup : 0, state.offload == Offload::Activations}].push_back(i);
    }
    for (auto &[key, group] : groups)
      runGroup(group);
  }
}

llvm::ArrayRef<int64_t> GridExpander::Expansion::cutFor(int64_t chunks) {
  auto [found, isNew] = cuts.try_emplace(chunks);
  if (isNew) {
    ParallelLayout asked = layout;
    asked.vp = chunks / asked.pp;
    found->second = cutLayers(PricingContext(request.model, request.job, request.cluster, asked, request.stack), programs);
  }
  return found->second;
}

const PipelineProgram *GridExpander::Expansion::programFor(const ScheduleEntry &entry, llvm::ArrayRef<ChunkCost> chunks) const {
  StepSchedule schedule = entry.schedule;
  fitSchedule(request.stack, chunks, messages, schedule);
  return expander.schedules.program(*schedule.kind, schedule.shape);
}

/// Some device holds its share of the parameters and of one micro-batch.
double GridExpander::Expansion::boundMemory(StateEntry &state, const LayerPrices &prices) {
  bool full = recompute == Recompute::Full;
  ChunkCost share;
  share.working = Bytes(infinity);
  for (int kind = 0; kind < layerKinds; ++kind) {
    if (!kinds[kind])
      continue;
    bool again = full && isLayer(kind);
    const LayerPrice &price = prices(LayerKind(kind), again);
    double part = double(kinds[kind]) / double(layout.pp);
    share.parameters += part * price.parameters;
    share.expertParameters += part * price.expertParameters;
    if (state.layout.offload != Offload::Activations)
      share.kept += part * price.kept;
    share.working = std::min({share.working, price.working, prices(LayerKind(kind), false).working});
  }
  static const PipelineProgram program = [] {
    PipelineProgram one;
    one.chunks = {{PipelineChunk{}}};
    one.moments = {{PipelineProgram::Moment{ChunkLoad{1, 0}}}};
    return one;
  }();
  MemoryBreakdown memory = deviceMemory(state.context, share, program, 0);
  memory.communication = Bytes(0); // no sum of shares
  return slack * memory.total().value;
}

/// A device waits for the forwards before its first stage, then does all its work, and the backwards before that stage
/// follow its last one. Where no device waits for the others between steps, what is before and behind overlaps other steps.
double GridExpander::Expansion::boundPipeline(const ScheduleEntry &entry, llvm::ArrayRef<ChunkCost> chunks) const {
  const PipelineShape &shape = entry.schedule.shape;
  double microBatches = double(shape.microBatches), share = 1 / double(shape.slices), sum = 0, through = 0;
  // Backwards may pair with forwards and save what they overlap.
  auto chainOf = [](const StageDurations &durations) { return (durations.forward + durations.pairedBackward()).value; };
  for (const ChunkCost &chunk : chunks) {
    through += chainOf(chunk.durations);
    sum += chainOf(chunk.durations) + chunk.durations.pairedWeightGradient().value;
  }
  double bound = std::max(sum * microBatches / double(shape.devices), share * through);
  if (!entry.placement)
    return slack * bound;
  double aside = request.stack.validatesUpdateAfterwards ? 0 : 1;
  llvm::ArrayRef<int64_t> deviceOf = entry.placement->deviceOf;
  llvm::SmallVector<double, 64> fill(chunks.size() + 1, 0), drain(chunks.size() + 1, 0);
  for (size_t stage = 0; stage + 1 < chunks.size(); ++stage) {
    bool hop = deviceOf[stage] != deviceOf[stage + 1];
    fill[stage + 1] = fill[stage] + share * (chunks[stage].durations.forward.value + (hop ? messages.forward.value : 0));
    drain[stage + 1] = drain[stage] + share * (chunks[stage].durations.pairedBackward().value + (hop ? messages.backward.value : 0));
  }
  for (llvm::ArrayRef<int64_t> stages : entry.placement->stages) {
    double chain = 0, weights = 0;
    for (int64_t stage : stages) {
      chain += chainOf(chunks[stage].durations);
      weights += chunks[stage].durations.pairedWeightGradient().value;
    }
    double first = aside * fill[stages.front()], last = aside * drain[stages.front()];
    // Weight gradients may wait until the backwards have left.
    bound = std::max({bound, first + microBatches * (chain + weights), first + last + microBatches * chain});
  }
  return slack * bound;
}

bool GridExpander::Expansion::fits(const PricingContext &context, llvm::ArrayRef<ChunkCost> chunks,
                                   const PipelineProgram &program) const {
  for (size_t device = 0; device < program.chunks.size(); ++device) {
    MemoryBreakdown memory = deviceMemory(context, chunks, program, int64_t(device));
    if (memory.total() > limit || !fitsHost(context.cluster, memory))
      return false;
  }
  return true;
}

/// With [0] the lesser of kept and recomputed: recomputation is slower, unless it spares a slow host link its traffic.
static LayerPrices leastOfBoth(LayerPrices prices) {
  for (std::array<LayerPrice, 2> &price : prices.prices) {
    price[0].forward = std::min(price[0].forward, price[1].forward);
    price[0].backward = std::min(price[0].backward, price[1].backward);
    price[0].weightGradient = std::min(price[0].weightGradient, price[1].weightGradient);
  }
  return prices;
}

bool GridExpander::Expansion::boundEntries() {
  bool full = recompute == Recompute::Full;
  ParallelLayout asked = layout; // whole state, nothing offloaded
  PricingContext context(request.model, request.job, request.cluster, asked, request.stack, slices);
  LayerPrices prices = priceLayers(context, programs);
  if (full)
    prices = leastOfBoth(prices);
  double microBatches = double(layout.microBatches(request.job));
  if (boundBusy(request.model, sumUp(prices, kinds, false), layout.pp, microBatches) > found.cutoff())
    return false;
  entryBounds.assign(entries.size(), infinity);
  double best = infinity;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].schedule.shape.slices != slices)
      continue;
    setChoice(asked, entries[i], full ? 0 : -1, true);
    llvm::ArrayRef<int64_t> cut = cutFor(layout.pp * entries[i].schedule.shape.chunks);
    entryBounds[i] = boundPipeline(entries[i], priceChunks(context, prices, cut, entries[i].schedule.splitBackward));
    best = std::min(best, entryBounds[i]);
  }
  return best <= found.cutoff();
}

void GridExpander::Expansion::runGroup(llvm::ArrayRef<size_t> group) {
  bool full = recompute == Recompute::Full;
  LayerPrices prices = priceLayers(states[group.front()]->context, programs), least = full ? leastOfBoth(prices) : prices;
  double microBatches = double(layout.microBatches(request.job));
  if (boundBusy(request.model, sumUp(least, kinds, false), layout.pp, microBatches) > found.cutoff()) {
    counts.prunedBusy += int64_t(group.size() * entries.size());
    return;
  }
  std::vector<size_t> possible;
  for (size_t state : group)
    if (boundMemory(*states[state], prices) > limit.value)
      counts.memory += int64_t(entries.size());
    else
      possible.push_back(state);
  if (possible.empty())
    return;

  std::vector<Choice> choices;
  ParallelLayout asked = layout;
  PricingContext context(request.model, request.job, request.cluster, asked, request.stack);
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].schedule.shape.slices != slices)
      continue;
    if (llvm::all_of(possible, [&](size_t state) { return fitsKept[state * entries.size() + i]; })) {
      counts.needless += int64_t(possible.size());
      continue;
    }
    if (entryBounds[i] > found.cutoff()) {
      counts.prunedPipeline += int64_t(possible.size());
      continue;
    }
    const ScheduleEntry &entry = entries[i];
    setChoice(asked, entry, full ? 0 : -1, true);
    llvm::ArrayRef<int64_t> cut = cutFor(layout.pp * entry.schedule.shape.chunks);
    double bound = boundPipeline(entry, priceChunks(context, least, cut, entry.schedule.splitBackward));
    if (bound > found.cutoff())
      counts.prunedPipeline += int64_t(possible.size());
    else
      choices.push_back({i, cut, bound});
  }
  llvm::sort(choices, [](const Choice &a, const Choice &b) { return std::tie(a.bound, a.entry) < std::tie(b.bound, b.entry); });
  for (const Choice &choice : choices)
    runChoice(choice, possible, prices);
}

void GridExpander::Expansion::runChoice(const Choice &choice, llvm::ArrayRef<size_t> group, const LayerPrices &prices) {
  if (choice.bound > found.cutoff()) {
    counts.prunedPipeline += int64_t(group.size());
    return;
  }
  const ScheduleEntry &entry = entries[choice.entry];
  bool full = recompute == Recompute::Full;
  int64_t largest = *std::max_element(choice.cut.begin(), choice.cut.end());
  std::vector<int64_t> numbers = full ? space.recomputedLayers(largest) : std::vector<int64_t>{-1};

  // Chunks by position in `numbers`, priced when asked for.
  ParallelLayout asked = layout;
  PricingContext plain(request.model, request.job, request.cluster, asked, request.stack);
  std::map<size_t, std::vector<ChunkCost>> byPosition;
  auto chunksOf = [&](size_t position) -> llvm::ArrayRef<ChunkCost> {
    auto [found, isNew] = byPosition.try_emplace(position);
    if (isNew) {
      setChoice(asked, entry, numbers[position], true);
      found->second = priceChunks(plain, prices, choice.cut, entry.schedule.splitBackward);
    }
    return found->second;
  };

  bool fitted = request.stack.fittedSchedules && entry.schedule.kind->fitsDurations();
  std::map<size_t, const PipelineProgram *> compiled; // by position in `numbers`; only [0] where nothing is fitted
  auto programOf = [&](size_t position) {
    auto [found, isNew] = compiled.try_emplace(fitted ? position : 0);
    if (isNew)
      found->second = programFor(entry, chunksOf(position));
    return found->second;
  };
  std::map<size_t, std::vector<size_t>> statesByPosition; // what each state must recompute at least
  for (size_t index : group) {
    StateEntry &state = *states[index];
    size_t bit = index * entries.size() + choice.entry;
    if (recompute != Recompute::None && fitsKept[bit]) {
      ++counts.needless;
      continue;
    }
    std::vector<size_t> positions;
    for (size_t i = 0; i < numbers.size(); ++i) {
      setChoice(state.layout, entry, numbers[i], false);
      if (!request.refuse || request.refuse(state.layout).empty())
        positions.push_back(i);
    }
    if (positions.empty()) {
      ++counts.refused;
      continue;
    }
    if (llvm::any_of(positions, [&](size_t position) { return !programOf(position); }))
      return;
    // Every layer more saves memory, if the schedule stays the same.
    auto isTooLarge = [&](size_t position) {
      setChoice(state.layout, entry, numbers[position], true);
      return !fits(state.context, chunksOf(position), *programOf(position));
    };
    if (fitted)
      llvm::erase_if(positions, isTooLarge);
    auto least = fitted ? positions.begin() : std::partition_point(positions.begin(), positions.end(), isTooLarge);
    if (least == positions.end()) {
      ++counts.memory;
      continue;
    }
    // Whatever time more recomputation takes, unless it spares the host link some traffic or changes the schedule.
    bool isTrade = fitted || state.layout.offload == Offload::Activations;
    for (auto position = least; position != (isTrade ? positions.end() : least + 1); ++position)
      statesByPosition[*position].push_back(index);
    if (recompute == Recompute::None && !isTrade)
      fitsKept[bit] = true;
  }

  for (auto &[position, indices] : statesByPosition) {
    llvm::ArrayRef<ChunkCost> chunks = chunksOf(position);
    if (full && boundPipeline(entry, chunks) > found.cutoff()) {
      counts.prunedPipeline += int64_t(indices.size());
      continue;
    }
    llvm::SmallVector<StageDurations, 64> durations;
    for (const ChunkCost &chunk : chunks)
      durations.push_back(chunk.durations);
    if (llvm::Error error = expander.timer.time(*programOf(position), durations, messages, expander.time)) {
      llvm::consumeError(std::move(error));
      continue;
    }
    ++counts.timed;
    for (size_t index : indices) {
      if (pipelineTime(request.stack, expander.time).value > found.cutoff()) {
        ++counts.prunedTimed;
        continue;
      }
      StateEntry &state = *states[index];
      setChoice(state.layout, entry, numbers[position], true);
      StepCost cost = assembleStep(state.context, chunks, *programOf(position), expander.time);
      ++counts.priced;
      if (cost.stepTime.value > found.cutoff())
        continue;
      setChoice(state.layout, entry, numbers[position], false);
      found.add({cost.stepTime.value, cost.peakMemory.value, state.layout});
    }
  }
}

LayerPrices GridExpander::Expansion::preparePrices(int64_t sliceCount) {
  slices = sliceCount;
  PricingContext context(request.model, request.job, request.cluster, layout, request.stack, slices);
  programs = buildPrograms(context);
  messages = priceMessages(context);
  std::vector<Recompute> allowed = space.recomputes();
  recompute = layout.recompute = allowed.empty() ? Recompute::None : allowed.back();
  for (auto &state : states)
    state->layout.recompute = recompute;
  return priceLayers(PricingContext(request.model, request.job, request.cluster, layout, request.stack, slices), programs);
}

double GridExpander::Expansion::boundMemory() {
  double least = infinity;
  if (entries.empty())
    return least;
  LayerPrices prices = preparePrices(1);
  for (auto &state : states)
    least = std::min(least, boundMemory(*state, prices));
  return least;
}

void GridExpander::Expansion::findLeastMemory(Candidate &best) {
  for (int64_t sliceCount : {1, 2, 4, 8}) {
    if (llvm::none_of(entries, [&](const ScheduleEntry &entry) { return entry.schedule.shape.slices == sliceCount; }))
      continue;
    LayerPrices prices = preparePrices(sliceCount);
    for (auto &state : states) {
      if (boundMemory(*state, prices) > best.memory)
        continue;
      for (const ScheduleEntry &entry : entries) {
        if (entry.schedule.shape.slices != sliceCount)
          continue;
        llvm::ArrayRef<int64_t> cut = cutFor(layout.pp * entry.schedule.shape.chunks);
        int64_t number = space.recomputedLayers(*std::max_element(cut.begin(), cut.end())).back();
        setChoice(state->layout, entry, number, true);
        std::vector<ChunkCost> chunks = priceChunks(state->context, prices, cut, entry.schedule.splitBackward);
        const PipelineProgram *program = programFor(entry, chunks);
        if (!program)
          continue;
        double peak = 0;
        for (size_t device = 0; device < program->chunks.size(); ++device)
          if (MemoryBreakdown memory = deviceMemory(state->context, chunks, *program, int64_t(device));
              fitsHost(request.cluster, memory))
            peak = std::max(peak, memory.total().value);
          else
            peak = infinity;
        setChoice(state->layout, entry, number, false);
        Candidate candidate{0, peak, state->layout};
        if ((!request.refuse || request.refuse(candidate.layout).empty()) && isBetter(candidate, best))
          best = std::move(candidate);
      }
    }
  }
}

static constexpr Bytes noLimit = Bytes(infinity);

void GridExpander::findLeastMemory(const PlanSpace &space, const PlanGrid &grid, Candidate &best) {
  CandidateList none(1);
  ExpansionCounts counts;
  Expansion(*this, space, grid, noLimit, none, counts).findLeastMemory(best);
}

double GridExpander::boundMemory(const PlanSpace &space, const PlanGrid &grid) {
  CandidateList none(1);
  ExpansionCounts counts;
  return Expansion(*this, space, grid, noLimit, none, counts).boundMemory();
}

void GridExpander::expand(const PlanSpace &space, const PlanGrid &grid, Bytes limit, CandidateList &found, ExpansionCounts &counts) {
  Expansion(*this, space, grid, limit, found, counts).run();
}
