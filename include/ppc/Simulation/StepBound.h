// Lower bound on the replayed time of a step, from the time of its pipeline alone: a search for the fastest of several
// steps need not replay the others.
//
// In a replay no task runs faster than alone, each device runs its actions in the order of its schedule after its
// update, and an action waits for the same transfers as in the pipeline alone, at the latest for the first forward of
// the first stage. By induction no action ends earlier than in the pipeline alone, started when the first stage's
// device has updated and has its parameters. Gradients of a device are reduced one after the other after its last
// backward, or from its start on.
#ifndef PPC_SIMULATION_STEPBOUND_H
#define PPC_SIMULATION_STEPBOUND_H

#include "ppc/Scheduling/PipelineTime.h"
#include "ppc/Simulation/StepSimulation.h"

namespace mlir::ppc {

/// Bounds simulateStep with the default options. Returns 0 if nothing is known: for steps that start without waiting
/// for the devices of the previous one, and for heterogeneous clusters. Errors: as PipelineTimer.
llvm::Expected<Seconds> boundSimulatedStep(const ModelShape &model, const TrainingJob &job, const Cluster &cluster,
                                           const ParallelLayout &layout, const Stack &stack, const StepDetail &detail,
                                           const StepCost &cost, PipelineTimer &timer);

/// Tasks that simulateStep replays with the default options, roughly. Each takes some 0.2 us and 100 bytes.
double expectedReplayTasks(const ParallelLayout &layout, const StepDetail &detail);
/// Up to this number of tasks each, two concurrent replays fit into some 400 MB.
constexpr double replayTasksInPairs = 2e6;

} // namespace mlir::ppc

#endif // PPC_SIMULATION_STEPBOUND_H
