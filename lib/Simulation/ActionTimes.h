// What an action of a schedule takes on a layer, and on all layers of its chunk.
#ifndef PPC_LIB_SIMULATION_ACTIONTIMES_H
#define PPC_LIB_SIMULATION_ACTIONTIMES_H

#include "ppc/Simulation/StepSimulation.h"

namespace mlir::ppc {

/// Of one micro-batch on one layer, collectives that compute waits for included.
Seconds takenBy(PipelineActionKind kind, const LayerWork &layer);
/// Those collectives.
GroupTimes exposedIn(PipelineActionKind kind, const LayerWork &layer);

/// Of one micro-batch, all layers of a chunk together.
struct ActionTimes {
  Seconds compute;
  GroupTimes exposed = {};
};
/// By kind of action, for each virtual stage.
using ChunkTimes = std::array<ActionTimes, 3>;
std::vector<ChunkTimes> sumUpChunks(const StepWork &work);

/// Whether the device's i-th action is a B, or the W of one, in a block with an F.
bool isInBlock(const PipelineSchedule &schedule, int64_t device, size_t i);
/// What such an action takes of its time alone.
double pairedScale(const ChunkWork &chunk, PipelineActionKind kind);
SimulatedKind simulatedKind(PipelineActionKind kind);

} // namespace mlir::ppc

#endif // PPC_LIB_SIMULATION_ACTIONTIMES_H
