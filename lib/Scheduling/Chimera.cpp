// Chimera (SC'21, arXiv 2107.06925): two replicas of the model in opposite directions, half of the micro-batches
// through each: the first devices of one direction, idle in 1F1B's ramps, are the last ones of the other.
// The first half of the micro-batches goes down, the second up.
//
//   draw: chimera devices=4 micro-batches=4 F=1 B=1
//   device 0 |F0 F1 .  F2 B2 F3 B3 B0 .  B1|
//   device 1 |.  F0 F2 F1 F3 B2 B0 B3 B1 . |
//   device 2 |.  F2 F0 F3 F1 B0 B2 B1 B3 . |
//   device 3 |F2 F3 .  F0 B0 F1 B1 B2 .  B3|
//
// The order: of the ready actions of a device, the earliest micro-batch of its direction first, then the one farthest
// in the model; p/2 + 1 micro-batches in flight in each direction. Idle share (p - 2) / (2M + p - 2) when F = B, and
// with B = 2F (p - 2) / (3M/2 + p - 2) for M = p, as published; with more micro-batches and B = 2F the units of p
// micro-batches leave bubbles between them. Parameters twice, activations of p/2 + 1 to p micro-batches saved.
#include "Generators.h"
#include "ListScheduler.h"

namespace mlir::ppc {

static int64_t chimeraUnderWay(const PipelineShape &shape) { return shape.devices / 2 + 1; }

PipelineSchedule makeChimeraSchedule(const PipelineShape &shape) {
  PipelineSchedule schedule = makeEmptySchedule("chimera", shape);
  schedule.placement = placeBothWays(shape);
  schedule.replicas = bidirectionalReplicas(shape.microBatches);
  scheduleEarliestFirst(schedule, chimeraUnderWay(shape));
  return schedule;
}

std::vector<OrderLimit> limitChimera(const PipelineShape &shape) { return {{0, 0, true, chimeraUnderWay(shape)}}; }

} // namespace mlir::ppc
