#include "StepReplay.h"

#include "ActionTimes.h"
#include "StepGraph.h"
#include "StreamRates.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <algorithm>
#include <cmath>

using namespace mlir::ppc;

using Kind = PipelineActionKind;
using Stream = SimulatedStream;

static constexpr double never = StreamRates::never;

bool mlir::ppc::canReplayInRuns(const StepWork &work, const StepSimulationOptions &options) {
  bool copies = llvm::any_of(work.devices, [](const DeviceWork &device) { return device.activationLimit.value > 0; });
  bool inOrder = work.levels > 0 || (work.messages.forward.value <= 0 && work.messages.backward.value <= 0);
  return !options.keepEvents && !options.everyLayer && options.opTasks == 0 && !work.messages.blockingSends &&
         !copies && inOrder;
}

namespace {
/// The least of some times, each of which may change.
class EarliestTime {
public:
  explicit EarliestTime(size_t count) {
    while (leaves < count)
      leaves *= 2;
    times.assign(2 * leaves, never);
  }
  double time() const { return times[1]; }
  int32_t index() const {
    size_t node = 1;
    while (node < leaves)
      node = 2 * node + (times[2 * node] != times[node]);
    return int32_t(node - leaves);
  }
  void set(size_t index, double time) {
    size_t node = index + leaves;
    times[node] = time;
    for (node /= 2; node > 0; node /= 2) {
      double least = std::min(times[2 * node], times[2 * node + 1]);
      if (times[node] == least)
        break;
      times[node] = least;
    }
  }

private:
  size_t leaves = 1;
  std::vector<double> times;
};

/// A task of an action in a run.
struct ActionPart {
  double work;
  TaskKind kind;
  llvm::ArrayRef<ResourceUse> uses;
};

/// Transfer of a virtual stage in one direction.
struct StageMessage {
  int32_t target = -1; // device; -1: nothing follows
  bool travels = false;
  std::array<ResourceUse, 2> uses; // resources of the sender, of the receiver
};

struct DeviceReplay {
  // Position in a run: the action that runs or is waited for.
  int32_t run = -1, next = 0;
  const ActionPart *part = nullptr, *lastPart = nullptr; // its remaining parts; null: it has not started
  bool waits = false;                                    // for its input
  std::vector<std::pair<int64_t, int32_t>> awaited;      // inputs of written actions, with the task that waits for each
  /// Transfers of a direction that have not arrived: (number of the input, transfer).
  struct Queue {
    std::vector<std::pair<int64_t, const StageMessage *>> messages;
    size_t first = 0;
  };
  std::array<Queue, 2> queues;                               // forward, backward
  std::array<int32_t, slotsPerDevice> tasks{-1, -1, -1, -1}; // task of the graph in each slot; -1: of a run, or a
                                                             // transfer
  // Measured up to `since`.
  uint32_t streams = 0; // running, a bit each
  double since = 0, covered = 0;
  std::array<double, simulatedStreamCount> busy{}, exposed{};
  Bytes kept, waiting, peak;
  double peakTime = -1; // -1: from the beginning on
  double firstForward = never, lastEnd = 0;
};

class StepReplay {
public:
  StepReplay(const StepWork &work, const StepSimulationOptions &options)
      : work(work), schedule(work.schedule), latest(work.validatesAfterwards ? 0 : options.latest.value),
        share(1.0 / double(schedule.sliceCount)), units(schedule.microBatchCount * schedule.sliceCount),
        step(buildStepInRuns(work)), devices(schedule.deviceCount()), rates(step.graph, devices.size()),
        ends(devices.size()) {}

