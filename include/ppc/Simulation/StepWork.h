// A training step as the simulator replays it: per virtual stage its layers with the time that each takes by itself,
// per device what happens once per step, and which of it runs beside what. One rank stands for all of its pipeline
// device: ranks that differ in their data-, tensor- and context-parallel coordinates only do the same at the same time.
#ifndef PPC_SIMULATION_STEPWORK_H
#define PPC_SIMULATION_STEPWORK_H

#include "ppc/CostModel/StepParts.h"

namespace mlir::ppc {

/// Exposed collectives by the group that meets in them.
using GroupTimes = std::array<Seconds, opGroupCount>;

/// Times of one micro-batch.
struct LayerWork {
  LayerKind kind = LayerKind::Dense;
  bool recomputed = false;
  Seconds forward, backward, weightGradient;
  GroupTimes forwardExposed, backwardExposed; // of those, collectives that compute waits for
  Seconds gather, scatter;                    // exchange of the layer's parameters and gradients beside it; 0: none
  double parameters = 0;
  const LayerProgram *program = nullptr; // its ops, for drawing; owned by the detail that the work is derived from
};

struct ChunkWork {
  std::vector<LayerWork> layers; // in model order
  Seconds overlap;               // StageDurations::overlap
  Bytes kept, keptForWeights;    // per micro-batch, as ChunkCost; outputs that stay included
  Bytes copied;                  // of `kept`, what goes to the host and comes back
};

/// Once per step, on one device of the pipeline axis.
struct DeviceWork {
  Seconds reduction, gather; // of gradients and parameters over the data-parallel ranks
  Seconds optimizer, hostCopies;
  Bytes constant;        // memory that does not come and go with micro-batches
  Bytes activationLimit; // of what is kept for backward; what exceeds it lies in the host's memory; 0: none
  llvm::SmallVector<double, 4> stateLinks; // per level, the share of the links that the exchange of state takes
};

struct StepWork {
  PipelineSchedule schedule;
  PipelineMessages messages;
  std::vector<ChunkWork> chunks;                          // virtual stages in model order
  std::vector<DeviceWork> devices;                        // of the pipeline axis
  bool overlapsReduction = false, overlapsGather = false; // beside the last backward and the first forward
  bool gathersForBackward = false;                        // ZeRO-3: parameters come again
  bool gathersOnce = false;                               // ZeRO-3: in the first micro-batch only
  bool scattersEveryMicroBatch = false;
  bool validatesAfterwards = false; // no device waits for the others' gradients before its update
  bool selective = false;           // backward computes attention scores again
  double bucketElements = 0;        // 0: layer by layer
  BytesPerSecond host;              // of copies
  double hostShare = 0;             // of the host's link, what the network takes at its full rate
  // Contention. Without levels nothing shares links and messages never wait for each other.
  double communicationShare = 0, communicationSlowdown = 0; // as of TaskGraph
  int64_t levels = 0;
  std::array<llvm::SmallVector<double, 4>, opGroupCount>
      groupLinks; // per level, the share of the links that collectives take
  int64_t messageLevel = 0;
  double messageLink = 0;
};

Seconds totalTime(const GroupTimes &times);

/// The step of a layout that StepEstimator has priced (`detail`, `cost`). `context`: as the estimator's, whose `vp` is
/// the schedule's chunks. `schedule`: of detail's kind, with detail's number of micro-batches or fewer.
StepWork deriveStepWork(const PricingContext &context, const StepDetail &detail, const StepCost &cost,
                        PipelineSchedule schedule);

/// Durations alone: chunks of one layer each, no state, no contention. What PipelineTimer times.
StepWork workOfDurations(PipelineSchedule schedule, llvm::ArrayRef<StageDurations> durations,
                         const PipelineMessages &messages);

} // namespace mlir::ppc

#endif // PPC_SIMULATION_STEPWORK_H
