// 1F1B (PipeDream-flush, arXiv 2006.09503): device s of p starts with min(M, p - 1 - s) forwards, then alternates one
// forward and one backward, then drains.
//
//   draw: 1f1b devices=3 micro-batches=4 F=1 B=1
//   device 0 |F0 F1 F2 .  .  B0 F3 B1 .  B2 .  B3|
//   device 1 |.  F0 F1 .  B0 F2 B1 F3 B2 .  B3 . |
//   device 2 |.  .  F0 B0 F1 B1 F2 B2 F3 B3 .  . |
//
// Idle share (p - 1) / (M + p - 1), as GPipe, but device s saves only min(M, p - s) micro-batches.
// W follows its B at once: delaying it (the zero-bubble schedules) fills the bubble but needs more memory.
#include "Generators.h"

#include <algorithm>

namespace mlir::ppc {

void makeOneFOneBDevice(const PipelineShape &shape, int64_t stage, std::vector<PipelineAction> &actions) {
  int64_t ahead = std::min(shape.microBatches, shape.devices - 1 - stage); // forwards before the first pair
  for (int64_t m = 0; m < ahead; ++m)
    actions.push_back({PipelineActionKind::Forward, stage, m});
  for (int64_t m = 0; m < shape.microBatches; ++m) {
    if (m + ahead < shape.microBatches)
      actions.push_back({PipelineActionKind::Forward, stage, m + ahead});
    actions.push_back({PipelineActionKind::Backward, stage, m});
    actions.push_back({PipelineActionKind::WeightGradient, stage, m});
  }
}

std::vector<OrderLimit> limitOneFOneB(const PipelineShape &shape) {
  std::vector<OrderLimit> limits;
  for (int64_t stage = 0; stage < shape.devices; ++stage)
    limits.push_back({stage, stage, true, shape.devices - stage});
  return limits;
}

PipelineSchedule makeOneFOneBSchedule(const PipelineShape &shape) {
  return makeByDevice(makeEmptySchedule("1f1b", shape), shape, makeOneFOneBDevice);
}

} // namespace mlir::ppc
