// Sequence-chunked 1F1B (Seq1F1B, arXiv 2406.03488): 1F1B over slices of k per micro-batch. Forwards take the slices in
// order, backwards in reverse (causal attention: the gradient of a slice's keys and values needs those of all later
// ones), so device d runs p - 1 - d + k - 1 slices ahead.
//
//   draw: seq1f1b devices=2 micro-batches=3 slices=2 F=1 B=1
//   device 0 |F0.0 F0.1 F1.0 .    B0.1 F1.1 B0.0 F2.0 B1.1 F2.1 B1.0 .    B2.1 B2.0|
//   device 1 |.    F0.0 F0.1 B0.1 F1.0 B0.0 F1.1 B1.1 F2.0 B1.0 F2.1 B2.1 B2.0 .   |
//
// Idle share (p - 1) / (kM + p - 1) when all slices take the same time, which uneven slices of the sequence achieve;
// device d keeps (p - d + k - 1) / k micro-batches.
#include "Generators.h"

#include <algorithm>

namespace mlir::ppc {

void makeSequenceChunkedDevice(const PipelineShape &shape, int64_t device, std::vector<PipelineAction> &actions) {
  int64_t slices = shape.slices, total = shape.microBatches * slices;
  int64_t ahead = std::min(total, shape.devices - 1 - device + slices - 1);
  for (int64_t step = 0; step < total + ahead; ++step) {
    if (step < total)
      actions.push_back({PipelineActionKind::Forward, device, step / slices, step % slices});
    if (int64_t back = step - ahead; back >= 0) {
      int64_t slice = slices - 1 - back % slices;
      actions.push_back({PipelineActionKind::Backward, device, back / slices, slice});
      actions.push_back({PipelineActionKind::WeightGradient, device, back / slices, slice});
    }
  }
}

PipelineSchedule makeSequenceChunkedSchedule(const PipelineShape &shape) {
  return makeByDevice(makeEmptySchedule("seq1f1b", shape), shape, makeSequenceChunkedDevice);
}

} // namespace mlir::ppc