  llvm::Expected<SimulatedStep> run();

private:
  /// Input of a forward or a backward: the result of another stage, or of the loss.
  int64_t inputOf(const PipelineAction &action, int64_t stage) const {
    return ((action.kind == Kind::Backward) * schedule.stageCount + stage) * units +
           action.microBatch * schedule.sliceCount + action.slice;
  }
  bool hasInput(const PipelineAction &action) const {
    return action.kind == Kind::WeightGradient || arrived[inputOf(action, action.stage)];
  }
  int64_t codeOf(int32_t device, int32_t action) const {
    const PipelineAction &each = schedule.devices[device][action];
    return (schedule.chunkIndex(each) * 3 + int64_t(each.kind)) * 2 + isInBlock(schedule, device, action);
  }
  const StageMessage &messageOf(const PipelineAction &action) const {
    return messages[action.kind == Kind::Backward][schedule.chunkIndex(action)];
  }
  const ActionRun &runOf(const DeviceReplay &device) const { return step.runs[device.run]; }
  Seconds travelTime(bool backward) const {
    return (backward ? work.messages.backward : work.messages.forward) * share;
  }

  llvm::Error prepareParts();
  void prepareMessages();
  void linkTasks();
  void measureTails();
  bool measureTailsOf(int32_t device, int32_t &task, int32_t &left, double &tail);

  void releaseTask(int32_t task) {
    if (--pending[task] == 0)
      readyTasks.push_back(task);
  }
  void startTask(int32_t task);
  void finishTask(int32_t task);
  void proceed(int32_t device);
  void beginAction(int32_t device, int32_t action);
  void endAction(int32_t device, int32_t action);
  void deliver(int64_t input, int32_t device);
  void sendNext(int32_t device, bool backward);
  void start(int32_t device, StreamSlot slot, Stream stream, double taken, TaskKind kind,
             llvm::ArrayRef<ResourceUse> uses, int32_t task);
  void finish(int32_t device, StreamSlot slot);
  void measure(DeviceReplay &device);
  void hold(int32_t device, Bytes kept, Bytes waiting);
  SimulatedStep measured() const;

  const StepWork &work;
  const PipelineSchedule &schedule;
  double latest, share;
  int64_t units; // slices of micro-batches
  StepGraph step;
  std::vector<DeviceReplay> devices;
  StreamRates rates;
  EarliestTime ends;
  std::vector<ActionPart> parts;
  std::vector<int32_t> firstPart;                    // by code
  std::array<std::vector<StageMessage>, 2> messages; // forward, backward; by position
  std::vector<uint8_t> arrived;                      // by input
  // Lists for the tasks of the graph.
  std::vector<int32_t> firstSuccessor, successors, pending;
  std::vector<int32_t> runs, begins,
      endsOf;                // numbers of the run that the task stands for, of written actions; -1: none
  std::vector<double> tails; // by input: from the begin of its action to the last end; empty: not wanted
  std::vector<double> taskTails;
  llvm::SmallVector<int32_t, 64> readyTasks, readyDevices;
  double now = 0, origin = never, last = 0;
  int64_t done = 0, finishedTasks = 0;
  bool stopped = false;
};
} // namespace

llvm::Error StepReplay::prepareParts() {
  std::vector<ChunkTimes> times = sumUpChunks(work);
  auto isTime = [](double time) { return time >= 0 && std::isfinite(time); };
  bool valid = isTime(travelTime(false).value) && isTime(travelTime(true).value);
  for (int64_t replica = 0; replica < schedule.replicaCount(); ++replica)
    for (int64_t stage = 0; stage < schedule.stageCount; ++stage)
      for (Kind kind : {Kind::Forward, Kind::Backward, Kind::WeightGradient})
        for (bool inBlock : {false, true}) {
          const ActionTimes &each = times[stage][int(kind)];
          double scale = share * (inBlock ? pairedScale(work.chunks[stage], kind) : 1);
          firstPart.push_back(int32_t(parts.size()));
          parts.push_back({(std::max(Seconds(0), each.compute) * scale).value, TaskKind::Compute, {}});
          const auto &uses = step.groupUses[schedule.deviceOf(replica, stage)];
          for (int group = 0; group < opGroupCount; ++group)
            if (each.exposed[group].value > 0)
              parts.push_back({(each.exposed[group] * scale).value, TaskKind::Communication, uses[group]});
        }
  firstPart.push_back(int32_t(parts.size()));
  for (const ActionPart &part : parts)
    valid &= isTime(part.work);
  for (const TaskGraph::Task &task : step.graph.tasks)
    valid &= isTime(task.work.value);
  if (!valid)
    return llvm::createStringError("a task of the replay has no finite work");
  return llvm::Error::success();
}

