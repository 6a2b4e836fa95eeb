// Random shapes, durations and messages for the tests of schedules.
#ifndef PPC_TEST_UNIT_SCHEDULING_RANDOMSCHEDULES_H
#define PPC_TEST_UNIT_SCHEDULING_RANDOMSCHEDULES_H

#include "../Support/TestSeed.h"
#include "ppc/Scheduling/ScheduleSimulator.h"

#include <algorithm>
#include <random>

namespace mlir::ppc {

struct RandomSchedules {
  explicit RandomSchedules(unsigned seed) : engine(seed) {}
  int64_t below(int64_t bound) { return std::uniform_int_distribution<int64_t>(0, bound - 1)(engine); }
  double unit() { return std::uniform_real_distribution<double>(0, 1)(engine); }

  PipelineShape shape(const PipelineScheduleKind &kind, int64_t maxDevices, int64_t maxMicroBatches) {
    while (true) {
      PipelineShape shape;
      shape.devices = 1 + below(maxDevices);
      shape.microBatches = 1 + below(maxMicroBatches);
      shape.chunks = kind.minChunks + below(std::min<int64_t>(kind.maxChunks - kind.minChunks + 1, 3));
      shape.slices = kind.slicesSequence ? 1 + below(4) : 1;
      if (below(2)) // so that multiples are not rare
        shape.microBatches = shape.devices * (1 + below(std::max<int64_t>(maxMicroBatches / shape.devices, 1)));
      if (llvm::Error error = checkPipelineShape(kind, shape))
        llvm::consumeError(std::move(error));
      else
        return shape;
    }
  }

  /// Equal stages, equal but for the ends, or all different; now and then without some part.
  std::vector<StageDurations> durations(int64_t stages) {
    auto one = [&] { return Seconds(below(12) ? 0.5 + unit() : 0); };
    StageDurations middle{one(), one(), one()};
    if (below(5) == 0)
      middle = {Seconds(1), Seconds(1), Seconds(1)};
    std::vector<StageDurations> result(stages, middle);
    if (int64_t style = below(3); style == 1)
      result.front().forward += Seconds(unit()), result.back().backward += Seconds(unit());
    else if (style == 2)
      for (StageDurations &each : result)
        each = {one(), one(), one()};
    if (below(2))
      for (StageDurations &each : result)
        each.overlap = Seconds(below(4) ? 0.4 : 2.5);
    return result;
  }

  PipelineMessages messages() {
    PipelineMessages result;
    if (below(3))
      result = {Seconds(0.2 * unit()), Seconds(0.2 * unit()), below(2) == 0};
    return result;
  }

  std::mt19937 engine;
};

inline std::string describe(const PipelineScheduleKind &kind, const PipelineShape &shape) {
  return kind.name.str() + " p " + std::to_string(shape.devices) + " v " + std::to_string(shape.chunks) + " M " +
         std::to_string(shape.microBatches) + " slices " + std::to_string(shape.slices);
}

} // namespace mlir::ppc

#endif // PPC_TEST_UNIT_SCHEDULING_RANDOMSCHEDULES_H
