// Proves a pipeline schedule sound without trusting the generator that made it.
#ifndef PPC_SCHEDULING_SCHEDULEVERIFIER_H
#define PPC_SCHEDULING_SCHEDULEVERIFIER_H

#include "ppc/Scheduling/PipelineSchedule.h"

namespace mlir::ppc {

/// Checks, with K = `slots[replica * stageCount + s]` slots on virtual stage s:
///  C0  every stage is on a device that exists, every micro-batch on a replica that exists;
///  C1  each stage runs F, B and W of each slice of each micro-batch exactly once, on the device that holds it in the
///      micro-batch's replica, and nothing else;
///  C2  on a stage, B comes after F and W after B, of the same slice; F of a slice after F of the slice before, B of a
///      slice after B of the next slice;
///  C3  never more than K micro-batches are in flight on a stage, and never two in the same slot m % K;
///  C4  the step ends: run with asynchronous sends and blocking receives (F(s, m) needs F(s-1, m), B(s, m) needs
///      B(s+1, m)), and with a device waiting, before a stage re-uses a slot, until everything sent from it is
///      received, no device deadlocks.
/// The error names the device, the stage when the device has several, the action, and what is missing.
llvm::Error verifySchedule(const PipelineSchedule &schedule, llvm::ArrayRef<int64_t> slots);

} // namespace mlir::ppc

#endif // PPC_SCHEDULING_SCHEDULEVERIFIER_H
