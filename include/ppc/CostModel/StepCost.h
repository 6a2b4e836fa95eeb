// One training step of a layout on a cluster: time, memory, and where they go. Derivation: docs/internals/CostModel.md.
#ifndef PPC_COSTMODEL_STEPCOST_H
#define PPC_COSTMODEL_STEPCOST_H

#include "ppc/CostModel/StageCost.h"

#include <memory>

namespace mlir::ppc {

/// Bytes of the rank of a stage at its peak, by kind.
struct MemoryBreakdown {
  Bytes parameters, gradients, optimizer, activations;
  Bytes workspace;      // temporaries of the largest layer, logits, attention
  Bytes communication;  // buffers of collectives, gathered parameters
  Bytes allocator;      // rounding and fragmentation
  Bytes framework;      // context, libraries, communicators
  Bytes host;           // offloaded, in the host's memory
  Bytes hostParameters; // part of those: parameters as matmuls read them
  Bytes emptySlots;     // part of `activations`: slots of arenas that are empty at the peak
  Bytes total() const;  // bytes on the device: without `host`
};

struct StageCost {
  Seconds forward, backward, weightGradient;             // for one micro-batch, all chunks of the stage
  Seconds communication;                                 // part of those: exposed collectives inside the layers
  Seconds gradientReduction, parameterGather, optimizer; // once per step
  Seconds exposedReduction, exposedGather;               // part of those that no compute hides
  MemoryBreakdown memory;
};

struct StepCost {
  Seconds stepTime;
  Seconds pipeline;         // first forward to last backward
  Seconds exposedGradients; // data-parallel communication that nothing hides
  Seconds optimizer;
  Seconds exposedCommunication;           // all kinds, on the stage where they are most
  double bubble = 0;                      // idle share of the busiest stage within `pipeline`
  llvm::SmallVector<StageCost, 8> stages; // by pipeline rank
  int64_t worstStage = 0;                 // by memory
  Bytes peakMemory;
  bool fits = false;
  double modelFlops = 0, hardwareFlops = 0; // per step, whole job; modelFlopsPerToken, and with recomputation
  double mfu = 0, hfu = 0;                  // shares of the devices' peaks in the precision of matmuls
                                            // (productPrecision)
  double tokensPerSecondPerDevice = 0;
};

/// Parts of a step's cost: enough to draw its timeline and to show where the time goes.
struct StepDetail {
  const PipelineScheduleKind *schedule = nullptr;
  PipelineShape shape;
  PipelineMessages messages;
  ModelCosts costs;
  std::vector<llvm::SmallVector<PipelineChunk, 2>> chunks; // by pipeline rank
};

/// Estimates layouts. Keeps compiled schedules between calls: one estimator per thread.
class StepEstimator {
public:
  /// `compiled`: of its PipelineTimer.
  explicit StepEstimator(PipelineTimer::Compiled compiled = {});
  ~StepEstimator();
  /// Errors: as verifyLayout; more devices than the cluster holds; a schedule that cannot be made for these sizes.
  llvm::Expected<StepCost> estimate(const ModelShape &model, const TrainingJob &job, const Cluster &cluster,
                                    const ParallelLayout &layout, const Stack &stack, StepDetail *detail = nullptr);

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace mlir::ppc

#endif // PPC_COSTMODEL_STEPCOST_H