void StepReplay::prepareMessages() {
  for (bool backward : {false, true})
    for (int64_t replica = 0; replica < schedule.replicaCount(); ++replica)
      for (int64_t stage = 0; stage < schedule.stageCount; ++stage) {
        StageMessage &message = messages[backward].emplace_back();
        int64_t to = stage + (backward ? -1 : 1), from = schedule.deviceOf(replica, stage);
        if (to < 0 || to >= schedule.stageCount)
          continue;
        message.target = int32_t(schedule.deviceOf(replica, to));
        message.travels = message.target != from && travelTime(backward).value > 0;
        message.uses = {ResourceUse{linkResource(work, from, work.messageLevel, false), work.messageLink},
                        ResourceUse{linkResource(work, message.target, work.messageLevel, true), work.messageLink}};
      }
  arrived.assign(2 * schedule.stageCount * units, 0);
  std::fill_n(arrived.begin(), units, 1);       // the first forward waits for nothing,
  std::fill_n(arrived.end() - units, units, 1); // nor does the last stage's backward
}

void StepReplay::linkTasks() {
  size_t count = step.graph.tasks.size();
  firstSuccessor.assign(count + 1, 0);
  pending.assign(count, 0);
  for (auto [before, after] : step.graph.dependences) {
    ++firstSuccessor[before + 1];
    ++pending[after];
  }
  for (size_t i = 0; i < count; ++i)
    firstSuccessor[i + 1] += firstSuccessor[i];
  successors.resize(step.graph.dependences.size());
  std::vector<int32_t> next(firstSuccessor.begin(), firstSuccessor.end() - 1);
  for (auto [before, after] : step.graph.dependences)
    successors[next[before]++] = after;
  for (std::vector<int32_t> *list : {&runs, &begins, &endsOf})
    list->assign(count, -1);
  for (size_t i = 0; i < step.runs.size(); ++i)
    runs[step.runs[i].task] = int32_t(i);
  for (size_t i = 0; i < step.written.size(); ++i) {
    const WrittenAction &written = step.written[i];
    begins[written.first] = endsOf[written.last] = int32_t(i);
    const PipelineAction &action = schedule.devices[written.device][written.action];
    if (hasInput(action))
      continue;
    ++pending[written.first];
    devices[written.device].awaited.push_back({inputOf(action, action.stage), written.first});
  }
}

/// Measures backwards from the end of the task or run, as far as later times on other devices are known.
bool StepReplay::measureTailsOf(int32_t device, int32_t &task, int32_t &left, double &tail) {
  llvm::ArrayRef<PipelineAction> list = schedule.devices[device];
  bool moved = false;
  /// False: not known yet.
  auto follow = [&](const PipelineAction &action) {
    const StageMessage &message = messageOf(action);
    if (action.kind == Kind::WeightGradient || message.target < 0)
      return true;
    double behind = tails[inputOf(action, action.stage + (action.kind == Kind::Forward ? 1 : -1))];
    if (behind >= 0)
      tail = std::max(tail, behind + (message.travels ? travelTime(action.kind == Kind::Backward).value : 0));
    return behind >= 0;
  };
  for (; task >= step.firstTasks[device]; --task) {
    if (left < 0) { // not begun
      tail = 0;
      for (int32_t i = firstSuccessor[task]; i < firstSuccessor[task + 1]; ++i)
        tail = std::max(tail, taskTails[successors[i]]);
      left = runs[task] < 0 ? 0 : step.runs[runs[task]].end;
    }
    if (runs[task] >= 0) {
      for (int32_t begin = step.runs[runs[task]].begin; left > begin; --left) {
        const PipelineAction &action = list[left - 1];
        if (!follow(action))
          return moved;
        int64_t code = codeOf(device, left - 1);
        for (int32_t part = firstPart[code]; part < firstPart[code + 1]; ++part)
          tail += parts[part].work;
        if (action.kind != Kind::WeightGradient)
          tails[inputOf(action, action.stage)] = tail;
        moved = true;
      }
    } else {
      if (endsOf[task] >= 0 && !follow(list[step.written[endsOf[task]].action]))
        return moved;
      tail += step.graph.tasks[task].work.value;
      if (begins[task] >= 0)
        if (const PipelineAction &action = list[step.written[begins[task]].action]; action.kind != Kind::WeightGradient)
          tails[inputOf(action, action.stage)] = tail;
    }
    taskTails[task] = tail;
    left = -1;
    moved = true;
  }
  return moved;
}

