// Devices are written one after the other, each in the order of its schedule; then messages join them.
#include "StepGraph.h"

#include "ActionTimes.h"
#include "LayerParts.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mlir::ppc;

using Kind = PipelineActionKind;

namespace {
/// Tasks of one action.
struct ActionTasks {
  int32_t first = -1, last = -1;
};

/// A layer's turn on a device: what parameters come for and gradients leave behind.
struct LayerTurn {
  size_t action; // of the device's list
  int32_t layer;
  bool gathers = false, scatters = false, reduces = false;
};

class GraphBuilder {
public:
  GraphBuilder(const StepWork &work, const StepSimulationOptions &options)
      : work(work), schedule(work.schedule), everyLayer(options.everyLayer), keepEvents(options.keepEvents),
        chunkTimes(sumUpChunks(work)), share(1.0 / double(schedule.sliceCount)) {
    chooseOps(options.opTasks);
    TaskGraph &graph = result.graph;
    graph.communicationShare = work.communicationShare;
    graph.communicationSlowdown = work.communicationSlowdown;
    for (int64_t i = 0; i < schedule.deviceCount() * (work.levels * 2 + 2); ++i)
      graph.addResource(1);
    result.memory.resize(schedule.deviceCount());
    actions.resize(schedule.deviceCount());
  }

  StepGraph build();

private:
  class DeviceBuilder;

  int32_t resource(int64_t device, int64_t level, bool incoming) const {
    return int32_t((device * work.levels + level) * 2 + incoming);
  }
  /// The link to the host, which the network's adapters hang on as well.
  int32_t hostLink(int64_t device, bool incoming) const {
    return int32_t(schedule.deviceCount() * work.levels * 2 + device * 2 + incoming);
  }
  /// Collectives send and receive at once.
  llvm::SmallVector<ResourceUse, 8> links(int64_t device, llvm::ArrayRef<double> shares) const {
    llvm::SmallVector<ResourceUse, 8> uses;
    for (int64_t level = 0; level < std::min<int64_t>(work.levels, shares.size()); ++level)
      if (shares[level] > 0)
        for (bool incoming : {false, true})
          uses.push_back({resource(device, level, incoming), shares[level]});
    if (work.hostShare > 0 && work.levels > 1 && shares.size() > 1 && shares[1] > 0)
      for (bool incoming : {false, true})
        uses.push_back({hostLink(device, incoming), shares[1] * work.hostShare});
    return uses;
  }
  int32_t add(TaskKind kind, SimulatedEvent event, Seconds taken, llvm::ArrayRef<ResourceUse> uses = {}) {
    result.kinds.push_back({event.device, event.stream, event.kind});
    if (keepEvents)
      result.events.push_back(event);
    return result.graph.addTask(kind, event.device, taken, uses);
  }
  void addUpdate(int64_t device);
  void joinDevices();
  /// Which micro-batches' layers are written op by op.
  void chooseOps(int64_t tasks);
  bool inOps(const PipelineAction &action) const {
    return opMicroBatches == schedule.microBatchCount ||
           (opMicroBatches > 0 && (action.microBatch == 0 || action.microBatch + 1 == schedule.microBatchCount));
  }

  const StepWork &work;
  const PipelineSchedule &schedule;
  bool everyLayer, keepEvents;
  std::vector<ChunkTimes> chunkTimes; // per virtual stage
  int64_t opMicroBatches = 0;
  double share; // of a micro-batch in one action
  StepGraph result;
  std::vector<std::vector<ActionTasks>> actions; // per device and action
  std::vector<int32_t> updated;                  // per device: the task that ends the update
};
} // namespace

void GraphBuilder::chooseOps(int64_t tasks) {
  int64_t ops = 0;
  for (const ChunkWork &chunk : work.chunks)
    for (const LayerWork &layer : chunk.layers)
      ops += layer.program ? 2 * int64_t(layer.program->ops.size()) : 0;
  ops *= schedule.sliceCount;
  if (ops * schedule.microBatchCount <= tasks)
    opMicroBatches = schedule.microBatchCount;
  else if (2 * ops <= tasks)
    opMicroBatches = 2;
}

