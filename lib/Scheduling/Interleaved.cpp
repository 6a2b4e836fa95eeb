// Interleaved 1F1B (Megatron-LM, arXiv 2104.04473): device d holds virtual stages d, d + p, d + 2p, ... Forwards go in
// groups of p micro-batches: the group through the first chunk, then through the second, ...; backwards likewise from
// the last chunk. Device d runs min(vM, 2(p - 1 - d) + (v - 1)p) forwards ahead, then alternates one forward and one
// backward.
//
//   draw: interleaved devices=2 micro-batches=4 chunks=2 F=1 B=1
//   device 0 |F0a F1a F0b F1b F2a B0b F3a B1b F2b B0a F3b B1a .   B2b .   B3b B2a B3a|
//   device 1 |.   F0a F1a F0b B0b F1b B1b F2a B0a F3a B1a F2b B2b F3b B3b B2a B3a .  |
//
// Idle share (p - 1) / (vM + p - 1): 1/v of 1F1B's, for v times the messages and, on device 0, activations of
// 1 + (p - 1) / (pv) times 1F1B's. M must be a multiple of p.
#include "Generators.h"

#include <algorithm>

namespace mlir::ppc {

void makeInterleavedDevice(const PipelineShape &shape, int64_t device, std::vector<PipelineAction> &actions) {
  int64_t p = shape.devices, v = shape.chunks, total = v * shape.microBatches;
  auto place = [&](int64_t step) { return std::pair(step % (p * v) / p, step / (p * v) * p + step % p); };
  auto forward = [&](int64_t step) {
    auto [chunk, m] = place(step);
    actions.push_back({PipelineActionKind::Forward, chunk * p + device, m});
  };
  auto backward = [&](int64_t step) {
    auto [chunk, m] = place(step);
    int64_t stage = (v - 1 - chunk) * p + device;
    actions.push_back({PipelineActionKind::Backward, stage, m});
    actions.push_back({PipelineActionKind::WeightGradient, stage, m});
  };
  int64_t ahead = std::min(total, 2 * (p - 1 - device) + (v - 1) * p);
  if (v == 1) // one chunk needs no detour of the first gradient: 1F1B
    ahead = std::min(total, p - 1 - device);
  for (int64_t step = 0; step < ahead; ++step)
    forward(step);
  for (int64_t step = 0; step < total; ++step) {
    if (step + ahead < total)
      forward(step + ahead);
    backward(step);
  }
}

PipelineSchedule makeInterleavedSchedule(const PipelineShape &shape) {
  PipelineSchedule schedule = makeEmptySchedule("interleaved", shape);
  schedule.placement = placeRoundRobin(shape);
  return makeByDevice(std::move(schedule), shape, makeInterleavedDevice);
}

} // namespace mlir::ppc