void StepReplay::measureTails() {
  tails.assign(arrived.size(), -1);
  taskTails.assign(step.graph.tasks.size(), 0);
  std::vector<int32_t> tasks(step.firstTasks.begin() + 1, step.firstTasks.end()), left(devices.size(), -1);
  std::vector<double> tail(devices.size(), 0);
  for (int32_t &task : tasks)
    --task;
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t device = 0; device < devices.size(); ++device)
      moved |= measureTailsOf(int32_t(device), tasks[device], left[device], tail[device]);
  }
}

/// Streams that ran since the last change.
void StepReplay::measure(DeviceReplay &device) {
  double taken = now - device.since;
  device.since = now;
  if (taken <= 0 || !device.streams)
    return;
  device.covered += taken;
  constexpr uint32_t compute = 1u << int(Stream::Compute);
  for (int stream = 0; stream < simulatedStreamCount; ++stream)
    if (device.streams >> stream & 1) {
      device.busy[stream] += taken;
      if (!(device.streams & compute) || stream == int(Stream::Compute))
        device.exposed[stream] += taken;
    }
}

void StepReplay::hold(int32_t number, Bytes kept, Bytes waiting) {
  DeviceReplay &device = devices[number];
  device.kept += kept;
  device.waiting += waiting;
  Bytes bytes = work.devices[number].constant + device.waiting + device.kept;
  if (bytes > device.peak) {
    device.peak = bytes;
    device.peakTime = now;
  }
}

void StepReplay::start(int32_t device, StreamSlot slot, Stream stream, double taken, TaskKind kind,
                       llvm::ArrayRef<ResourceUse> uses, int32_t task) {
  measure(devices[device]);
  devices[device].streams |= 1u << int(stream);
  devices[device].tasks[slot] = task;
  rates.start(now, device, slot, taken, kind, uses);
}

void StepReplay::startTask(int32_t task) {
  TaskEvent event = step.kinds[task];
  if (runs[task] >= 0) {
    DeviceReplay &device = devices[event.device];
    device.run = runs[task];
    device.next = runOf(device).begin;
    readyDevices.push_back(event.device);
    return;
  }
  if (begins[task] >= 0)
    beginAction(event.device, step.written[begins[task]].action);
  const TaskGraph::Task &each = step.graph.tasks[task];
  if (each.work.value > 0)
    start(event.device, event.stream == Stream::StateCollectives ? StateSlot : MainSlot, event.stream, each.work.value,
          each.kind, step.graph.usesOf(each), task);
  else
    finishTask(task);
}

void StepReplay::finishTask(int32_t task) {
  if (runs[task] < 0) {
    ++done;
    last = now;
    if (task >= step.updateTasks)
      devices[step.kinds[task].device].lastEnd = now;
  }
  if (endsOf[task] >= 0)
    endAction(step.kinds[task].device, step.written[endsOf[task]].action);
  ++finishedTasks;
  for (int32_t i = firstSuccessor[task]; i < firstSuccessor[task + 1]; ++i)
    releaseTask(successors[i]);
}