void GraphBuilder::addUpdate(int64_t device) {
  const DeviceWork &each = work.devices[device];
  SimulatedEvent event;
  event.device = int32_t(device);
  event.kind = SimulatedKind::Optimizer;
  int32_t last = add(TaskKind::Compute, event, each.optimizer);
  auto then = [&](TaskKind kind, Seconds taken, llvm::ArrayRef<ResourceUse> uses) {
    int32_t task = add(kind, event, taken, uses);
    result.graph.addDependence(last, task);
    last = task;
  };
  if (each.hostCopies.value > 0) {
    event.kind = SimulatedKind::Copy;
    event.stream = SimulatedStream::CopiesFromHost;
    then(TaskKind::Copy, each.hostCopies, {});
  }
  if (each.gather.value > 0 && !work.overlapsGather) {
    event.kind = SimulatedKind::ParameterGather;
    event.stream = SimulatedStream::StateCollectives;
    then(TaskKind::Communication, each.gather, links(device, each.stateLinks));
  }
  updated.push_back(last);
}

/// Writes the tasks of one device.
class GraphBuilder::DeviceBuilder {
public:
  DeviceBuilder(GraphBuilder &whole, int64_t device)
      : whole(whole), work(whole.work), list(whole.schedule.devices[device]), state(work.devices[device]), device(device),
        main(whole.updated[device]), stateLast(main) {}

  void build() {
    stateUses = whole.links(device, state.stateLinks);
    for (int group = 0; group < opGroupCount; ++group)
      groupUses[group] = whole.links(device, work.groupLinks[group]);
    planTurns();
    whole.actions[device].resize(list.size());
    for (size_t i = 0; i < list.size(); ++i)
      addAction(i);
    flushReduction(/*all=*/true);
    trackMemory();
  }

private:
  const ChunkWork &chunkOf(const PipelineAction &action) const { return work.chunks[action.stage]; }
  static SimulatedKind kindOf(const PipelineAction &action) {
    static constexpr SimulatedKind kinds[] = {SimulatedKind::Forward, SimulatedKind::Backward, SimulatedKind::WeightGradient};
    return kinds[int(action.kind)];
  }
  double actionScale(size_t i) const;
  bool merged(size_t i) const {
    if (list[i].kind != Kind::Backward || i + 1 == list.size())
      return false;
    PipelineAction next = list[i];
    next.kind = Kind::WeightGradient;
    return list[i + 1] == next;
  }
  void planTurns();
  void addAction(size_t i);
  void addLayers(size_t i, double scale);
  int32_t addPart(const PipelineAction &action, int32_t layer, Seconds compute, const GroupTimes &exposed, double scale);
  int32_t addOps(const PipelineAction &action, int32_t layer, double scale);
  void gatherUpTo(size_t turn);
  void flushReduction(bool all);
  void addCopyBefore(size_t i);
  void addCopyAfter(size_t i);
  void trackMemory();
  SimulatedEvent eventOf(const PipelineAction &action, SimulatedStream stream, SimulatedKind kind) const {
    SimulatedEvent event;
    event.stream = stream;
    event.kind = kind;
    event.backward = action.kind != Kind::Forward;
    event.device = int32_t(device);
    event.stage = int32_t(action.stage);
    event.microBatch = int32_t(action.microBatch);
    event.slice = int32_t(action.slice);
    return event;
  }
  int32_t onStateStream(SimulatedEvent event, Seconds taken, int32_t after) {
    int32_t task = whole.add(TaskKind::Communication, event, taken, stateUses);
    whole.result.graph.addDependence(stateLast, task);
    if (after != stateLast)
      whole.result.graph.addDependence(after, task);
    return stateLast = task;
  }

