#include "ppc/Simulation/StepSimulation.h"

#include "StepGraph.h"
#include "StepReplay.h"
#include "ppc/CostModel/MixedStep.h"
#include "ppc/Scheduling/PipelineTime.h"
#include "ppc/Simulation/EventSimulator.h"
#include "ppc/Simulation/StepBound.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

using namespace mlir::ppc;

llvm::StringRef mlir::ppc::toString(SimulatedStream stream) {
  static constexpr llvm::StringRef names[simulatedStreamCount] = {
      "compute",           "layer collectives", "state collectives", "messages forward",
      "messages backward", "copies to host",    "copies from host"};
  return names[static_cast<int>(stream)];
}

llvm::StringRef mlir::ppc::toString(SimulatedKind kind) {
  static constexpr llvm::StringRef names[] = {
      "forward", "backward", "weight gradient", "parameter gather", "gradient reduction", "optimizer",
      "message", "copy"};
  return names[static_cast<int>(kind)];
}

namespace {
struct Interval {
  double start, end;
};
} // namespace

/// Time of `intervals` (by start, they may overlap) that `covers` (the same, merged) do not overlap.
static double uncovered(llvm::ArrayRef<Interval> intervals, llvm::ArrayRef<Interval> covers) {
  double total = 0;
  size_t first = 0;
  for (Interval each : intervals) {
    while (first < covers.size() && covers[first].end <= each.start)
      ++first;
    double at = each.start;
    for (size_t i = first; i < covers.size() && covers[i].start < each.end; ++i) {
      total += std::max(0.0, covers[i].start - at);
      at = std::max(at, covers[i].end);
    }
    total += std::max(0.0, each.end - at);
  }
  return total;
}

static std::vector<Interval> merge(std::vector<Interval> intervals) {
  llvm::sort(intervals, [](Interval a, Interval b) { return a.start != b.start ? a.start < b.start : a.end < b.end; });
  std::vector<Interval> merged;
  for (Interval each : intervals) {
    if (!merged.empty() && each.start <= merged.back().end)
      merged.back().end = std::max(merged.back().end, each.end);
    else
      merged.push_back(each);
  }
  return merged;
}

static void measureStreams(const StepGraph &step, const SimulatedTimes &times, SimulatedStep &result) {
  std::vector<std::array<std::vector<Interval>, simulatedStreamCount>> streams(result.devices.size());
  for (size_t i = 0; i < step.kinds.size(); ++i)
    if (times.end[i] > times.start[i])
      streams[step.kinds[i].device][int(step.kinds[i].stream)].push_back({times.start[i].value, times.end[i].value});
  for (size_t device = 0; device < streams.size(); ++device) {
    SimulatedDevice &each = result.devices[device];
    std::vector<Interval> all;
    for (std::vector<Interval> &stream : streams[device])
      stream = merge(std::move(stream));
    const std::vector<Interval> &compute = streams[device][int(SimulatedStream::Compute)];
    for (int stream = 0; stream < simulatedStreamCount; ++stream) {
      each.busy[stream] = Seconds(uncovered(streams[device][stream], {}));
      each.exposed[stream] = stream ? Seconds(uncovered(streams[device][stream], compute)) : each.busy[stream];
      llvm::append_range(all, streams[device][stream]);
    }
    each.idle = std::max(Seconds(0), result.stepTime - Seconds(uncovered(merge(std::move(all)), {})));
  }
}

static void measureMemory(const StepWork &work, const StepGraph &step, const SimulatedTimes &times, Seconds origin,
                          bool keep, SimulatedStep &result) {
  for (size_t device = 0; device < result.devices.size(); ++device) {
    SimulatedDevice &each = result.devices[device];
    const DeviceWork &state = work.devices[device];
    Bytes kept, waiting;
    auto note = [&](Seconds time) {
      Bytes bytes =
          state.constant + waiting + (state.activationLimit.value > 0 ? std::min(kept, state.activationLimit) : kept);
      if (bytes > each.peak || each.memory.empty()) {
        each.peak = std::max(each.peak, bytes);
        each.peakTime = time;
      }
      if (!each.memory.empty() && each.memory.back().time == time)
        each.memory.back().bytes = bytes;
      else if (keep || each.memory.empty())
        each.memory.push_back({time, bytes});
    };
    note(Seconds(0));
    // A device runs one action after the other, so changes come in the order of its list.
    for (const MemoryChange &change : step.memory[device]) {
      kept += change.kept;
      waiting += change.waiting;
      note((change.atEnd ? times.end : times.start)[change.task] - origin);
    }
    if (!keep)
      each.memory.clear();
  }
}

