#include "GridExpander.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

using namespace mlir::ppc;

/// Bounds are sums in another order than what they bound.
static constexpr double slack = 1 - 1e-9;

bool mlir::ppc::isBetter(const Candidate &a, const Candidate &b) {
  if (a.time != b.time)
    return a.time < b.time;
  if (a.memory != b.memory)
    return a.memory < b.memory;
  for (int key = 0; key < planKeyCount; ++key) {
    int64_t left = planValue(a.layout, PlanKey(key)), right = planValue(b.layout, PlanKey(key));
    if (left != right)
      return left < right;
  }
  return false;
}

bool mlir::ppc::isSameShape(const ParallelLayout &a, const ParallelLayout &b) {
  for (int key = 0; key < planKeyCount; ++key)
    switch (PlanKey(key)) {
    case PlanKey::Zero: case PlanKey::ShardGroup: case PlanKey::RecomputedLayers: case PlanKey::Offload:
      break;
    default:
      if (planValue(a, PlanKey(key)) != planValue(b, PlanKey(key)))
        return false;
    }
  return true;
}

void CandidateList::add(Candidate candidate) {
  auto same = llvm::find_if(list, [&](const Candidate &other) { return isSameShape(other.layout, candidate.layout); });
  if (same != list.end()) {
    if (!isBetter(candidate, *same))
      return;
    list.erase(same);
  }
  auto at = llvm::find_if(list, [&](const Candidate &other) { return isBetter(candidate, other); });
  list.insert(at, std::move(candidate));
  if (list.size() > capacity)
    list.pop_back();
}

void ExpansionCounts::add(const ExpansionCounts &other) {
  prunedBusy += other.prunedBusy;
  prunedPipeline += other.prunedPipeline;
  prunedTimed += other.prunedTimed;
  memory += other.memory;
  refused += other.refused;
  timed += other.timed;
  priced += other.priced;
}

const PipelineProgram *ScheduleCache::program(const PipelineScheduleKind &kind, const PipelineShape &shape) {
  Key key{&kind, shape.devices, shape.microBatches, shape.chunks, shape.slices};
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (auto found = programs.find(key); found != programs.end())
      return found->second.get();
  }
  std::unique_ptr<PipelineProgram> made;
  if (llvm::Expected<PipelineProgram> program = compilePipelineSchedule(kind, shape))
    made = std::make_unique<PipelineProgram>(std::move(*program));
  else
    llvm::consumeError(program.takeError());
  std::lock_guard<std::mutex> lock(mutex);
  auto &entry = programs[key];
  if (!entry)
    entry = std::move(made);
  return entry.get();
}

const ScheduleCache::Placement *ScheduleCache::placement(const PipelineScheduleKind &kind, const PipelineShape &shape) {
  // Where stages lie does not depend on the number of micro-batches: ask for few.
  PipelineShape small = shape;
  small.microBatches = std::min(shape.microBatches, shape.devices);
  if (llvm::Error error = checkPipelineShape(kind, small)) {
    llvm::consumeError(std::move(error));
    small = shape;
  }
  Key key{&kind, small.devices, small.microBatches, small.chunks, small.slices};
  std::lock_guard<std::mutex> lock(mutex);
  auto [entry, isNew] = placements.try_emplace(key);
  if (isNew && kind.replicas == 1) {
    PipelineSchedule schedule = kind.make(small);
    entry->second = std::make_unique<Placement>();
    entry->second->stages.resize(schedule.deviceCount());
    for (int64_t stage = 0; stage < schedule.stageCount; ++stage)
      entry->second->stages[schedule.deviceOf(0, stage)].push_back(stage);
  }
  return entry->second.get();
}