  GraphBuilder &whole;
  const StepWork &work;
  llvm::ArrayRef<PipelineAction> list;
  const DeviceWork &state;
  int64_t device;
  int32_t main;      // the task after which the device goes on
  int32_t stateLast; // of the stream of state
  llvm::SmallVector<ResourceUse, 8> stateUses;
  std::array<llvm::SmallVector<ResourceUse, 8>, opGroupCount> groupUses;
  double parameters = 0; // of all chunks
  // Layers in the order of the device, where their state moves beside them.
  std::vector<LayerTurn> turns;
  std::vector<int32_t> gatherTasks, turnEnds; // per turn; -1: none
  std::vector<size_t> gathering;              // turns that parameters come for
  size_t nextGather = 0;                      // of those
  std::vector<size_t> firstTurn;              // per action; turns of an action follow each other
  double waitingElements = 0; // of gradients whose bucket is not full
  int32_t reductionAfter = -1;
  SimulatedEvent reductionEvent;
  // Copies to the host.
  std::vector<int32_t> copiedOut, copiedIn; // per action
  std::vector<size_t> partners;             // per forward its backward and the other way round; list.size(): none copied
  int32_t outLast = -1, inLast = -1;
  llvm::SmallVector<int32_t, 2> recentBackwards;
};

/// What a B with its W saves as one block with the F before it.
double GraphBuilder::DeviceBuilder::actionScale(size_t i) const {
  const ChunkWork &chunk = chunkOf(list[i]);
  if (chunk.overlap.value <= 0 || list[i].kind == Kind::Forward)
    return 1;
  StageDurations whole;
  for (const LayerWork &layer : chunk.layers) {
    whole.backward += layer.backward;
    whole.weightGradient += layer.weightGradient;
  }
  whole.overlap = chunk.overlap;
  if (list[i].kind == Kind::Backward)
    return work.schedule.isPaired(device, i) && whole.backward.value > 0 ? whole.pairedBackward() / whole.backward : 1;
  bool isPaired = i > 0 && merged(i - 1) && work.schedule.isPaired(device, i - 1);
  return isPaired && whole.weightGradient.value > 0 ? whole.pairedWeightGradient() / whole.weightGradient : 1;
}

void GraphBuilder::DeviceBuilder::planTurns() {
  firstTurn.assign(list.size() + 1, 0);
  // Per chunk the last action that leaves gradients, and the first forward.
  auto numberOf = [&](const PipelineAction &action) {
    return work.schedule.replicaOf(action.microBatch) * work.schedule.stageCount + action.stage;
  };
  size_t chunks = work.schedule.replicaCount() * work.schedule.stageCount;
  std::vector<size_t> firstForward(chunks, list.size()), lastGradient(chunks, list.size());
  std::vector<bool> separate(chunks, false);
  for (size_t i = list.size(); i-- > 0;) {
    size_t chunk = numberOf(list[i]);
    if (list[i].kind == Kind::Forward)
      firstForward[chunk] = i;
  }
  for (size_t i = 0; i < list.size(); ++i) {
    size_t chunk = numberOf(list[i]);
    Seconds weight = whole.chunkTimes[list[i].stage][int(Kind::WeightGradient)].compute;
    if (list[i].kind == (weight.value > 0 ? Kind::WeightGradient : Kind::Backward))
      lastGradient[chunk] = i;
  }
  for (size_t chunk = 0; chunk < chunks; ++chunk)
    if (firstForward[chunk] < list.size())
      for (const LayerWork &layer : work.chunks[chunk % work.schedule.stageCount].layers)
        parameters += layer.parameters;
  std::vector<LayerTurn> here;
  for (size_t i = 0; i < list.size(); ++i) {
    firstTurn[i] = turns.size();
    const PipelineAction &action = list[i];
    size_t chunk = numberOf(action);
    const std::vector<LayerWork> &layers = chunkOf(action).layers;
    bool first = firstForward[chunk] == i, last = lastGradient[chunk] == i;
    bool leaves = lastGradient[chunk] < list.size() && list[lastGradient[chunk]].kind == action.kind;
    bool gathersHere = (action.kind == Kind::Forward || (action.kind == Kind::Backward && work.gathersForBackward)) &&
                       (!work.gathersOnce || first) &&
                       action.slice == (action.kind == Kind::Forward ? 0 : work.schedule.sliceCount - 1); // the first that comes
    bool moves = false, drawn = whole.everyLayer || whole.inOps(action);
    if (!gathersHere && !first && !last && !(leaves && work.scattersEveryMicroBatch) && !drawn)
      continue;
    here.clear();
    for (size_t l = 0; l < layers.size(); ++l) {
      int32_t layer = action.kind == Kind::Forward ? int32_t(l) : int32_t(layers.size() - 1 - l);
      LayerTurn turn{i, layer};
      turn.gathers = (gathersHere && layers[layer].gather.value > 0) ||
                     (first && state.gather.value > 0 && work.overlapsGather && layers[layer].parameters > 0);
      turn.scatters = leaves && layers[layer].scatter.value > 0 && (last || work.scattersEveryMicroBatch);
      turn.reduces = last && state.reduction.value > 0 && work.overlapsReduction && layers[layer].parameters > 0;
      moves |= turn.gathers || turn.scatters || turn.reduces;
      here.push_back(turn);
    }
    if (moves || drawn)
      turns.insert(turns.end(), here.begin(), here.end());
  }
  firstTurn[list.size()] = turns.size();
  for (size_t turn = 0; turn < turns.size(); ++turn)
    if (turns[turn].gathers)
      gathering.push_back(turn);
  gatherTasks.assign(turns.size(), -1);
  turnEnds.assign(turns.size(), -1);
}

