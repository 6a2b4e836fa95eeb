// Wave (Hanayo, SC'23, arXiv 2308.15762): the virtual stages go down and up the devices w times, v = 2w chunks per
// device, so that a micro-batch needs no send where it turns, and the two directions of Chimera come without a
// second copy of the parameters.
//
//   draw: wave devices=3 micro-batches=3 chunks=2 F=1 B=1
//   device 0 |F0a F1a F2a .   .   F0b B0b F1b B1b F2b B2b B0a .   B1a .   B2a|
//   device 1 |.   F0a F1a F2a F0b .   F1b B0b F2b B1b B0a B2b B1a .   B2a .  |
//   device 2 |.   .   F0a F0b F1a F1b F2a F2b B0b B0a B1b B1a B2b B2a .   .  |
//
// The order: of the ready actions of a device, the earliest micro-batch first, then the one farthest in the model; p +
// 1 micro-batches in flight. With F = B it idles (p - 1)(F + B) / v, which no schedule of v chunks can beat whose first
// micro-batch enters and last one leaves at one device, and keeps at most p micro-batches.
#include "Generators.h"
#include "ListScheduler.h"

namespace mlir::ppc {

static int64_t waveUnderWay(const PipelineShape &shape) { return shape.devices + 1; }

PipelineSchedule makeWaveSchedule(const PipelineShape &shape) {
  PipelineSchedule schedule = makeEmptySchedule("wave", shape);
  schedule.placement = placeZigzag(shape);
  scheduleEarliestFirst(schedule, waveUnderWay(shape));
  return schedule;
}

std::vector<OrderLimit> limitWave(const PipelineShape &shape) { return {{0, 0, true, waveUnderWay(shape)}}; }

} // namespace mlir::ppc