GridExpander::KeyBound GridExpander::boundKey(const PlanSpace &space, const PlanGrid &grid) {
  ParallelLayout layout = space.layoutOf(grid);
  if (!request.stack.fusedGradientAccumulation) // one micro-batch has least to add
    layout.dp = std::max<int64_t>(1, request.job.globalBatch / layout.microBatch);
  KeyBound best;
  best.total = best.leastLayer = std::numeric_limits<double>::infinity();
  std::vector<int64_t> counts(layerKinds, 0);
  ++counts[int(LayerKind::Embedding)];
  ++counts[int(LayerKind::Head)];
  for (int64_t layer = 0; layer < request.model.layers; ++layer)
    ++counts[int(layerKind(request.model, layer))];
  for (Recompute recompute : space.recomputes()) {
    layout.recompute = recompute;
    PricingContext context(request.model, request.job, request.cluster, layout, request.stack);
    LayerPrices prices = priceLayers(context, buildPrograms(context));
    double total = 0, least = std::numeric_limits<double>::infinity();
    for (int kind = 0; kind < layerKinds; ++kind) {
      if (!prices.present[kind])
        continue;
      const LayerPrice &price = prices(LayerKind(kind), false);
      double once = (price.forward + price.backward + price.weightGradient).value;
      total += once * double(counts[kind]);
      if (kind != int(LayerKind::Embedding) && kind != int(LayerKind::Head))
        least = std::min(least, once);
    }
    best.total = std::min(best.total, total);
    best.leastLayer = std::min(best.leastLayer, least);
  }
  return best;
}

double GridExpander::boundGrid(const PlanRequest &request, const KeyBound &key, const PlanGrid &grid, int64_t microBatch) {
  double microBatches = double(request.job.globalBatch / (grid.dp * microBatch));
  // Some device has at least its share, and at least its share of whole layers.
  double layers = std::ceil(double(request.model.layers) / double(grid.pp));
  return slack * microBatches * std::max(key.total / double(grid.pp), layers * key.leastLayer);
}

/// No schedule is faster than this: a device waits for the forwards before its first stage, then does all its work, and the
/// backwards before that stage follow its last one.
double GridExpander::pipelineBound(const StepSchedule &schedule, llvm::ArrayRef<ChunkCost> chunks, const PipelineMessages &messages) {
  double microBatches = double(schedule.shape.microBatches);
  double sum = 0, through = 0;
  for (const ChunkCost &chunk : chunks) {
    through += (chunk.durations.forward + chunk.durations.backward).value;
    sum += (chunk.durations.forward + chunk.durations.backward + chunk.durations.weightGradient).value;
  }
  double share = 1 / double(schedule.shape.slices);
  double bound = std::max(sum * microBatches / double(schedule.shape.devices), share * through);
  const ScheduleCache::Placement *placement = schedules.placement(*schedule.kind, schedule.shape);
  if (!placement)
    return slack * bound;
  llvm::SmallVector<int64_t, 64> deviceOf(chunks.size());
  for (size_t device = 0; device < placement->stages.size(); ++device)
    for (int64_t stage : placement->stages[device])
      deviceOf[stage] = int64_t(device);
  llvm::SmallVector<double, 64> fill(chunks.size() + 1, 0), drain(chunks.size() + 1, 0);
  for (size_t stage = 0; stage + 1 < chunks.size(); ++stage) {
    bool hop = deviceOf[stage] != deviceOf[stage + 1];
    fill[stage + 1] = fill[stage] + share * (chunks[stage].durations.forward.value + (hop ? messages.forward.value : 0));
    drain[stage + 1] = drain[stage] + share * (chunks[stage].durations.backward.value + (hop ? messages.backward.value : 0));
  }
  for (const std::vector<int64_t> &stages : placement->stages) {
    double chain = 0, weights = 0;
    for (int64_t stage : stages) {
      chain += (chunks[stage].durations.forward + chunks[stage].durations.backward).value;
      weights += chunks[stage].durations.weightGradient.value;
    }
    double first = fill[stages.front()], last = drain[stages.front()];
    // Weight gradients may wait until the backwards have left.
    bound = std::max({bound, first + microBatches * (chain + weights), first + last + microBatches * chain});
  }
  return slack * bound;
}

double GridExpander::peakMemory(const PricingContext &context, double largestLayer, llvm::ArrayRef<ChunkCost> chunks,
                                const PipelineProgram &program) {
  double peak = 0;
  for (size_t device = 0; device < program.chunks.size(); ++device)
    peak = std::max(peak, deviceMemory(context, largestLayer, chunks, program, int64_t(device)).total().value);
  return peak;
}

