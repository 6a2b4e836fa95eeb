// One training step of a layout on a cluster: time, memory, and where they go. Derivation: docs/internals/CostModel.md.
#ifndef PPC_COSTMODEL_STEPCOST_H
#define PPC_COSTMODEL_STEPCOST_H

#include "ppc/CostModel/StageCost.h"

#include <memory>

namespace mlir::ppc {

/// Bytes of the rank of a stage at its worst moment, by kind.
struct MemoryBreakdown {
  Bytes parameters, gradients, optimizer, activations;
  Bytes workspace;      // temporaries of the largest layer, logits, attention
  Bytes communication;  // buffers of collectives, gathered parameters
  Bytes allocator;      // rounding and fragmentation
  Bytes framework;      // context, libraries, communicators
  Bytes host;           // offloaded, in the host's memory
  Bytes hostParameters; // of those, parameters as products read them
  Bytes emptySlots;     // of `activations`, those of arenas in which nothing lies at the worst moment
  Bytes total() const;  // of the device: without `host`
};

struct StageCost {
  Seconds forward, backward, weightGradient;             // of one micro-batch, all chunks of the stage
  Seconds communication;                                 // of those, exposed collectives inside the layers
  Seconds gradientReduction, parameterGather, optimizer; // once per step
  Seconds exposedReduction, exposedGather;               // of those, what no compute hides
  MemoryBreakdown memory;
};

struct StepCost {
  Seconds stepTime;
  Seconds pipeline;         // first forward to last backward
  Seconds exposedGradients; // data-parallel communication that nothing hides
  Seconds optimizer;
  Seconds exposedCommunication;           // all kinds, on the stage where they are most
  double bubble = 0;                      // idle share of the busiest stage within `pipeline`
  llvm::SmallVector<StageCost, 8> stages; // per device of the pipeline axis
  int64_t worstStage = 0;                 // by memory
  Bytes peakMemory;
  bool fits = false;
  double modelFlops = 0, hardwareFlops = 0; // per step, whole job; modelFlopsPerToken, and with what is recomputed
  double mfu = 0, hfu = 0; // of the devices' peaks in the precision that products run in (productPrecision)
  double tokensPerSecondPerDevice = 0;
};

/// What a step's cost is made of: enough to draw its timeline and to say where the time goes.
struct StepDetail {
  const PipelineScheduleKind *schedule = nullptr;
  PipelineShape shape;
  PipelineMessages messages;
  ModelCosts costs;
  std::vector<llvm::SmallVector<PipelineChunk, 2>> chunks; // per device of the pipeline axis
};

/// Prices layouts. Keeps compiled schedules between calls: one estimator per thread.
class StepEstimator {
public:
  /// `compiled`: of its PipelineTimer.
  explicit StepEstimator(PipelineTimer::Compiled compiled = {});
  ~StepEstimator();
  /// Errors: what verifyLayout says; more devices than the cluster holds; a schedule that cannot be made for these
  /// sizes.
  llvm::Expected<StepCost> estimate(const ModelShape &model, const TrainingJob &job, const Cluster &cluster,
                                    const ParallelLayout &layout, const Stack &stack, StepDetail *detail = nullptr);

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace mlir::ppc

#endif // PPC_COSTMODEL_STEPCOST_H