/// Compute, then what it waits for; all times `scale` times.
int32_t GraphBuilder::DeviceBuilder::addPart(const PipelineAction &action, int32_t layer, Seconds compute, const GroupTimes &exposed,
                                             double scale) {
  SimulatedEvent event = eventOf(action, SimulatedStream::Compute, kindOf(action));
  event.layer = layer;
  int32_t first = whole.add(TaskKind::Compute, event, compute * scale);
  whole.result.graph.addDependence(main, first);
  main = first;
  event.stream = SimulatedStream::LayerCollectives;
  for (int group = 0; group < opGroupCount; ++group) {
    if (exposed[group].value <= 0)
      continue;
    int32_t task = whole.add(TaskKind::Communication, event, exposed[group] * scale, groupUses[group]);
    whole.result.graph.addDependence(main, task);
    main = task;
  }
  return first;
}

/// A layer op by op.
int32_t GraphBuilder::DeviceBuilder::addOps(const PipelineAction &action, int32_t layer, double scale) {
  int32_t first = -1;
  for (const LayerPart &part : layerParts(chunkOf(action).layers[layer], action.kind, work.selective)) {
    SimulatedEvent event = eventOf(action, part.communication ? SimulatedStream::LayerCollectives : SimulatedStream::Compute,
                                   kindOf(action));
    event.layer = layer;
    event.op = part.op;
    event.isWait = !part.op;
    event.again = part.again;
    event.beside = part.beside * scale;
    int32_t task = part.communication ? whole.add(TaskKind::Communication, event, part.taken * scale,
                                                    groupUses[int(part.op ? part.op->group : OpGroup::Tensor)])
                                      : whole.add(TaskKind::Compute, event, part.taken * scale);
    whole.result.graph.addDependence(main, task);
    main = task;
    if (first < 0)
      first = task;
  }
  return first < 0 ? addPart(action, layer, Seconds(0), {}, 1) : first;
}

/// Parameters come one layer ahead: those of the layer after `turn`'s while it runs.
void GraphBuilder::DeviceBuilder::gatherUpTo(size_t turn) {
  while (nextGather < gathering.size() && (gathering[nextGather] <= turn || (nextGather && gathering[nextGather - 1] <= turn))) {
    size_t number = nextGather++, at = gathering[number];
    const PipelineAction &action = list[turns[at].action];
    const LayerWork &layer = chunkOf(action).layers[turns[at].layer];
    SimulatedEvent event = eventOf(action, SimulatedStream::StateCollectives, SimulatedKind::ParameterGather);
    event.layer = turns[at].layer;
    int32_t after = whole.updated[device];
    Seconds taken = layer.gather;
    if (layer.gather.value <= 0) // once per step, as soon as the update is done
      taken = state.gather * (layer.parameters / std::max(1.0, parameters));
    else if (number >= 2)
      after = turnEnds[gathering[number - 2]];
    gatherTasks[at] = onStateStream(event, taken, after);
  }
}

