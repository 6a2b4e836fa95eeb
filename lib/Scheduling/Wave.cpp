// Wave (Hanayo, SC'23, arXiv 2308.15762): the virtual stages go down and up the devices w times, v = 2w chunks per
// device, so that a micro-batch needs no message where it turns, and the two directions of Chimera come without a
// second copy of the parameters. 4 devices, 2 chunks, 4 micro-batches, F = B, W not drawn:
//
//   device 0 |F0 F1 F2 F3 .  .  .  F0 B0 F1 B1 F2 B2 F3 B3 .  .  .  B0 B1 B2 B3|    (see docs/Schedules.md)
//
// The order: of what is ready on a device, the earliest micro-batch first, then what is farthest in the model; p + 1
// micro-batches under way. With F = B it idles (p - 1)(F + B) / v, which no schedule of v chunks can beat whose first
// micro-batch enters and last one leaves at one device, and keeps at most p micro-batches.
#include "Generators.h"
#include "ListScheduler.h"

namespace mlir::ppc {

PipelineSchedule makeWaveSchedule(const PipelineShape &shape) {
  PipelineSchedule schedule = makeEmptySchedule("wave", shape);
  schedule.placement = {zigzagPlacement(shape)};
  scheduleEarliestFirst(schedule, shape.devices + 1);
  return schedule;
}

} // namespace mlir::ppc
