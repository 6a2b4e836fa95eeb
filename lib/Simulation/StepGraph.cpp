// Devices are written one after the other, each in the order of its schedule; then messages join them.
#include "StepGraph.h"

#include "GraphBuilder.h"

#include <algorithm>

using namespace mlir::ppc;

using Kind = PipelineActionKind;

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

void GraphBuilder::joinDevices() {
  int64_t stages = schedule.stageCount, units = schedule.microBatchCount * schedule.sliceCount;
  // Where each forward and backward is: device and number in its list.
  std::vector<std::pair<int32_t, int32_t>> places(2 * stages * units, {-1, -1});
  auto place = [&](Kind kind, int64_t stage, const PipelineAction &action) -> std::pair<int32_t, int32_t> & {
    return places[((kind == Kind::Backward) * stages + stage) * units + action.microBatch * schedule.sliceCount +
                  action.slice];
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
  // Approximately: each action, its transfer, and the waits of both.
  size_t actionCount = 0;
  for (const std::vector<PipelineAction> &list : schedule.devices)
    actionCount += list.size();
  if (inRuns)
    actionCount = 0;
  result.graph.tasks.reserve(2 * actionCount);
  result.kinds.reserve(2 * actionCount);
  result.graph.dependences.reserve(5 * actionCount);
  result.graph.uses.reserve(work.levels ? 2 * actionCount : 0);
  for (int64_t device = 0; device < schedule.deviceCount(); ++device) {
    result.firstTasks.push_back(int32_t(result.graph.tasks.size()));
    DeviceBuilder(*this, device).build();
  }
  result.firstTasks.push_back(int32_t(result.graph.tasks.size()));
  if (!inRuns)
    joinDevices();
  return std::move(result);
}

StepGraph mlir::ppc::buildStepGraph(const StepWork &work, const StepSimulationOptions &options) {
  return GraphBuilder(work, options, /*inRuns=*/false).build();
}

StepGraph mlir::ppc::buildStepInRuns(const StepWork &work) { return GraphBuilder(work, {}, /*inRuns=*/true).build(); }