void GraphBuilder::DeviceBuilder::flushReduction(bool all) {
  if (!work.overlapsReduction && all && state.reduction.value > 0) {
    SimulatedEvent event;
    event.stream = SimulatedStream::StateCollectives;
    event.kind = SimulatedKind::GradientReduction;
    event.backward = true;
    event.device = int32_t(device);
    onStateStream(event, state.reduction, main);
    return;
  }
  if (waitingElements <= 0 || (!all && waitingElements < work.bucketElements))
    return;
  onStateStream(reductionEvent, state.reduction * (waitingElements / std::max(1.0, parameters)), reductionAfter);
  waitingElements = 0;
}

void GraphBuilder::DeviceBuilder::addLayers(size_t i, double scale) {
  const PipelineAction &action = list[i];
  for (size_t turn = firstTurn[i]; turn < firstTurn[i + 1]; ++turn) {
    const LayerWork &layer = chunkOf(action).layers[turns[turn].layer];
    if (turns[turn].gathers)
      gatherUpTo(turn);
    GroupTimes exposed = exposedIn(action.kind, layer);
    Seconds compute = takenBy(action.kind, layer) - totalTime(exposed);
    int32_t first = -1;
    if (whole.inOps(action) && layer.program) {
      first = addOps(action, turns[turn].layer, scale);
    } else {
      // Collectives stand between the parts of a layer, where the exchange of state meets them.
      bool meets = totalTime(exposed).value > 0 && (layer.gather.value > 0 || layer.scatter.value > 0);
      int parts = meets ? 4 : 1;
      for (int part = 0; part < parts; ++part) {
        int32_t task = addPart(action, turns[turn].layer, std::max(Seconds(0), compute), exposed, scale / parts);
        first = part ? first : task;
      }
    }
    whole.result.graph.addDependence(gatherTasks[turn], first);
    turnEnds[turn] = main;
    if (whole.actions[device][i].first < 0)
      whole.actions[device][i].first = first;
    SimulatedEvent event = eventOf(action, SimulatedStream::StateCollectives, SimulatedKind::GradientReduction);
    event.layer = turns[turn].layer;
    if (turns[turn].scatters)
      onStateStream(event, layer.scatter * whole.share, main);
    if (turns[turn].reduces) {
      waitingElements += layer.parameters;
      reductionAfter = main;
      reductionEvent = event;
      flushReduction(/*all=*/false);
    }
  }
}

void GraphBuilder::DeviceBuilder::addAction(size_t i) {
  const PipelineAction &action = list[i];
  ActionTasks &tasks = whole.actions[device][i];
  double scale = whole.share * actionScale(i);
  addCopyBefore(i);
  if (firstTurn[i] < firstTurn[i + 1]) {
    addLayers(i, scale);
  } else {
    const ActionTimes &times = whole.chunkTimes[action.stage][int(action.kind)];
    tasks.first = addPart(action, -1, std::max(Seconds(0), times.compute), times.exposed, scale);
  }
  tasks.last = main;
  addCopyAfter(i);
  // A blocking send holds the device.
  if (work.messages.blockingSends && action.kind != Kind::WeightGradient) {
    int64_t to = action.stage + (action.kind == Kind::Forward ? 1 : -1), replica = work.schedule.replicaOf(action.microBatch);
    if (to >= 0 && to < work.schedule.stageCount && work.schedule.deviceOf(replica, to) != device) {
      bool forward = action.kind == Kind::Forward;
      SimulatedEvent event =
          eventOf(action, forward ? SimulatedStream::MessagesForward : SimulatedStream::MessagesBackward, SimulatedKind::Message);
      llvm::SmallVector<ResourceUse, 2> uses;
      if (work.levels) {
        uses.push_back({whole.resource(device, work.messageLevel, false), work.messageLink});
        uses.push_back({whole.resource(work.schedule.deviceOf(replica, to), work.messageLevel, true), work.messageLink});
      }
      int32_t message = whole.add(TaskKind::Communication, event,
                                  (forward ? work.messages.forward : work.messages.backward) * whole.share, uses);
      whole.result.graph.addDependence(main, message);
      main = tasks.last = message;
    }
  }
}

