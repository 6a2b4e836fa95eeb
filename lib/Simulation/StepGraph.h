// A step's work as tasks that wait for each other.
#ifndef PPC_LIB_SIMULATION_STEPGRAPH_H
#define PPC_LIB_SIMULATION_STEPGRAPH_H

#include "ppc/Simulation/StepSimulation.h"
#include "ppc/Simulation/TaskGraph.h"

namespace mlir::ppc {

/// A change of a device's memory when `task` starts or ends.
struct MemoryChange {
  int32_t task;
  bool atEnd;
  Bytes kept;    // activations saved from forward to backward; may be offloaded to the host
  Bytes waiting; // from backward to the weight gradient
};

/// Facts of a task's event that measures need.
struct TaskEvent {
  int32_t device;
  SimulatedStream stream;
  SimulatedKind kind;
};

/// Actions of a device one after the other, of which no task is written: `task`, which takes no time, stands for them.
struct ActionRun {
  int32_t task, device, begin, end; // the actions [begin, end) of its list
};

/// An action between runs.
struct WrittenAction {
  int32_t device, action; // index in its list
  int32_t first, last;    // tasks
};

struct StepGraph {
  TaskGraph graph;
  std::vector<TaskEvent> kinds;                  // one per task
  std::vector<SimulatedEvent> events;            // where they are kept: one per task; times are not set
  std::vector<std::vector<MemoryChange>> memory; // per device, in order
  int32_t updateTasks = 0;                       // update tasks of all devices, the first tasks of the graph
  std::vector<int32_t> firstTasks; // per device, after the updates; and the end of the last update, before transfers
  // In runs only.
  std::vector<ActionRun> runs;
  std::vector<WrittenAction> written;
  std::vector<std::array<llvm::SmallVector<ResourceUse, 8>, opGroupCount>>
      groupUses; // per device: of collectives in layers
};

/// The links of a device on a level of the cluster.
inline int32_t linkResource(const StepWork &work, int64_t device, int64_t level, bool incoming) {
  return int32_t((device * work.levels + level) * 2 + incoming);
}

/// `options`: everyLayer, opTasks and keepEvents.
StepGraph buildStepGraph(const StepWork &work, const StepSimulationOptions &options);

/// Builds only tasks that are more than compute and the collectives that it waits for: updates, the exchange of state,
/// and the actions that overlap with it; no transfers, no memory. Activations stay on the device, sends do not block.
StepGraph buildStepInRuns(const StepWork &work);

} // namespace mlir::ppc

#endif // PPC_LIB_SIMULATION_STEPGRAPH_H