/// Period of consecutive steps in which no device waits for the others in between: the longest time of a device, from
/// its first forward to its last gradient, and its update.
static Seconds longestSpan(const StepWork &work, const StepGraph &step, const SimulatedTimes &times) {
  std::vector<Seconds> first(work.devices.size(), times.last), last(work.devices.size());
  for (size_t i = step.updateTasks; i < step.kinds.size(); ++i) {
    const TaskEvent &event = step.kinds[i];
    if (event.kind == SimulatedKind::Forward)
      first[event.device] = std::min(first[event.device], times.start[i]);
    if (event.kind != SimulatedKind::Message || work.messages.blockingSends)
      last[event.device] = std::max(last[event.device], times.end[i]);
  }
  Seconds longest;
  for (size_t device = 0; device < first.size(); ++device) {
    const DeviceWork &state = work.devices[device];
    Seconds update = state.optimizer + state.hostCopies + (work.overlapsGather ? Seconds(0) : state.gather);
    longest = std::max(longest, last[device] - first[device] + update);
  }
  return longest;
}

llvm::Expected<SimulatedStep> mlir::ppc::simulateWork(const StepWork &work, const StepSimulationOptions &options) {
  if (canReplayInRuns(work, options))
    return replayInRuns(work, options);
  StepGraph step = buildStepGraph(work, options);
  llvm::Expected<SimulatedTimes> times =
      simulateTasks(step.graph, false, work.validatesAfterwards ? Seconds(0) : options.latest);
  if (!times)
    return times.takeError();
  SimulatedStep result;
  if (times->stopped) {
    result.stopped = true;
    return std::move(result);
  }
  result.tasks = int64_t(step.graph.tasks.size());
  result.stepTime = work.validatesAfterwards ? longestSpan(work, step, *times) : times->last;
  result.devices.resize(work.devices.size());
  // Drawn from the first forward on.
  Seconds origin = times->last;
  for (size_t i = 0; i < step.kinds.size(); ++i)
    if (step.kinds[i].kind == SimulatedKind::Forward)
      origin = std::min(origin, times->start[i]);
  measureStreams(step, *times, result);
  measureMemory(work, step, *times, origin, options.keepEvents, result);
  if (!options.keepEvents)
    return std::move(result);
  for (size_t i = 0; i < step.events.size(); ++i) {
    if (times->end[i] <= times->start[i])
      continue;
    SimulatedEvent &event = result.events.emplace_back(step.events[i]);
    bool update = int32_t(i) < step.updateTasks || times->start[i] < origin;
    Seconds shift = update ? result.stepTime - origin : Seconds(0) - origin;
    event.start = times->start[i] + shift;
    event.end = times->end[i] + shift;
    event.beside = std::min(event.beside, event.start);
  }
  llvm::sort(result.events, [](const SimulatedEvent &a, const SimulatedEvent &b) {
    return std::tuple(a.start.value, a.device, a.stream, a.end.value, a.microBatch) <
           std::tuple(b.start.value, b.device, b.stream, b.end.value, b.microBatch);
  });
  return std::move(result);
}

static double layersOf(const StepDetail &detail) {
  double layers = 0;
  for (const ChunkCost &chunk : detail.costs.chunks)
    for (int64_t count : chunk.count)
      layers += double(count);
  return layers;
}

/// Approximate number of tasks in a replay of `microBatches`, besides those that each step has once.
static double expectedTasks(const StepDetail &detail, const ParallelLayout &layout, bool everyLayer) {
  double layers = layersOf(detail);
  double chunks = double(detail.costs.chunks.size());
  double perMicroBatch = everyLayer || layout.zero >= 2 ? 6 * layers : 7 * chunks;
  return perMicroBatch * double(detail.shape.microBatches) * double(detail.shape.slices);
}

namespace {
/// Numbers of micro-batches, of one step and of one with a period more, that are replayed instead of the full step.
struct ReplayedPart {
  int64_t least, period;
};
} // namespace

/// Nothing: the whole step is replayed.
static std::optional<ReplayedPart> replayedPart(const ParallelLayout &layout, const ParallelLayout &effective,
                                                const StepDetail &detail, const StepSimulationOptions &options) {
  // Copies to the host settle late into a steady state: longer steps are replayed whole.
  double most = double(options.maxTasks) * (layout.copiesActivations() ? 20 : 1);
  double tasks = expectedTasks(detail, effective, options.everyLayer);
  if (tasks <= most || !detail.schedule->period)
    return std::nullopt;
  // A schedule's steady state repeats after its period, or after twice or three times that. With state that is
  // exchanged in every micro-batch it settles later, and micro-batches differ for longer.
  int64_t times = layout.zero >= 2 ? 2 : 1, each = detail.schedule->period(detail.shape), period = 6 * times * each;
  int64_t microBatches = detail.shape.microBatches;
  int64_t filling =
      (detail.shape.devices + detail.shape.slices - 1) / detail.shape.slices; // slices need fewer micro-batches
  int64_t enough = 4 * times * std::max(filling, each) + 8, least = enough + (microBatches - enough) % period;
  if (microBatches < 2 * (2 * least + period))
    return std::nullopt;
  // Both parts have the tasks that each step has once: some six of each layer, at most twice as many.
  if (tasks * (1 - double(2 * least + period) / double(microBatches)) <= 12 * layersOf(detail))
    return std::nullopt;
  return ReplayedPart{least, period};
}