/// What is kept waits in the host's memory where two more forwards come before its backward; the rest stays.
void GraphBuilder::DeviceBuilder::addCopyBefore(size_t i) {
  if (state.activationLimit.value <= 0 || work.host.value <= 0)
    return;
  if (partners.empty()) {
    partners.assign(list.size(), list.size());
    copiedOut.assign(list.size(), -1);
    copiedIn.assign(list.size(), -1);
    for (size_t f = 0; f < list.size(); ++f) {
      if (list[f].kind != Kind::Forward)
        continue;
      PipelineAction backward = list[f];
      backward.kind = Kind::Backward;
      int64_t forwards = 0;
      for (size_t b = f + 1; b < list.size(); ++b) {
        forwards += list[b].kind == Kind::Forward;
        if (list[b] != backward)
          continue;
        if (forwards >= 2)
          partners[f] = b, partners[b] = f;
        break;
      }
    }
  }
  if (list[i].kind != Kind::Backward || partners[i] == list.size())
    return;
  // Back while the backward before it runs.
  SimulatedEvent event = eventOf(list[i], SimulatedStream::CopiesFromHost, SimulatedKind::Copy);
  ResourceUse link{whole.hostLink(device, true), 1};
  int32_t copy = whole.add(TaskKind::Copy, event, chunkOf(list[i]).copied * whole.share / work.host, link);
  whole.result.graph.addDependence(inLast, copy);
  whole.result.graph.addDependence(copiedOut[partners[i]], copy);
  if (recentBackwards.size() >= 2)
    whole.result.graph.addDependence(recentBackwards[recentBackwards.size() - 2], copy);
  inLast = copy;
  int32_t join = whole.add(TaskKind::Copy, event, Seconds(0));
  whole.result.graph.addDependence(copy, join);
  whole.result.graph.addDependence(main, join);
  main = join;
}

void GraphBuilder::DeviceBuilder::addCopyAfter(size_t i) {
  if (partners.empty())
    return;
  if (list[i].kind == Kind::Backward)
    recentBackwards.push_back(main);
  if (list[i].kind != Kind::Forward || partners[i] == list.size())
    return;
  SimulatedEvent event = eventOf(list[i], SimulatedStream::CopiesToHost, SimulatedKind::Copy);
  int32_t before = outLast;
  ResourceUse link{whole.hostLink(device, false), 1};
  outLast = whole.add(TaskKind::Copy, event, chunkOf(list[i]).copied * whole.share / work.host, link);
  copiedOut[i] = outLast;
  whole.result.graph.addDependence(main, outLast);
  whole.result.graph.addDependence(before, outLast);
  if (before < 0)
    return;
  // Two micro-batches have room on the device: the next forward needs that of the one before.
  int32_t join = whole.add(TaskKind::Copy, event, Seconds(0));
  whole.result.graph.addDependence(before, join);
  whole.result.graph.addDependence(main, join);
  main = join;
}

void GraphBuilder::DeviceBuilder::trackMemory() {
  std::vector<MemoryChange> &changes = whole.result.memory[device];
  for (size_t i = 0; i < list.size(); ++i) {
    const ChunkWork &chunk = chunkOf(list[i]);
    const ActionTasks &tasks = whole.actions[device][i];
    Bytes kept = chunk.kept * whole.share, forWeights = chunk.keptForWeights * whole.share;
    switch (list[i].kind) {
    case Kind::Forward: changes.push_back({tasks.first, false, kept, Bytes(0)}); break;
    case Kind::Backward:
      if (merged(i)) // all stays until the weight gradients are there
        break;
      changes.push_back({tasks.last, true, Bytes(0) - kept, forWeights});
      break;
    case Kind::WeightGradient:
      if (i > 0 && merged(i - 1))
        changes.push_back({tasks.last, true, Bytes(0) - kept, Bytes(0)});
      else
        changes.push_back({tasks.last, true, Bytes(0), Bytes(0) - forWeights});
      break;
    }
  }
}

