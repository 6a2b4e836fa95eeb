// The generators, one file each, and shared functions. Shapes have been checked (checkPipelineShape).
#ifndef PPC_LIB_SCHEDULING_GENERATORS_H
#define PPC_LIB_SCHEDULING_GENERATORS_H

#include "ppc/Scheduling/PipelineSchedule.h"

namespace mlir::ppc {

PipelineSchedule makeGPipeSchedule(const PipelineShape &shape);
PipelineSchedule makeOneFOneBSchedule(const PipelineShape &shape);
PipelineSchedule makeInterleavedSchedule(const PipelineShape &shape);
PipelineSchedule makeBreadthFirstSchedule(const PipelineShape &shape);

PipelineSchedule makeZeroBubble1pSchedule(const PipelineShape &shape);
PipelineSchedule makeZeroBubble2pSchedule(const PipelineShape &shape);
PipelineSchedule makeZeroBubbleVSchedule(const PipelineShape &shape);
PipelineSchedule makeVHalfSchedule(const PipelineShape &shape);
PipelineSchedule makeVMinSchedule(const PipelineShape &shape);
PipelineSchedule makeWaveSchedule(const PipelineShape &shape);
PipelineSchedule makeChimeraSchedule(const PipelineShape &shape);
PipelineSchedule makeDualPipeSchedule(const PipelineShape &shape);
PipelineSchedule makeDualPipeVSchedule(const PipelineShape &shape);
PipelineSchedule makeSequenceChunkedSchedule(const PipelineShape &shape);

// Appends the actions of one device.
void makeGPipeDevice(const PipelineShape &shape, int64_t device, std::vector<PipelineAction> &actions);
void makeOneFOneBDevice(const PipelineShape &shape, int64_t device, std::vector<PipelineAction> &actions);
void makeInterleavedDevice(const PipelineShape &shape, int64_t device, std::vector<PipelineAction> &actions);
void makeBreadthFirstDevice(const PipelineShape &shape, int64_t device, std::vector<PipelineAction> &actions);
void makeZeroBubble1pDevice(const PipelineShape &shape, int64_t device, std::vector<PipelineAction> &actions);
void makeZeroBubble2pDevice(const PipelineShape &shape, int64_t device, std::vector<PipelineAction> &actions);
void makeZeroBubbleVDevice(const PipelineShape &shape, int64_t device, std::vector<PipelineAction> &actions);
void makeDualPipeDevice(const PipelineShape &shape, int64_t device, std::vector<PipelineAction> &actions);
void makeDualPipeVDevice(const PipelineShape &shape, int64_t device, std::vector<PipelineAction> &actions);
void makeSequenceChunkedDevice(const PipelineShape &shape, int64_t device, std::vector<PipelineAction> &actions);

// Waits that the orders of devices impose.
std::vector<OrderLimit> limitOneFOneB(const PipelineShape &shape);
std::vector<OrderLimit> limitVHalf(const PipelineShape &shape);
std::vector<OrderLimit> limitVMin(const PipelineShape &shape);
std::vector<OrderLimit> limitWave(const PipelineShape &shape);
std::vector<OrderLimit> limitChimera(const PipelineShape &shape);

/// Order of the zero-bubble schedules on one device: forwards before the first pair of F and B, and deferred W. With
/// slopes of `factor` per device if the shape has none, at most `factor` p micro-batches are in flight.
struct SlopedOrder {
  int64_t ahead, held;
};
SlopedOrder slopedOrder(const PipelineShape &shape, int64_t factor, int64_t device);

/// A schedule without actions: `chunks` x `devices` virtual stages, device lists empty.
PipelineSchedule makeEmptySchedule(llvm::StringRef name, const PipelineShape &shape);

// Placements: [replica][virtual stage] -> device.
using StagePlaces = std::vector<std::vector<int64_t>>;
/// Virtual stage s on device s % p.
StagePlaces placeRoundRobin(const PipelineShape &shape);
/// Down and up again: 0, 1, .., p-1, p-1, .., 1, 0, 0, 1, ..
StagePlaces placeZigzag(const PipelineShape &shape);
/// Two replicas: stage s on device s, and on device p - 1 - s.
StagePlaces placeBothWays(const PipelineShape &shape);
/// The first half of the micro-batches through replica 0, the others through replica 1.
std::vector<int64_t> bidirectionalReplicas(int64_t microBatches);

using DeviceGenerator = void (*)(const PipelineShape &shape, int64_t device, std::vector<PipelineAction> &actions);
/// Fills the lists of all devices.
PipelineSchedule makeByDevice(PipelineSchedule schedule, const PipelineShape &shape, DeviceGenerator makeDevice);

} // namespace mlir::ppc

#endif // PPC_LIB_SCHEDULING_GENERATORS_H
