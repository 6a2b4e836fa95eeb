// The generators, one file each, and what they share. Shapes have been checked (checkPipelineShape).
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

/// A schedule without actions: `chunks` x `devices` virtual stages, device lists empty.
PipelineSchedule makeEmptySchedule(llvm::StringRef name, const PipelineShape &shape);

/// Virtual stage s on device s % p.
std::vector<int64_t> roundRobinPlacement(const PipelineShape &shape);
/// Down and up again: 0, 1, .., p-1, p-1, .., 1, 0, 0, 1, ..
std::vector<int64_t> zigzagPlacement(const PipelineShape &shape);
/// Two replicas: stage s on device s, and on device p - 1 - s.
std::vector<std::vector<int64_t>> bidirectionalPlacement(const PipelineShape &shape);
/// Even micro-batches through replica 0, odd ones through replica 1.
std::vector<int64_t> bidirectionalReplicas(int64_t microBatches);

/// The schedule of the first so many micro-batches only: what stays of a sound schedule is sound.
PipelineSchedule dropMicroBatches(PipelineSchedule schedule, int64_t microBatches);

} // namespace mlir::ppc

#endif // PPC_LIB_SCHEDULING_GENERATORS_H
