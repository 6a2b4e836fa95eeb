// GPipe (arXiv 1811.06965): all forwards, then all backwards.
//
//   draw: gpipe devices=3 micro-batches=4 F=1 B=1
//   device 0 |F0 F1 F2 F3 .  .  .  .  B0 B1 B2 B3|
//   device 1 |.  F0 F1 F2 F3 .  .  B0 B1 B2 B3 . |
//   device 2 |.  .  F0 F1 F2 F3 B0 B1 B2 B3 .  . |
//
// Idle share (p - 1) / (M + p - 1). Every device keeps all M micro-batches. Backwards run in the order of the forwards,
// not reversed as in the paper: the time is the same, and gradients add up in the same order as under every other
// schedule.
#include "Generators.h"

namespace mlir::ppc {

void makeGPipeDevice(const PipelineShape &shape, int64_t stage, std::vector<PipelineAction> &actions) {
  for (int64_t m = 0; m < shape.microBatches; ++m)
    actions.push_back({PipelineActionKind::Forward, stage, m});
  for (int64_t m = 0; m < shape.microBatches; ++m) {
    actions.push_back({PipelineActionKind::Backward, stage, m});
    actions.push_back({PipelineActionKind::WeightGradient, stage, m});
  }
}

PipelineSchedule makeGPipeSchedule(const PipelineShape &shape) {
  return makeByDevice(makeEmptySchedule("gpipe", shape), shape, makeGPipeDevice);
}

} // namespace mlir::ppc
