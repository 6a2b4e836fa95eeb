// A step's work as tasks that wait for each other.
#ifndef PPC_LIB_SIMULATION_STEPGRAPH_H
#define PPC_LIB_SIMULATION_STEPGRAPH_H

#include "ppc/Simulation/StepSimulation.h"
#include "ppc/Simulation/TaskGraph.h"

namespace mlir::ppc {

/// What a device holds grows when `task` starts or ends.
struct MemoryChange {
  int32_t task;
  bool atEnd;
  Bytes kept;    // from forward to backward; may lie in the host's memory
  Bytes waiting; // from backward to the weight gradient
};

/// What of a task's event its measures need.
struct TaskEvent {
  int32_t device;
  SimulatedStream stream;
  SimulatedKind kind;
};

struct StepGraph {
  TaskGraph graph;
  std::vector<TaskEvent> kinds;       // one per task
  std::vector<SimulatedEvent> events; // where they are kept: one per task; times are not set
  std::vector<std::vector<MemoryChange>> memory; // per device, in order
  int32_t updateTasks = 0; // of all devices, the first tasks of the graph
};

/// `options`: everyLayer, opTasks and keepEvents.
StepGraph buildStepGraph(const StepWork &work, const StepSimulationOptions &options);

} // namespace mlir::ppc

#endif // PPC_LIB_SIMULATION_STEPGRAPH_H
