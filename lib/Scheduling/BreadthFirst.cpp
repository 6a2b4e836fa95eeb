// Breadth-first (arXiv 2211.05953): chunks as in the interleaved schedule, but all micro-batches pass a chunk before
// the first one enters the next. A chunk's parameters are gathered once and its gradients reduced once per step, which
// suits sharded parameters.
//
//   draw: breadth-first devices=2 micro-batches=4 chunks=2 F=1 B=1
//   device 0 |F0a F1a F2a F3a F0b F1b F2b F3b .   .   B0b B1b B2b B3b B0a B1a B2a B3a|
//   device 1 |.   F0a F1a F2a F3a F0b F1b F2b F3b B0b B1b B2b B3b B0a B1a B2a B3a .  |
//
// Idle share (p - 1) / (vM + p - 1), as interleaved, for M >= p. Every device keeps all micro-batches of all chunks.
#include "Generators.h"

namespace mlir::ppc {

void makeBreadthFirstDevice(const PipelineShape &shape, int64_t device, std::vector<PipelineAction> &actions) {
  for (int64_t chunk = 0; chunk < shape.chunks; ++chunk)
    for (int64_t m = 0; m < shape.microBatches; ++m)
      actions.push_back({PipelineActionKind::Forward, chunk * shape.devices + device, m});
  for (int64_t chunk = shape.chunks; chunk-- > 0;)
    for (int64_t m = 0; m < shape.microBatches; ++m) {
      actions.push_back({PipelineActionKind::Backward, chunk * shape.devices + device, m});
      actions.push_back({PipelineActionKind::WeightGradient, chunk * shape.devices + device, m});
    }
}

PipelineSchedule makeBreadthFirstSchedule(const PipelineShape &shape) {
  PipelineSchedule schedule = makeEmptySchedule("breadth-first", shape);
  schedule.placement = placeRoundRobin(shape);
  return makeByDevice(std::move(schedule), shape, makeBreadthFirstDevice);
}

} // namespace mlir::ppc
