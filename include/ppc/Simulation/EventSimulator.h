// Runs a task graph from event to event: an event is the end of a task, rates are constant in between and follow from
// the running tasks. Time and memory grow with tasks and dependences; some 0.3 us per task.
#ifndef PPC_SIMULATION_EVENTSIMULATOR_H
#define PPC_SIMULATION_EVENTSIMULATOR_H

#include "ppc/Simulation/TaskGraph.h"
#include "llvm/Support/Error.h"

namespace mlir::ppc {

/// A task ran at one rate between two events.
struct RateSegment {
  int32_t task;
  Seconds from, to;
  double rate;
};

struct SimulatedTimes {
  std::vector<Seconds> start, end;   // per task
  Seconds last;                      // end of the last task
  bool stopped = false;              // it is later than was asked for; nothing else is known then
  std::vector<RateSegment> segments; // when asked for: for tests
};

/// Simulates a graph; equal graphs give bitwise equal times. Errors: a task, device or resource that does not exist;
/// work or use that is negative or not finite; cyclic waits. `latest`: stops when a task starts so late that the last
/// one would end later even if all tasks after it ran alone; 0: never.
llvm::Expected<SimulatedTimes> simulateTasks(const TaskGraph &graph, bool recordSegments = false, Seconds latest = {});

} // namespace mlir::ppc

#endif // PPC_SIMULATION_EVENTSIMULATOR_H
