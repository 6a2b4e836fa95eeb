// Zero-bubble schedules with one chunk per device (arXiv 2401.10241): W leaves the critical path and fills bubbles.
//
// "zb1p" is the paper's ZB-H1: 1F1B in which device d defers d of its W, so that every device saves p micro-batches
// and the first device gets its gradients sooner.
//
//   draw: zb1p devices=3 micro-batches=5 F=1 B=1 W=1
//   device 0 |F0 F1 F2 .  .  B0 W0 F3 B1 W1 F4 B2 W2 B3 W3 B4 W4|
//   device 1 |.  F0 F1 .  B0 F2 B1 W0 F3 B2 W1 F4 B3 W2 B4 W3 W4|
//   device 2 |.  .  F0 B0 F1 B1 F2 B2 W0 F3 B3 W1 F4 B4 W2 W3 W4|
//
// Bubble (p - 1)(F + B - W), at the activations of 1F1B's first device.
//
// "zb2p" is ZB-H2: twice the forwards ahead, 2p - 1 micro-batches saved on every device, bubble (p - 1)(F + B - 2W):
// none when F = B = W, if the optimizer waits for no other device (a device's time is counted from its first action).
//
//   draw: zb2p devices=3 micro-batches=5 F=1 B=1 W=1
//   device 0 |F0 F1 F2 F3 F4 B0 W0 B1 W1 B2 W2 B3 W3 B4 W4 .  . |
//   device 1 |.  F0 F1 F2 B0 F3 B1 F4 B2 W0 B3 W1 B4 W2 W3 W4 . |
//   device 2 |.  .  F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 W0 W1 W2 W3 W4|
//
#include "Generators.h"

#include <algorithm>

namespace mlir::ppc {

/// `ahead` forwards before the first pair of F and B, `held` deferred W.
static void makeZeroBubble(const PipelineShape &shape, int64_t device, int64_t ahead, int64_t held,
                           std::vector<PipelineAction> &actions) {
  int64_t count = shape.microBatches, first = std::min(count, ahead), forwards = 0, weights = 0;
  for (; forwards < first; ++forwards)
    actions.push_back({PipelineActionKind::Forward, device, forwards});
  for (int64_t m = 0; m < count; ++m) {
    if (forwards < count)
      actions.push_back({PipelineActionKind::Forward, device, forwards++});
    actions.push_back({PipelineActionKind::Backward, device, m});
    if (m >= held)
      actions.push_back({PipelineActionKind::WeightGradient, device, weights++});
  }
  for (; weights < count; ++weights)
    actions.push_back({PipelineActionKind::WeightGradient, device, weights});
}

SlopedOrder slopedOrder(const PipelineShape &shape, int64_t factor, int64_t device) {
  int64_t lead = shape.lead ? shape.lead : 16 * factor, lag = shape.lag ? shape.lag : 16 * factor; // sixteenths
  int64_t last = shape.devices - 1, most = factor * shape.devices;
  return {std::min(((last - device) * lead + 15) / 16, most - 1), device * lag / 16};
}

static void makeSloped(const PipelineShape &shape, int64_t factor, int64_t device,
                       std::vector<PipelineAction> &actions) {
  SlopedOrder order = slopedOrder(shape, factor, device);
  makeZeroBubble(shape, device, order.ahead, order.held, actions);
}

void makeZeroBubble1pDevice(const PipelineShape &shape, int64_t device, std::vector<PipelineAction> &actions) {
  makeSloped(shape, 1, device, actions);
}

void makeZeroBubble2pDevice(const PipelineShape &shape, int64_t device, std::vector<PipelineAction> &actions) {
  makeSloped(shape, 2, device, actions);
}

PipelineSchedule makeZeroBubble1pSchedule(const PipelineShape &shape) {
  return makeByDevice(makeEmptySchedule("zb1p", shape), shape, makeZeroBubble1pDevice);
}

PipelineSchedule makeZeroBubble2pSchedule(const PipelineShape &shape) {
  return makeByDevice(makeEmptySchedule("zb2p", shape), shape, makeZeroBubble2pDevice);
}

} // namespace mlir::ppc
