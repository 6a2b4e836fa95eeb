// Time of an action of a schedule on a layer, and on all layers of its chunk.
#ifndef PPC_LIB_SIMULATION_ACTIONTIMES_H
#define PPC_LIB_SIMULATION_ACTIONTIMES_H

#include "ppc/Simulation/StepSimulation.h"

namespace mlir::ppc {

/// Time of one micro-batch on one layer, with the collectives that compute waits for.
Seconds takenBy(PipelineActionKind kind, const LayerWork &layer);
/// Those collectives.
GroupTimes exposedIn(PipelineActionKind kind, const LayerWork &layer);

/// Times of one micro-batch, summed over all layers of a chunk.
struct ActionTimes {
  Seconds compute;
  GroupTimes exposed = {};
};
/// Times by kind of action, for each virtual stage.
using ChunkTimes = std::array<ActionTimes, 3>;
std::vector<ChunkTimes> sumUpChunks(const StepWork &work);

/// Whether the device's i-th action is a B, or the W of one, in a block with an F.
bool isInBlock(const PipelineSchedule &schedule, int64_t device, size_t i);
/// Factor of the time of an action in a pair of F and B, relative to its time alone.
double pairedScale(const ChunkWork &chunk, PipelineActionKind kind);
SimulatedKind simulatedKind(PipelineActionKind kind);

} // namespace mlir::ppc

#endif // PPC_LIB_SIMULATION_ACTIONTIMES_H
