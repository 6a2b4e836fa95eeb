// The generators, one file each, and what they share. Shapes have been checked (checkPipelineShape).
#ifndef PPC_LIB_SCHEDULING_GENERATORS_H
#define PPC_LIB_SCHEDULING_GENERATORS_H

#include "ppc/Scheduling/PipelineSchedule.h"

namespace mlir::ppc {

PipelineSchedule makeGPipeSchedule(const PipelineShape &shape);
PipelineSchedule makeOneFOneBSchedule(const PipelineShape &shape);
PipelineSchedule makeInterleavedSchedule(const PipelineShape &shape);
PipelineSchedule makeBreadthFirstSchedule(const PipelineShape &shape);

/// A schedule without actions: `chunks` x `devices` virtual stages, device lists empty.
PipelineSchedule makeEmptySchedule(llvm::StringRef name, const PipelineShape &shape);

/// Virtual stage s on device s % p.
std::vector<int64_t> roundRobinPlacement(const PipelineShape &shape);
/// Down and up again: 0, 1, .., p-1, p-1, .., 1, 0, 0, 1, ..
std::vector<int64_t> zigzagPlacement(const PipelineShape &shape);

} // namespace mlir::ppc

#endif // PPC_LIB_SCHEDULING_GENERATORS_H
