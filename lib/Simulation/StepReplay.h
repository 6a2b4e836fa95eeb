// Replays a step as simulateTasks replays its graph, without storing a task per action: each device goes through its
// schedule, and its sends wait in a queue. At most one task runs on each of a device's streams, so the next event is
// the earliest over devices. Some 0.06 us per task, and memory for the schedule only.
#ifndef PPC_LIB_SIMULATION_STEPREPLAY_H
#define PPC_LIB_SIMULATION_STEPREPLAY_H

#include "ppc/Simulation/StepSimulation.h"

namespace mlir::ppc {

/// Returns whether replayInRuns supports the step: nothing is copied to the host while it runs, sends do not block,
/// transfers of one direction leave one after the other, and the options ask for neither events nor more tasks than
/// actions.
bool canReplayInRuns(const StepWork &work, const StepSimulationOptions &options);

/// As simulateWork; sums of times may differ in their last digits. Errors: as there.
llvm::Expected<SimulatedStep> replayInRuns(const StepWork &work, const StepSimulationOptions &options);

} // namespace mlir::ppc

#endif // PPC_LIB_SIMULATION_STEPREPLAY_H