/// Some device holds its share of the parameters and of one micro-batch.
double GridExpander::memoryBound(const ParallelLayout &layout, const LayerPrices &prices, const StateChoice &state) {
  const ModelShape &model = request.model;
  ParallelLayout kept = layout;
  kept.zero = state.zero;
  kept.shardGroup = state.shardGroup;
  kept.offload = state.offload;
  Stack stack = request.stack;
  stack.bucketElements = 0;
  PricingContext context(model, request.job, request.cluster, kept, stack);
  bool full = layout.recompute == Recompute::Full;
  ChunkCost share;
  double part = 1 / double(layout.pp);
  share.working = Bytes(std::numeric_limits<double>::infinity());
  auto add = [&](LayerKind kind, double count, bool again) {
    const LayerPrice &price = prices(kind, again);
    share.parameters += part * count * price.parameters;
    share.expertParameters += part * count * price.expertParameters;
    if (state.offload != Offload::Activations)
      share.kept += part * count * price.kept;
  };
  add(LayerKind::Embedding, 1, false);
  add(LayerKind::Head, 1, false);
  std::array<int64_t, layerKinds> counts{};
  for (int64_t layer = 0; layer < model.layers; ++layer)
    ++counts[int(layerKind(model, layer))];
  for (int kind = 0; kind < layerKinds; ++kind)
    if (counts[kind]) {
      add(LayerKind(kind), double(counts[kind]), full);
      for (bool again : {false, true})
        if (!again || full)
          share.working = std::min(share.working, prices(LayerKind(kind), again).working);
    }
  PipelineProgram program;
  program.chunks = {{PipelineChunk{}}};
  program.moments = {{PipelineProgram::Moment{ChunkLoad{1, 0}}}};
  return slack * deviceMemory(context, prices.largestLayer, share, program, 0).total().value;
}

void GridExpander::expand(const PlanSpace &space, const PlanGrid &grid, Bytes limit, CandidateList &found, ExpansionCounts &counts) {
  ParallelLayout layout = space.layoutOf(grid);
  std::vector<StateChoice> states = space.states(layout);
  // Parameters that are whole between steps leave the layers' times alone: one pipeline for all of those.
  auto firstSharded = llvm::find_if(states, [](const StateChoice &state) { return state.zero >= 3; });
  llvm::ArrayRef<StateChoice> all(states);
  size_t whole = firstSharded - states.begin();
  for (Recompute recompute : space.recomputes()) {
    layout.recompute = recompute;
    PricingContext context(request.model, request.job, request.cluster, layout, request.stack);
    LayerPrograms programs = buildPrograms(context);
    auto group = [&](llvm::ArrayRef<StateChoice> part) {
      ParallelLayout typical = layout;
      typical.zero = part.front().zero;
      typical.shardGroup = part.front().shardGroup;
      typical.offload = part.front().offload;
      expandState(space, typical, programs, part, limit, found, counts);
    };
    // Offloaded activations change times as well.
    for (bool activations : {false, true}) {
      std::vector<StateChoice> part;
      for (const StateChoice &state : all.take_front(whole))
        if ((state.offload == Offload::Activations) == activations)
          part.push_back(state);
      if (!part.empty())
        group(part);
    }
    for (const StateChoice &state : all.drop_front(whole))
      group(state);
  }
}

