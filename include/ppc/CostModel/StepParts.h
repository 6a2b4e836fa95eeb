// Parts from which StepEstimator composes a step, for callers that estimate many layouts and share parts between them.
#ifndef PPC_COSTMODEL_STEPPARTS_H
#define PPC_COSTMODEL_STEPPARTS_H

#include "ppc/CostModel/StepCost.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir::ppc {

/// The schedule that a layout means, and its shape.
struct StepSchedule {
  const PipelineScheduleKind *kind = nullptr;
  PipelineShape shape;
  bool splitBackward = false; // it runs weight gradients separately
};
/// Errors: an unknown schedule.
llvm::Expected<StepSchedule> resolveSchedule(const TrainingJob &job, const ParallelLayout &layout);

/// Fits the shape to the durations of the chunks, if the software does so and the schedule can (`fitPipelineShape`).
void fitSchedule(const Stack &stack, llvm::ArrayRef<ChunkCost> chunks, const PipelineMessages &messages,
                 StepSchedule &schedule);

/// How long the pipeline occupies a device in each step: from the first action of any to the last of any; of the device
/// that is busy longest where none waits for the others between steps.
Seconds pipelineTime(const Stack &stack, const PipelineTime &time);

/// Messages between stages.
PipelineMessages priceMessages(const PricingContext &context);

/// Costs that occur once per step on one pipeline rank, for its number of parameters.
struct StateCosts {
  Seconds reduction, gather, optimizer;
  Seconds hostCopies; // part of `optimizer`: copies of offloaded gradients and weights to the host and back
};
/// `transfers`: of compiled programs, instead of formulas over the parameters (stateTransfers).
StateCosts priceState(const PricingContext &context, double dense, double experts,
                      llvm::ArrayRef<TransferRow> transfers = {});

/// Cost of the update only.
StateCosts priceUpdate(const PricingContext &context, double dense, double experts);

/// Exposed time after the last backward of a device whose gradients, which take `reduction` tensor by tensor, are
/// reduced in buckets that overlap with it (`reduces_in_buckets`); `reduction` if that hides less than 1 %.
Seconds leftBehindBackward(const PricingContext &context, llvm::ArrayRef<ChunkCost> chunks,
                           const PipelineProgram &program, int64_t device, Seconds reduction);

/// Bytes that a stage saves per micro-batch in flight in addition to its layers: its inputs and outputs
/// (`keeps_stage_outputs`).
Bytes keptStageOutputs(const PricingContext &context);

/// Memory of one pipeline rank.
MemoryBreakdown deviceMemory(const PricingContext &context, llvm::ArrayRef<ChunkCost> chunks,
                             const PipelineProgram &program, int64_t device);

/// Whether offloaded state fits into host memory together with that of the host's other devices.
bool fitsHost(const Cluster &cluster, const MemoryBreakdown &memory);

/// `time`: of `program` with the chunks' durations.
StepCost assembleStep(const PricingContext &context, llvm::ArrayRef<ChunkCost> chunks, const PipelineProgram &program,
                      const PipelineTime &time);
/// Overload for pipeline ranks that differ: each with its own context, all of one layout.
using DeviceContexts = llvm::function_ref<const PricingContext &(int64_t device)>;
StepCost assembleStep(DeviceContexts contextOf, llvm::ArrayRef<ChunkCost> chunks, const PipelineProgram &program,
                      const PipelineTime &time);

} // namespace mlir::ppc

#endif // PPC_COSTMODEL_STEPPARTS_H
