// Writes the tasks of a step's devices: each in the order of its schedule.
#ifndef PPC_LIB_SIMULATION_GRAPHBUILDER_H
#define PPC_LIB_SIMULATION_GRAPHBUILDER_H

#include "ActionTimes.h"
#include "StepGraph.h"

#include <algorithm>

namespace mlir::ppc {

/// Tasks of one action.
struct ActionTasks {
  int32_t first = -1, last = -1;
};

/// A layer's turn on a device: parameters are gathered before it, gradients reduced after it.
struct LayerTurn {
  size_t action; // index in the device's list
  int32_t layer;
  bool gathers = false, scatters = false, reduces = false;
};

class GraphBuilder {
public:
  GraphBuilder(const StepWork &work, const StepSimulationOptions &options, bool inRuns)
      : work(work), schedule(work.schedule), everyLayer(options.everyLayer), keepEvents(options.keepEvents),
        inRuns(inRuns), chunkTimes(sumUpChunks(work)), share(1.0 / double(schedule.sliceCount)) {
    if (!inRuns)
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
    return linkResource(work, device, level, incoming);
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
  bool everyLayer, keepEvents, inRuns;
  std::vector<ChunkTimes> chunkTimes; // per virtual stage
  int64_t opMicroBatches = 0;
  double share; // share of a micro-batch in one action
  StepGraph result;
  std::vector<std::vector<ActionTasks>> actions; // per device and action
  std::vector<int32_t> updated;                  // per device: the task that ends the update
};

/// Writes the tasks of one device.
class GraphBuilder::DeviceBuilder {
public:
  DeviceBuilder(GraphBuilder &whole, int64_t device)
      : whole(whole), work(whole.work), list(whole.schedule.devices[device]), state(work.devices[device]),
        device(device), main(whole.updated[device]), stateLast(main) {}

  void build() {
    stateUses = whole.links(device, state.stateLinks);
    for (int group = 0; group < opGroupCount; ++group)
      groupUses[group] = whole.links(device, work.groupLinks[group]);
    planTurns();
    if (!whole.inRuns)
      whole.actions[device].resize(list.size());
    for (size_t i = 0; i < list.size(); ++i)
      whole.inRuns ? addToRun(i) : addAction(i, whole.actions[device][i]);
    flushReduction(/*all=*/true);
    if (whole.inRuns)
      whole.result.groupUses.push_back(std::move(groupUses));
    else
      trackMemory();
  }

private:
  const ChunkWork &chunkOf(const PipelineAction &action) const { return work.chunks[action.stage]; }
  static SimulatedKind kindOf(const PipelineAction &action) { return simulatedKind(action.kind); }
  /// Factor of an action's times: below 1 in a block with the F before it.
  double actionScale(size_t i) const {
    return isInBlock(work.schedule, device, i) ? pairedScale(chunkOf(list[i]), list[i].kind) : 1;
  }
  bool merged(size_t i) const { return isMerged(list, i); }
  void planTurns();
  void addAction(size_t i, ActionTasks &tasks);
  /// Adds the action's tasks if state of layers moves concurrently, or none.
  void addToRun(size_t i);
  void addLayers(size_t i, double scale, ActionTasks &tasks);
  int32_t addPart(const PipelineAction &action, int32_t layer, Seconds compute, const GroupTimes &exposed,
                  double scale);
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
    event.backward = action.kind != PipelineActionKind::Forward;
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
  int32_t stateLast; // last task of the stream of state
  llvm::SmallVector<ResourceUse, 8> stateUses;
  std::array<llvm::SmallVector<ResourceUse, 8>, opGroupCount> groupUses;
  double parameters = 0; // parameters of all chunks
  // Layers in the order of the device, if their state moves concurrently.
  std::vector<LayerTurn> turns;
  std::vector<int32_t> gatherTasks, turnEnds; // per turn; -1: none
  std::vector<size_t> gathering;              // turns that parameters come for
  size_t nextGather = 0;                      // index of the next of those
  std::vector<size_t> firstTurn;              // per action; turns of an action follow each other
  double waitingElements = 0;                 // elements of gradients whose bucket is not full
  int32_t reductionAfter = -1;
  SimulatedEvent reductionEvent;
  // Copies to the host.
  std::vector<int32_t> copiedOut, copiedIn; // per action
  std::vector<size_t> partners; // per forward its backward and the other way round; list.size(): none copied
  int32_t outLast = -1, inLast = -1;
  llvm::SmallVector<int32_t, 2> recentBackwards;
};

} // namespace mlir::ppc

#endif // PPC_LIB_SIMULATION_GRAPHBUILDER_H