/// Adds to the first step `times` the difference to the second one; the step's time grows by `growth`.
static SimulatedStep extrapolate(SimulatedStep first, const SimulatedStep &second, double times, Seconds growth) {
  auto grow = [&](Seconds &a, Seconds b) { a += std::max(Seconds(0), b - a) * times; };
  first.stepTime += growth;
  for (size_t device = 0; device < first.devices.size(); ++device) {
    SimulatedDevice &each = first.devices[device];
    const SimulatedDevice &more = second.devices[device];
    for (int stream = 0; stream < simulatedStreamCount; ++stream) {
      grow(each.busy[stream], more.busy[stream]);
      grow(each.exposed[stream], more.exposed[stream]);
    }
    grow(each.idle, more.idle);
    each.peak += std::max(Bytes(0), more.peak - each.peak) * times;
  }
  first.tasks += second.tasks;
  first.extrapolated = true;
  return first;
}

/// Time of the pipeline alone, for any number of micro-batches: a replay adds the delays of concurrent work to it.
static llvm::Expected<Seconds> pipelineAlone(PipelineTimer &timer, const StepWork &work,
                                             const PipelineScheduleKind &kind, const PipelineShape &shape,
                                             PipelineTime &time) {
  llvm::SmallVector<StageDurations, 64> durations;
  for (const ChunkWork &chunk : work.chunks) {
    StageDurations &sum = durations.emplace_back();
    sum.overlap = chunk.overlap;
    for (const LayerWork &layer : chunk.layers) {
      sum.forward += layer.forward;
      sum.backward += layer.backward;
      sum.weightGradient += layer.weightGradient;
    }
  }
  if (llvm::Error error = timer.time(kind.name, shape, durations, work.messages, time))
    return std::move(error);
  return work.validatesAfterwards ? time.span() : time.stepTime;
}

double mlir::ppc::expectedReplayTasks(const ParallelLayout &layout, const StepDetail &detail) {
  ParallelLayout effective = layout;
  effective.vp = detail.shape.chunks;
  double tasks = expectedTasks(detail, effective, /*everyLayer=*/false);
  std::optional<ReplayedPart> part = replayedPart(layout, effective, detail, {});
  return part ? tasks * double(2 * part->least + part->period) / double(detail.shape.microBatches) : tasks;
}

/// A step of `least` micro-batches and one of a period more, instead of the whole.
static llvm::Expected<SimulatedStep> replayInPart(const PipelineScheduleKind &kind, const PipelineShape &shape,
                                                  int64_t least, int64_t period,
                                                  llvm::function_ref<llvm::Expected<StepWork>(int64_t)> workOf,
                                                  const StepSimulationOptions &options) {
  PipelineTimer timer;
  PipelineTime scratch;
  std::optional<StepWork> work;
  StepSimulationOptions whole = options;
  whole.latest = Seconds(0);
  auto replay = [&](int64_t microBatches) -> llvm::Expected<SimulatedStep> {
    llvm::Expected<StepWork> each = workOf(microBatches);
    if (!each)
      return each.takeError();
    work = std::move(*each);
    return simulateWork(*work, whole);
  };
  auto alone = [&](int64_t microBatches) {
    PipelineShape part = shape;
    part.microBatches = microBatches;
    return pipelineAlone(timer, *work, kind, part, scratch);
  };
  llvm::Expected<SimulatedStep> first = replay(least);
  if (!first)
    return first;
  llvm::Expected<Seconds> firstAlone = alone(least), allAlone = alone(shape.microBatches);
  if (!firstAlone || !allAlone)
    return joinErrors(firstAlone.takeError(), allAlone.takeError());
  llvm::Expected<SimulatedStep> second = replay(least + period);
  if (!second)
    return second;
  llvm::Expected<Seconds> secondAlone = alone(least + period);
  if (!secondAlone)
    return secondAlone.takeError();
  Seconds more = *secondAlone - *firstAlone, grown = std::max(Seconds(0), second->stepTime - first->stepTime);
  double missing = double(shape.microBatches - least) / double(period);
  // Concurrent work makes no period of the pipeline shorter: a period that grows by less hides waits of the beginning.
  Seconds growth = more.value <= 0 ? grown * missing
                   : grown < more  ? grown + (*allAlone - *secondAlone)
                                   : (*allAlone - *firstAlone) * (grown / more);
  return extrapolate(std::move(*first), *second, missing, growth);
}

