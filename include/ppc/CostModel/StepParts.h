// The parts that StepEstimator puts a step together from, for callers that price many layouts and share parts between
// them.
#ifndef PPC_COSTMODEL_STEPPARTS_H
#define PPC_COSTMODEL_STEPPARTS_H

#include "ppc/CostModel/StepCost.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir::ppc {

/// The schedule that a layout means, and its shape.
struct StepSchedule {
  const PipelineScheduleKind *kind = nullptr;
  PipelineShape shape;
  bool splitBackward = false; // it places weight gradients on their own
};
/// Errors: an unknown schedule.
llvm::Expected<StepSchedule> resolveSchedule(const TrainingJob &job, const ParallelLayout &layout);

/// Fits the shape to what the chunks take, where the software does so and the schedule can (`fitPipelineShape`).
void fitSchedule(const Stack &stack, llvm::ArrayRef<ChunkCost> chunks, const PipelineMessages &messages,
                 StepSchedule &schedule);

/// How long the pipeline occupies a device in each step: from the first action of any to the last of any; of the device
/// that is busy longest where none waits for the others between steps.
Seconds pipelineTime(const Stack &stack, const PipelineTime &time);

/// Messages between stages.
PipelineMessages priceMessages(const PricingContext &context);

/// What happens once per step on one device of the pipeline axis that holds so many parameters.
struct StateCosts {
  Seconds reduction, gather, optimizer;
  Seconds hostCopies; // of `optimizer`: offloaded gradients and weights on their way to the host and back
};
/// `transfers`: of compiled programs, instead of formulas over the parameters (stateTransfers).
StateCosts priceState(const PricingContext &context, double dense, double experts,
                      llvm::ArrayRef<TransferRow> transfers = {});

/// Of that, what its update takes.
StateCosts priceUpdate(const PricingContext &context, double dense, double experts);

/// What is left behind the last backward of a device where its gradients, whose sums take `reduction` tensor by tensor,
/// are reduced in buckets beside it (`reduces_in_buckets`); `reduction` where that hides less than 1 %.
Seconds leftBehindBackward(const PricingContext &context, llvm::ArrayRef<ChunkCost> chunks,
                           const PipelineProgram &program, int64_t device, Seconds reduction);

/// What a stage keeps per micro-batch in flight beside its layers: what it received and sent (`keeps_stage_outputs`).
Bytes keptStageOutputs(const PricingContext &context);

/// One device of the pipeline axis.
MemoryBreakdown deviceMemory(const PricingContext &context, llvm::ArrayRef<ChunkCost> chunks,
                             const PipelineProgram &program, int64_t device);

/// Whether what is offloaded fits beside that of the other devices of the host.
bool fitsHost(const Cluster &cluster, const MemoryBreakdown &memory);

/// `time`: of `program` with the chunks' durations.
StepCost assembleStep(const PricingContext &context, llvm::ArrayRef<ChunkCost> chunks, const PipelineProgram &program,
                      const PipelineTime &time);
/// The same where devices of the pipeline axis differ: each by its own context, all of one layout.
using DeviceContexts = llvm::function_ref<const PricingContext &(int64_t device)>;
StepCost assembleStep(DeviceContexts contextOf, llvm::ArrayRef<ChunkCost> chunks, const PipelineProgram &program,
                      const PipelineTime &time);

} // namespace mlir::ppc

#endif // PPC_COSTMODEL_STEPPARTS_H
