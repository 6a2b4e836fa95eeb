// ZB-V (arXiv 2401.10241, section 6): two chunks per device in a V: chunk 0 down the devices, chunk 1 back up, so that
// the first device has the model's both ends and the loss is where the pipeline begins. No bubble when F = B = W (a
// device's time counted from its first action), with 1F1B's peak of p micro-batches on every device.
//
// Device d runs 2(p - d) - 1 F of chunk 0, then d pairs F1 F0, then p - d times F1 B1 W1; the steady state is
// F0 B0 W0 F1 B1 W1; at the end d pairs B0 B1, then p - d times B0 W0, then the W left over.
//
//   draw: zbv devices=2 micro-batches=4 chunks=2 F=1 B=1 W=1
//   device 0 |F0a F1a F2a F0b B0b W0b F1b B1b W1b F3a B0a W0a F2b B2b W2b B1a W1a F3b B3b W3b B2a W2a B3a W3a .  |
//   device 1 |.   F0a F0b F1a F1b B0b W0b F2a B0a W0a F2b B1b W1b F3a B1a W1a F3b B2b W2b B2a B3b B3a W2a W3b W3a|
#include "Generators.h"

#include <algorithm>

namespace mlir::ppc {

void makeZeroBubbleVDevice(const PipelineShape &shape, int64_t device, std::vector<PipelineAction> &actions) {
  // The lists below need 2p micro-batches; those too many are dropped.
  int64_t p = shape.devices, count = std::max(shape.microBatches, 2 * p);
  int64_t stages[2] = {device, 2 * p - 1 - device}, done[3][2] = {};
  auto run = [&](PipelineActionKind kind, int chunk) {
    int64_t m = done[int(kind)][chunk]++;
    if (m < shape.microBatches)
      actions.push_back({kind, stages[chunk], m});
  };
  auto F = [&](int chunk) { run(PipelineActionKind::Forward, chunk); };
  auto B = [&](int chunk) { run(PipelineActionKind::Backward, chunk); };
  auto W = [&](int chunk) { run(PipelineActionKind::WeightGradient, chunk); };
  auto left = [&](int kind, int chunk) { return done[kind][chunk] < count; };

  for (int64_t i = 0; i < 2 * (p - device) - 1; ++i)
    F(0);
  for (int64_t i = 0; i < device; ++i)
    F(1), F(0);
  for (int64_t i = 0; i < p - device; ++i)
    F(1), B(1), W(1);
  while (left(0, 0) || left(0, 1)) {
    if (left(0, 0))
      F(0);
    B(0), W(0);
    F(1), B(1), W(1);
  }
  for (int64_t i = 0; i < device; ++i)
    B(0), B(1);
  for (int64_t i = 0; i < p - device; ++i)
    B(0), W(0);
  while (left(2, 1))
    W(1);
  while (left(2, 0))
    W(0);
}

PipelineSchedule makeZeroBubbleVSchedule(const PipelineShape &shape) {
  PipelineSchedule schedule = makeEmptySchedule("zbv", shape);
  schedule.placement = placeZigzag(shape);
  return makeByDevice(std::move(schedule), shape, makeZeroBubbleVDevice);
}

} // namespace mlir::ppc
