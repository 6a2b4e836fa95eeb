// What a replay cannot be faster than, for the time of its pipeline alone: who looks for the fastest of several steps
// need not replay the others.
//
// In a replay no task runs faster than by itself, each device runs its actions in the order of its schedule behind its
// update, and an action waits for the same messages as in the pipeline alone, in the end for the first forward of the
// first stage: by induction none ends earlier than there, begun when the first stage's device has updated and has its
// parameters. A device's gradients are reduced one after the other behind its last backward, or from its begin on.
#ifndef PPC_SIMULATION_STEPBOUND_H
#define PPC_SIMULATION_STEPBOUND_H

#include "ppc/Scheduling/PipelineTime.h"
#include "ppc/Simulation/StepSimulation.h"

namespace mlir::ppc {

/// As simulateStep with the default options. 0 where nothing is known: steps that begin without waiting for the
/// devices of the one before, and those on groups of devices. Errors: as PipelineTimer.
llvm::Expected<Seconds> boundSimulatedStep(const ModelShape &model, const TrainingJob &job, const Cluster &cluster,
                                           const ParallelLayout &layout, const Stack &stack, const StepDetail &detail,
                                           const StepCost &cost, PipelineTimer &timer);

/// Tasks that simulateStep replays with the default options, roughly. Each takes some 0.2 us and 100 bytes.
double expectedReplayTasks(const ParallelLayout &layout, const StepDetail &detail);
/// Two replays of so many tasks each fit into some 400 MB, side by side.
constexpr double replayTasksInPairs = 2e6;

} // namespace mlir::ppc

#endif // PPC_SIMULATION_STEPBOUND_H