void GridExpander::expandState(const PlanSpace &space, ParallelLayout layout, const LayerPrograms &programs,
                               llvm::ArrayRef<StateChoice> states, Bytes limit, CandidateList &found, ExpansionCounts &counts) {
  PricingContext plain(request.model, request.job, request.cluster, layout, request.stack);
  LayerPrices prices = priceLayers(plain, programs);
  bool full = layout.recompute == Recompute::Full;

  std::vector<StateChoice> possible;
  for (const StateChoice &state : states)
    if (memoryBound(layout, prices, state) > limit.value)
      ++counts.memory;
    else
      possible.push_back(state);
  if (possible.empty())
    return;
  states = possible;

  struct Choice {
    ScheduleChoice choice;
    StepSchedule schedule;
    std::vector<int64_t> counts;
    double bound;
    size_t position;
  };
  std::vector<Choice> choices;
  PipelineMessages messages = priceMessages(plain);
  for (const ScheduleChoice &choice : space.schedules(layout)) {
    ParallelLayout asked = layout;
    asked.schedule = choice.schedule.str();
    asked.vp = choice.vp;
    asked.recomputedLayers = full ? 0 : -1;
    StepSchedule schedule = llvm::cantFail(resolveSchedule(request.job, asked));
    asked.vp = schedule.shape.chunks;
    PricingContext context(request.model, request.job, request.cluster, asked, request.stack);
    std::vector<int64_t> cut = cutLayers(context, programs);
    double bound = pipelineBound(schedule, priceChunks(context, prices, cut, schedule.splitBackward), messages);
    if (bound > found.cutoff())
      counts.prunedPipeline += int64_t(states.size());
    else
      choices.push_back({choice, schedule, std::move(cut), bound, choices.size()});
  }
  llvm::sort(choices, [](const Choice &a, const Choice &b) { return std::tie(a.bound, a.position) < std::tie(b.bound, b.position); });

  for (Choice &choice : choices) {
    if (choice.bound > found.cutoff()) {
      counts.prunedPipeline += int64_t(states.size());
      continue;
    }
    const PipelineProgram *program = schedules.program(*choice.schedule.kind, choice.schedule.shape);
    if (!program)
      continue;
    ParallelLayout asked = layout;
    asked.schedule = choice.choice.schedule.str();
    asked.vp = choice.choice.vp;
    // How many layers each state must recompute.
    int64_t largest = *std::max_element(choice.counts.begin(), choice.counts.end());
    std::vector<int64_t> numbers = full ? space.recomputedLayers(largest) : std::vector<int64_t>{-1};
    std::map<int64_t, std::vector<StateChoice>> byNumber; // position in `numbers`
    auto finalLayout = [&](const StateChoice &state, int64_t number) {
      ParallelLayout result = asked;
      result.zero = state.zero;
      result.shardGroup = state.shardGroup;
      result.offload = state.offload;
      result.recomputedLayers = number;
      return result;
    };
    auto chunksFor = [&](const StateChoice &state, int64_t number, auto &&use) {
      ParallelLayout effective = finalLayout(state, number);
      effective.vp = choice.schedule.shape.chunks;
      PricingContext context(request.model, request.job, request.cluster, effective, request.stack);
      use(context, priceChunks(context, prices, choice.counts, choice.schedule.splitBackward));
    };
    for (const StateChoice &state : states) {
      auto fits = [&](int64_t number) {
        double peak = 0;
        chunksFor(state, number, [&](const PricingContext &context, llvm::ArrayRef<ChunkCost> chunks) {
          peak = peakMemory(context, prices.largestLayer, chunks, *program);
        });
        return peak <= limit.value;
      };
      std::vector<int64_t> runnable = numbers;
      if (request.refuse)
        llvm::erase_if(runnable, [&](int64_t number) { return !request.refuse(finalLayout(state, number)).empty(); });
      // Every layer more takes time and saves memory.
      auto least = std::partition_point(runnable.begin(), runnable.end(), [&](int64_t number) { return !fits(number); });
      if (runnable.empty())
        ++counts.refused;
      else if (least == runnable.end())
        ++counts.memory;
      else
        byNumber[llvm::find(numbers, *least) - numbers.begin()].push_back(state);
    }
    for (auto &[position, group] : byNumber) {
      int64_t number = numbers[position];
      bool timed = false;
      for (const StateChoice &state : group)
        chunksFor(state, number, [&](const PricingContext &context, llvm::ArrayRef<ChunkCost> chunks) {
          if (!timed) {
            double bound = pipelineBound(choice.schedule, chunks, messages);
            if (bound > found.cutoff()) {
              ++counts.prunedPipeline;
              return;
            }
            llvm::SmallVector<StageDurations, 64> durations;
            for (const ChunkCost &chunk : chunks)
              durations.push_back(chunk.durations);
            if (llvm::Error error = timer.time(*program, durations, messages, time)) {
              llvm::consumeError(std::move(error));
              return;
            }
            timed = true;
            ++counts.timed;
          }
          if (time.stepTime.value > found.cutoff()) {
            ++counts.prunedTimed;
            return;
          }
          StepCost cost = assembleStep(context, prices.largestLayer, chunks, *program, time);
          ++counts.priced;
          if (cost.stepTime.value <= found.cutoff())
            found.add({cost.stepTime.value, cost.peakMemory.value, finalLayout(state, number)});
        });
    }
  }
}