void StepReplay::beginAction(int32_t number, int32_t index) {
  const PipelineAction &action = schedule.devices[number][index];
  if (!tails.empty() && action.kind != Kind::WeightGradient) // sums in another order
    stopped |= (now + tails[inputOf(action, action.stage)]) * (1 - 1e-9) > latest;
  if (action.kind != Kind::Forward)
    return;
  origin = std::min(origin, now);
  devices[number].firstForward = std::min(devices[number].firstForward, now);
  hold(number, work.chunks[action.stage].kept * share, Bytes(0));
}

void StepReplay::endAction(int32_t number, int32_t index) {
  llvm::ArrayRef<PipelineAction> list = schedule.devices[number];
  const PipelineAction &action = list[index];
  const ChunkWork &chunk = work.chunks[action.stage];
  devices[number].lastEnd = last = now;
  if (action.kind == Kind::WeightGradient) {
    bool wasMerged = index > 0 && isMerged(list, index - 1); // all stayed until now
    hold(number, wasMerged ? Bytes(0) - chunk.kept * share : Bytes(0),
         wasMerged ? Bytes(0) : Bytes(0) - chunk.keptForWeights * share);
    return;
  }
  bool backward = action.kind == Kind::Backward;
  if (backward && !isMerged(list, index))
    hold(number, Bytes(0) - chunk.kept * share, chunk.keptForWeights * share);
  const StageMessage &message = messageOf(action);
  if (message.target < 0)
    return;
  int64_t input = inputOf(action, action.stage + (backward ? -1 : 1));
  if (!message.travels)
    return deliver(input, message.target);
  devices[number].queues[backward].messages.push_back({input, &message});
  if (!rates.runs(number, backward ? BackwardMessageSlot : ForwardMessageSlot))
    sendNext(number, backward);
}

/// On the main stream, from action to action, until something takes time or is waited for.
void StepReplay::proceed(int32_t number) {
  DeviceReplay &device = devices[number];
  while (true) {
    if (!device.part) {
      if (!hasInput(schedule.devices[number][device.next])) {
        device.waits = true;
        return;
      }
      beginAction(number, device.next);
      int64_t code = codeOf(number, device.next);
      device.part = parts.data() + firstPart[code];
      device.lastPart = parts.data() + firstPart[code + 1];
    }
    while (device.part != device.lastPart) {
      const ActionPart &part = *device.part++;
      if (part.work > 0) {
        start(number, MainSlot, part.kind == TaskKind::Compute ? Stream::Compute : Stream::LayerCollectives, part.work,
              part.kind, part.uses, -1);
        return;
      }
      ++done;
    }
    device.part = nullptr;
    endAction(number, device.next);
    if (++device.next == runOf(device).end)
      return finishTask(runOf(device).task);
  }
}

void StepReplay::deliver(int64_t input, int32_t number) {
  DeviceReplay &device = devices[number];
  arrived[input] = 1;
  if (device.waits) {
    const PipelineAction &next = schedule.devices[number][device.next];
    if (inputOf(next, next.stage) == input) {
      device.waits = false;
      readyDevices.push_back(number);
      return;
    }
  }
  for (auto &[awaited, task] : device.awaited)
    if (awaited == input)
      return releaseTask(task);
}

void StepReplay::sendNext(int32_t number, bool backward) {
  DeviceReplay::Queue &queue = devices[number].queues[backward];
  if (queue.first == queue.messages.size()) {
    queue.messages.clear();
    queue.first = 0;
    return;
  }
  llvm::ArrayRef<ResourceUse> uses = queue.messages[queue.first].second->uses;
  start(number, backward ? BackwardMessageSlot : ForwardMessageSlot,
        backward ? Stream::MessagesBackward : Stream::MessagesForward, travelTime(backward).value,
        TaskKind::Communication, uses, -1);
}