void GraphBuilder::joinDevices() {
  int64_t stages = schedule.stageCount, units = schedule.microBatchCount * schedule.sliceCount;
  // Where each forward and backward is: device and number in its list.
  std::vector<std::pair<int32_t, int32_t>> places(2 * stages * units, {-1, -1});
  auto place = [&](Kind kind, int64_t stage, const PipelineAction &action) -> std::pair<int32_t, int32_t> & {
    return places[((kind == Kind::Backward) * stages + stage) * units + action.microBatch * schedule.sliceCount + action.slice];
  };
  for (int64_t device = 0; device < schedule.deviceCount(); ++device)
    for (size_t i = 0; i < schedule.devices[device].size(); ++i) {
      const PipelineAction &action = schedule.devices[device][i];
      if (action.kind != Kind::WeightGradient)
        place(action.kind, action.stage, action) = {int32_t(device), int32_t(i)};
    }
  for (int64_t device = 0; device < schedule.deviceCount(); ++device) {
    std::array<int32_t, 2> lastMessage{-1, -1};
    for (size_t i = 0; i < schedule.devices[device].size(); ++i) {
      const PipelineAction &action = schedule.devices[device][i];
      bool forward = action.kind == Kind::Forward;
      int64_t to = action.stage + (forward ? 1 : -1);
      if (action.kind == Kind::WeightGradient || to < 0 || to >= stages)
        continue;
      auto [target, number] = place(action.kind, to, action);
      if (target < 0)
        continue;
      int32_t from = actions[device][i].last, first = actions[target][number].first;
      Seconds taken = (forward ? work.messages.forward : work.messages.backward) * share;
      if (target == device || work.messages.blockingSends || taken.value <= 0) {
        result.graph.addDependence(from, first);
        continue;
      }
      SimulatedEvent event;
      event.stream = forward ? SimulatedStream::MessagesForward : SimulatedStream::MessagesBackward;
      event.kind = SimulatedKind::Message;
      event.backward = !forward;
      event.device = int32_t(device);
      event.stage = int32_t(action.stage);
      event.microBatch = int32_t(action.microBatch);
      event.slice = int32_t(action.slice);
      llvm::SmallVector<ResourceUse, 2> uses;
      if (work.levels) {
        uses.push_back({resource(device, work.messageLevel, false), work.messageLink});
        uses.push_back({resource(target, work.messageLevel, true), work.messageLink});
      }
      int32_t message = add(TaskKind::Communication, event, taken, uses);
      result.graph.addDependence(from, message);
      result.graph.addDependence(message, first);
      if (work.levels) { // one after the other
        result.graph.addDependence(lastMessage[forward], message);
        lastMessage[forward] = message;
      }
    }
  }
}

StepGraph GraphBuilder::build() {
  for (int64_t device = 0; device < schedule.deviceCount(); ++device)
    addUpdate(device);
  result.updateTasks = int32_t(result.graph.tasks.size());
  // Roughly: each action, its message, and what both wait for.
  size_t actionCount = 0;
  for (const std::vector<PipelineAction> &list : schedule.devices)
    actionCount += list.size();
  result.graph.tasks.reserve(2 * actionCount);
  result.kinds.reserve(2 * actionCount);
  result.graph.dependences.reserve(5 * actionCount);
  result.graph.uses.reserve(work.levels ? 2 * actionCount : 0);
  for (int64_t device = 0; device < schedule.deviceCount(); ++device)
    DeviceBuilder(*this, device).build();
  joinDevices();
  return std::move(result);
}

StepGraph mlir::ppc::buildStepGraph(const StepWork &work, const StepSimulationOptions &options) {
  return GraphBuilder(work, options).build();
}