llvm::Expected<SimulatedStep> mlir::ppc::simulateStep(const ModelShape &model, const TrainingJob &job,
                                                      const Cluster &cluster, const ParallelLayout &layout,
                                                      const Stack &stack, const StepDetail &detail,
                                                      const StepCost &cost, const StepSimulationOptions &options) {
  if (!llvm::all_equal(layout.stageGroups))
    return llvm::createStringError("stages on several groups of devices are not replayed event by event");
  if (!layout.stageGroups.empty()) {
    ParallelLayout alone = layout;
    alone.stageGroups.clear();
    return simulateStep(model, job, groupAlone(cluster, layout.stageGroups.front()), alone, stack, detail, cost,
                        options);
  }
  ParallelLayout effective = layout;
  effective.vp = detail.shape.chunks;
  PricingContext context(model, job, cluster, effective, stack, detail.shape.slices);
  auto workOf = [&](int64_t microBatches) -> llvm::Expected<StepWork> {
    PipelineShape shape = detail.shape;
    shape.microBatches = microBatches;
    llvm::Expected<PipelineSchedule> schedule = makePipelineSchedule(detail.schedule->name, shape);
    if (!schedule)
      return schedule.takeError();
    return deriveStepWork(context, detail, cost, std::move(*schedule));
  };
  if (std::optional<ReplayedPart> part = replayedPart(layout, effective, detail, options))
    return replayInPart(*detail.schedule, detail.shape, part->least, part->period, workOf, options);
  llvm::Expected<StepWork> work = workOf(detail.shape.microBatches);
  if (!work)
    return work.takeError();
  return simulateWork(*work, options);
}

llvm::Expected<Seconds> mlir::ppc::boundSimulatedStep(const ModelShape &model, const TrainingJob &job,
                                                      const Cluster &cluster, const ParallelLayout &layout,
                                                      const Stack &stack, const StepDetail &detail,
                                                      const StepCost &cost, PipelineTimer &timer) {
  ParallelLayout effective = layout;
  effective.vp = detail.shape.chunks;
  if (!layout.stageGroups.empty() || stack.validatesUpdateAfterwards)
    return Seconds(0);
  PricingContext context(model, job, cluster, effective, stack, detail.shape.slices);
  StepWork work = deriveStepWork(context, detail, cost, PipelineSchedule());
  PipelineTime time;
  llvm::Expected<Seconds> alone = pipelineAlone(timer, work, *detail.schedule, detail.shape, time);
  if (!alone)
    return alone.takeError();
  auto parametersOf = [&](int64_t stage) {
    double sum = 0;
    for (const LayerWork &layer : work.chunks[stage].layers)
      sum += layer.parameters;
    return sum;
  };
  // All waits in the end for the first forward of the first stage, that for its device's update and for its parameters.
  double share = 1.0 / double(detail.shape.slices);
  Seconds begin(std::numeric_limits<double>::infinity());
  for (size_t device = 0; device < work.devices.size(); ++device) {
    double here = 0;
    for (const PipelineChunk &chunk : detail.chunks[device])
      here += parametersOf(chunk.stage);
    for (const PipelineChunk &chunk : detail.chunks[device]) {
      if (chunk.stage != 0)
        continue;
      const DeviceWork &each = work.devices[device];
      Seconds forward, updated = each.optimizer + each.hostCopies + (work.overlapsGather ? Seconds(0) : each.gather);
      for (const LayerWork &layer : work.chunks[0].layers)
        forward += layer.forward;
      Seconds gather = work.overlapsGather ? each.gather * (parametersOf(0) / std::max(1.0, here)) : Seconds(0);
      begin = std::min(begin, updated + std::max(Seconds(0), gather - forward * share));
    }
  }
  // Gradients are reduced after the last action, or during it if a device has one stage. For a step that is replayed in
  // part, only its pipeline is known to take as long as in a full replay.
  Seconds last = *alone;
  bool whole = !replayedPart(layout, effective, detail, {});
  for (size_t device = 0; whole && device < work.devices.size(); ++device) {
    Seconds beside;
    if (work.overlapsReduction) {
      if (detail.chunks[device].size() != 1 || work.messages.blockingSends)
        continue;
      for (const LayerWork &layer : work.chunks[detail.chunks[device].front().stage].layers)
        beside += (layer.weightGradient.value > 0 ? layer.weightGradient : layer.backward) * share;
    }
    last = std::max(last, time.end[device] - beside + work.devices[device].reduction);
  }
  return (1 - 1e-9) * (begin + last); // sums in another order
}
