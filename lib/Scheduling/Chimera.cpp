// Chimera (SC'21, arXiv 2107.06925): two replicas of the model in opposite directions, half of the micro-batches
// through each: the first devices of one direction, idle in 1F1B's ramps, are the last ones of the other. 4 devices, 4
// micro-batches (even ones down, odd ones up), F = B, W not drawn:
//
//   device 0 |F0 F2 .  F1 B1 F3 B3 B0 .  B2|    (see docs/Schedules.md)
//
// The order: of what is ready on a device, the earliest micro-batch of its direction first, then what is farthest in
// the model; p/2 + 1 micro-batches under way in each direction. Idle share (p - 2) / (2M + p - 2) when F = B, and with
// B = 2F (p - 2) / (3M/2 + p - 2) for M = p, as published; with more micro-batches and B = 2F the units of p
// micro-batches leave bubbles between them. Parameters twice, p/2 + 1 to p micro-batches kept.
#include "Generators.h"
#include "ListScheduler.h"

namespace mlir::ppc {

PipelineSchedule makeChimeraSchedule(const PipelineShape &shape) {
  PipelineSchedule schedule = makeEmptySchedule("chimera", shape);
  schedule.placement = bidirectionalPlacement(shape);
  schedule.replicas = bidirectionalReplicas(shape.microBatches);
  scheduleEarliestFirst(schedule, shape.devices / 2 + 1);
  return schedule;
}

} // namespace mlir::ppc
