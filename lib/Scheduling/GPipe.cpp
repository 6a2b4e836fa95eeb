// GPipe (arXiv 1811.06965): all forwards, then all backwards. 3 stages, 4 micro-batches, F = B and W not drawn:
//
//   stage 0 |F0 F1 F2 F3 .  .  .  .  B0 B1 B2 B3|
//   stage 1 |.  F0 F1 F2 F3 .  .  B0 B1 B2 B3 . |
//   stage 2 |.  .  F0 F1 F2 F3 B0 B1 B2 B3 .  . |
//
// Idle share (p - 1) / (M + p - 1). Every stage keeps all M micro-batches. Backwards run in the order of the forwards,
// not reversed as in the paper: the time is the same, and gradients add up in the same order as under every other
// schedule.
#include "ppc/Scheduling/PipelineSchedule.h"

namespace mlir::ppc {

PipelineSchedule makeGPipeSchedule(int64_t stages, int64_t microBatches) {
  PipelineSchedule schedule{"gpipe", stages, microBatches, {}};
  for (int64_t stage = 0; stage < stages; ++stage) {
    std::vector<PipelineAction> &actions = schedule.stages.emplace_back();
    for (int64_t m = 0; m < microBatches; ++m)
      actions.push_back({PipelineActionKind::Forward, stage, m});
    for (int64_t m = 0; m < microBatches; ++m) {
      actions.push_back({PipelineActionKind::Backward, stage, m});
      actions.push_back({PipelineActionKind::WeightGradient, stage, m});
    }
  }
  return schedule;
}

} // namespace mlir::ppc
