// Tasks of one device: update, actions, concurrent exchange of state.
#include "GraphBuilder.h"
#include "LayerParts.h"

#include <algorithm>

using namespace mlir::ppc;

using Kind = PipelineActionKind;

void GraphBuilder::DeviceBuilder::planTurns() {
  firstTurn.assign(list.size() + 1, 0);
  // Per chunk the last action that leaves gradients, and the first forward.
  auto numberOf = [&](const PipelineAction &action) { return work.schedule.chunkIndex(action); };
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
    bool gathersHere =
        (action.kind == Kind::Forward || (action.kind == Kind::Backward && work.gathersForBackward)) &&
        (!work.gathersOnce || first) &&
        action.slice == (action.kind == Kind::Forward ? 0 : work.schedule.sliceCount - 1);       // the first that comes
    bool scattersHere = leaves && (last || (work.scattersEveryMicroBatch && action.slice == 0)); // the last that comes
    bool moves = false, drawn = whole.everyLayer || whole.inOps(action);
    if (!gathersHere && !first && !last && !scattersHere && !drawn)
      continue;
    here.clear();
    for (size_t l = 0; l < layers.size(); ++l) {
      int32_t layer = action.kind == Kind::Forward ? int32_t(l) : int32_t(layers.size() - 1 - l);
      LayerTurn turn{i, layer};
      turn.gathers = (gathersHere && layers[layer].gather.value > 0) ||
                     (first && state.gather.value > 0 && work.overlapsGather && layers[layer].parameters > 0);
      turn.scatters = scattersHere && layers[layer].scatter.value > 0;
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

/// Adds compute, then collectives that it waits for; all times `scale` times.
int32_t GraphBuilder::DeviceBuilder::addPart(const PipelineAction &action, int32_t layer, Seconds compute,
                                             const GroupTimes &exposed, double scale) {
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
    SimulatedEvent event = eventOf(
        action, part.communication ? SimulatedStream::LayerCollectives : SimulatedStream::Compute, kindOf(action));
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
  while (nextGather < gathering.size() &&
         (gathering[nextGather] <= turn || (nextGather && gathering[nextGather - 1] <= turn))) {
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

void GraphBuilder::DeviceBuilder::addLayers(size_t i, double scale, ActionTasks &tasks) {
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
    if (tasks.first < 0)
      tasks.first = first;
    SimulatedEvent event = eventOf(action, SimulatedStream::StateCollectives, SimulatedKind::GradientReduction);
    event.layer = turns[turn].layer;
    if (turns[turn].scatters)
      onStateStream(event, layer.scatter, main);
    if (turns[turn].reduces) {
      waitingElements += layer.parameters;
      reductionAfter = main;
      reductionEvent = event;
      flushReduction(/*all=*/false);
    }
  }
}

void GraphBuilder::DeviceBuilder::addToRun(size_t i) {
  if (firstTurn[i] < firstTurn[i + 1]) {
    ActionTasks tasks;
    addAction(i, tasks);
    whole.result.written.push_back({int32_t(device), int32_t(i), tasks.first, tasks.last});
    return;
  }
  std::vector<ActionRun> &runs = whole.result.runs;
  if (runs.empty() || runs.back().task != main) {
    int32_t task =
        whole.add(TaskKind::Compute, eventOf(list[i], SimulatedStream::Compute, kindOf(list[i])), Seconds(0));
    whole.result.graph.addDependence(main, task);
    runs.push_back({main = task, int32_t(device), int32_t(i), int32_t(i)});
  }
  runs.back().end = int32_t(i) + 1;
}

void GraphBuilder::DeviceBuilder::addAction(size_t i, ActionTasks &tasks) {
  const PipelineAction &action = list[i];
  double scale = whole.share * actionScale(i);
  addCopyBefore(i);
  if (firstTurn[i] < firstTurn[i + 1]) {
    addLayers(i, scale, tasks);
  } else {
    const ActionTimes &times = whole.chunkTimes[action.stage][int(action.kind)];
    tasks.first = addPart(action, -1, std::max(Seconds(0), times.compute), times.exposed, scale);
  }
  tasks.last = main;
  addCopyAfter(i);
  // A blocking send holds the device.
  if (work.messages.blockingSends && action.kind != Kind::WeightGradient) {
    int64_t to = action.stage + (action.kind == Kind::Forward ? 1 : -1),
            replica = work.schedule.replicaOf(action.microBatch);
    if (to >= 0 && to < work.schedule.stageCount && work.schedule.deviceOf(replica, to) != device) {
      bool forward = action.kind == Kind::Forward;
      SimulatedEvent event =
          eventOf(action, forward ? SimulatedStream::MessagesForward : SimulatedStream::MessagesBackward,
                  SimulatedKind::Message);
      llvm::SmallVector<ResourceUse, 2> uses;
      if (work.levels) {
        uses.push_back({whole.resource(device, work.messageLevel, false), work.messageLink});
        uses.push_back(
            {whole.resource(work.schedule.deviceOf(replica, to), work.messageLevel, true), work.messageLink});
      }
      int32_t message = whole.add(TaskKind::Communication, event,
                                  (forward ? work.messages.forward : work.messages.backward) * whole.share, uses);
      whole.result.graph.addDependence(main, message);
      main = tasks.last = message;
    }
  }
}

/// Saved activations are offloaded to the host if two more forwards come before their backward; the rest stays.
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
  // Two micro-batches fit on the device: the next forward needs the memory of the one before.
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
    case Kind::Forward:
      changes.push_back({tasks.first, false, kept, Bytes(0)});
      break;
    case Kind::Backward:
      if (merged(i)) // all activations stay until the weight gradients are computed
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
