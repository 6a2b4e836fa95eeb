// A training step as the simulator replays it: per virtual stage its layers with the time of each alone, per device the
// work that occurs once per step, and which of it overlaps. One rank stands for all data-, tensor- and context-parallel
// ranks of its stage, which do the same at the same time.
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
  GroupTimes forwardExposed, backwardExposed; // part of those for which compute waits
  Seconds gather, scatter;                    // all-gather of the layer's parameters and reduce-scatter of its
                                              // gradients, overlapped with it; 0: none
  double parameters = 0;
  const LayerProgram *program = nullptr; // its ops, for drawing; owned by the detail that the work is derived from
};

struct ChunkWork {
  std::vector<LayerWork> layers; // in model order
  Seconds overlap;               // StageDurations::overlap
  Bytes kept, keptForWeights;    // per micro-batch, as ChunkCost; outputs that stay included
  Bytes copied;                  // part of `kept` that is offloaded to the host and reloaded
};

/// Work of one pipeline rank that occurs once per step.
struct DeviceWork {
  Seconds reduction, gather; // reduction of gradients and all-gather of parameters over the data-parallel ranks
  Seconds optimizer, hostCopies;
  Bytes constant;        // memory that does not come and go with micro-batches
  Bytes activationLimit; // limit of saved activations; bytes beyond it are offloaded to host memory; 0: none
  llvm::SmallVector<double, 4> stateLinks; // per level, the share of the links that the exchange of state takes
};

struct StepWork {
  PipelineSchedule schedule;
  PipelineMessages messages;
  std::vector<ChunkWork> chunks;                          // virtual stages in model order
  std::vector<DeviceWork> devices;                        // by pipeline rank
  bool overlapsReduction = false, overlapsGather = false; // overlapped with the last backward and with the first
                                                          // forward
  bool gathersForBackward = false;                        // ZeRO-3: parameters come again
  bool gathersOnce = false;                               // ZeRO-3: in the first micro-batch only
  bool scattersEveryMicroBatch = false;
  bool validatesAfterwards = false; // no device waits for the others' gradients before its update
  bool selective = false;           // backward recomputes attention scores
  double bucketElements = 0;        // 0: layer by layer
  BytesPerSecond host;              // bandwidth of copies
  double hostShare = 0;             // share of the host's link that the network takes at its full rate
  // Contention. Without levels nothing shares links and messages never wait for each other.
  double communicationShare = 0, communicationSlowdown = 0; // as of TaskGraph
  int64_t levels = 0;
  std::array<llvm::SmallVector<double, 4>, opGroupCount>
      groupLinks; // per level, the share of the links that collectives take
  int64_t messageLevel = 0;
  double messageLink = 0;
};

Seconds totalTime(const GroupTimes &times);

/// Derives the work of a layout that StepEstimator has evaluated (`detail`, `cost`). `context`: as the estimator's,
/// whose `vp` is the schedule's chunks. `schedule`: of detail's kind, with detail's number of micro-batches or fewer.
StepWork deriveStepWork(const PricingContext &context, const StepDetail &detail, const StepCost &cost,
                        PipelineSchedule schedule);

/// Work with durations only, as PipelineTimer times them: chunks of one layer each, no state, no contention.
StepWork workOfDurations(PipelineSchedule schedule, llvm::ArrayRef<StageDurations> durations,
                         const PipelineMessages &messages);

} // namespace mlir::ppc

#endif // PPC_SIMULATION_STEPWORK_H