void StepReplay::finish(int32_t number, StreamSlot slot) {
  DeviceReplay &device = devices[number];
  measure(device);
  bool isMessage = slot == ForwardMessageSlot || slot == BackwardMessageSlot;
  int32_t task = device.tasks[slot];
  Stream stream = slot == ForwardMessageSlot                     ? Stream::MessagesForward
                  : slot == BackwardMessageSlot                  ? Stream::MessagesBackward
                  : task >= 0                                    ? step.kinds[task].stream
                  : (device.part - 1)->kind == TaskKind::Compute ? Stream::Compute
                                                                 : Stream::LayerCollectives;
  device.streams &= ~(1u << int(stream));
  rates.finish(now, number, slot);
  last = now;
  if (isMessage) {
    ++done;
    bool backward = slot == BackwardMessageSlot;
    DeviceReplay::Queue &queue = device.queues[backward];
    auto [input, message] = queue.messages[queue.first++];
    deliver(input, message->target);
    sendNext(number, backward);
  } else if (task >= 0) {
    finishTask(task);
  } else {
    ++done;
    readyDevices.push_back(number);
  }
}

SimulatedStep StepReplay::measured() const {
  SimulatedStep result;
  result.tasks = done;
  result.devices.resize(devices.size());
  double longest = 0;
  for (size_t number = 0; number < devices.size(); ++number) {
    const DeviceWork &state = work.devices[number];
    Seconds update = state.optimizer + state.hostCopies + (work.overlapsGather ? Seconds(0) : state.gather);
    longest = std::max(longest, devices[number].lastEnd - std::min(devices[number].firstForward, last) + update.value);
  }
  result.stepTime = Seconds(work.validatesAfterwards ? longest : last);
  for (size_t number = 0; number < devices.size(); ++number) {
    const DeviceReplay &device = devices[number];
    SimulatedDevice &each = result.devices[number];
    for (int stream = 0; stream < simulatedStreamCount; ++stream) {
      each.busy[stream] = Seconds(device.busy[stream]);
      each.exposed[stream] = Seconds(device.exposed[stream]);
    }
    each.idle = std::max(Seconds(0), result.stepTime - Seconds(device.covered));
    each.peak = device.peak;
    each.peakTime = Seconds(device.peakTime < 0 ? 0 : device.peakTime - std::min(origin, last));
  }
  return result;
}

llvm::Expected<SimulatedStep> StepReplay::run() {
  if (llvm::Error error = prepareParts())
    return std::move(error);
  prepareMessages();
  linkTasks();
  if (latest > 0)
    measureTails();
  for (size_t device = 0; device < devices.size(); ++device)
    devices[device].peak = work.devices[device].constant;
  for (size_t task = 0; task < pending.size(); ++task)
    if (pending[task] == 0)
      readyTasks.push_back(int32_t(task));
  while (true) {
    while (!readyTasks.empty() || !readyDevices.empty())
      if (!readyTasks.empty())
        startTask(readyTasks.pop_back_val());
      else
        proceed(readyDevices.pop_back_val());
    if (stopped) {
      SimulatedStep result;
      result.stopped = true;
      return std::move(result);
    }
    rates.refresh(now);
    for (int32_t device : rates.changed)
      ends.set(device, rates.nextEnd(device));
    rates.forgetChanges();
    if (ends.time() == never)
      break;
    now = ends.time();
    while (ends.time() == now) {
      int32_t device = ends.index();
      for (int32_t slot = 0; slot < slotsPerDevice; ++slot)
        if (rates.endOf(device, StreamSlot(slot)) == now)
          finish(device, StreamSlot(slot));
      ends.set(device, rates.nextEnd(device));
    }
  }
  if (finishedTasks < int64_t(step.graph.tasks.size()))
    return llvm::createStringError("device actions of the replay wait for each other in a circle");
  return measured();
}

llvm::Expected<SimulatedStep> mlir::ppc::replayInRuns(const StepWork &work, const StepSimulationOptions &options) {
  return StepReplay(work, options).run();
}
