// Peak saved activations of a device, per model chunk: found in its list of actions, or known from the shape alone.
#ifndef PPC_LIB_SCHEDULING_WORSTMOMENTS_H
#define PPC_LIB_SCHEDULING_WORSTMOMENTS_H

#include "ppc/Scheduling/PipelineProgram.h"

namespace mlir::ppc {

/// As PipelineProgram::moments. `schedule`: its stages and replicas count, not its lists; `list`: actions of the
/// device.
std::vector<PipelineProgram::Moment> worstMoments(const PipelineSchedule &schedule, llvm::ArrayRef<PipelineAction> list,
                                                  llvm::ArrayRef<PipelineChunk> chunks);

/// Schedules whose moments follow from the shape by a formula: gpipe, breadth-first, 1f1b, seq1f1b, zb1p, zb2p.
bool hasKnownMoments(const PipelineScheduleKind &kind);
std::vector<PipelineProgram::Moment> knownMoments(const PipelineScheduleKind &kind, const PipelineShape &shape,
                                                  int64_t device);

} // namespace mlir::ppc

#endif // PPC_LIB_SCHEDULING_WORSTMOMENTS_H
