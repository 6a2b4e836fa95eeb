// The fast timer against full replays: to the bit on its own grid, to rounding against the simulator.
#include "ppc/Scheduling/PipelineTime.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <random>

using namespace mlir::ppc;

namespace {
struct Random {
  explicit Random(unsigned seed) : engine(seed) {}
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

std::string describe(const PipelineScheduleKind &kind, const PipelineShape &shape) {
  return kind.name.str() + " p " + std::to_string(shape.devices) + " v " + std::to_string(shape.chunks) + " M " +
         std::to_string(shape.microBatches) + " slices " + std::to_string(shape.slices);
}

unsigned freshSeed() {
  if (const char *fixed = std::getenv("PPC_TEST_SEED"))
    return std::atoi(fixed);
  return std::random_device{}();
}
} // namespace

TEST(PipelineTime, EqualsTheFullReplay) {
  unsigned seed = freshSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  PipelineTimer fast, full;
  full.extrapolate = false;
  PipelineTime quick, slow;
  int64_t quickActions = 0, slowActions = 0;
  for (const PipelineScheduleKind &kind : pipelineScheduleKinds())
    for (int round = 0; round < 120; ++round) {
      PipelineShape shape = random.shape(kind, 12, round % 4 ? 60 : 700);
      SCOPED_TRACE(describe(kind, shape));
      std::vector<StageDurations> durations = random.durations(shape.devices * shape.chunks);
      PipelineMessages messages = random.messages();
      ASSERT_EQ(llvm::toString(fast.time(kind.name, shape, durations, messages, quick)), "");
      ASSERT_EQ(llvm::toString(full.time(kind.name, shape, durations, messages, slow)), "");
      EXPECT_EQ(quick.stepTime.value, slow.stepTime.value);
      if (kind.name == "1f1b" && shape.microBatches > 400)
        quickActions += quick.replayed, slowActions += slow.replayed;

      PipelineSchedule schedule = llvm::cantFail(makePipelineSchedule(kind.name, shape));
      ScheduleTimeline timeline = llvm::cantFail(simulateSchedule(schedule, durations, messages));
      EXPECT_NEAR(quick.stepTime.value, timeline.stepTime.value, 1e-12 * timeline.stepTime.value);
      for (int64_t device = 0; device < shape.devices; ++device) {
        EXPECT_EQ(quick.end[device].value, slow.end[device].value);
        EXPECT_NEAR(quick.busy[device].value, timeline.busy[device].value, 1e-11 * timeline.stepTime.value);
      }
    }
  EXPECT_LT(quickActions, slowActions / 2);
}

/// A compiled shape with loops means the schedule itself: the program of every action, one by one.
TEST(PipelineTime, MomentsAreThoseOfTheSchedule) {
  unsigned seed = freshSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (const PipelineScheduleKind &kind : pipelineScheduleKinds())
    for (int round = 0; round < 60; ++round) {
      PipelineShape shape = random.shape(kind, 8, 150);
      SCOPED_TRACE(describe(kind, shape));
      PipelineProgram program = llvm::cantFail(compilePipelineSchedule(kind, shape));
      PipelineSchedule schedule = kind.make(shape);
      for (int64_t device = 0; device < shape.devices; ++device) {
        size_t chunkCount = program.chunks[device].size();
        std::vector<double> forward(chunkCount), weight(chunkCount), now(chunkCount);
        for (size_t i = 0; i < chunkCount; ++i)
          forward[i] = 0.1 + random.unit(), weight[i] = random.unit() * forward[i];
        double held = 0, peak = 0;
        const std::vector<PipelineAction> &list = schedule.devices[device];
        for (size_t i = 0; i < list.size(); ++i) {
          PipelineChunk chunk{schedule.replicaOf(list[i].microBatch), list[i].stage};
          size_t number = std::find(program.chunks[device].begin(), program.chunks[device].end(), chunk) -
                          program.chunks[device].begin();
          ASSERT_LT(number, chunkCount);
          double share = 1.0 / shape.slices;
          if (list[i].kind == PipelineActionKind::Forward)
            held += forward[number] * share;
          else if (list[i].kind == PipelineActionKind::Backward)
            held += (weight[number] - forward[number]) * share;
          else
            held -= weight[number] * share;
          peak = std::max(peak, held);
        }
        EXPECT_NEAR(program.peak(device, forward, weight), peak, 1e-9 * peak) << "device " << device;
      }
    }
}

TEST(PipelineTime, RefusesNonsense) {
  PipelineTimer timer;
  PipelineTime result;
  auto message = [&](llvm::StringRef name, PipelineShape shape, std::vector<StageDurations> durations,
                     PipelineMessages messages = {}) {
    return llvm::toString(timer.time(name, shape, durations, messages, result));
  };
  StageDurations one{Seconds(1), Seconds(1), Seconds(1)};
  EXPECT_EQ(message("1f1b", {4, 8}, {one, one}), "durations for 2 virtual stages, not 4");
  EXPECT_EQ(message("1f1b", {4, 8}, {{Seconds(-1), Seconds(1), Seconds(1)}}),
            "a duration or message time of the pipeline is negative or not finite");
  EXPECT_EQ(message("1f1b", {4, 8}, {one}, {Seconds(std::nan("")), Seconds(0)}),
            "a duration or message time of the pipeline is negative or not finite");
  EXPECT_EQ(
      message("interleaved", {4, 10, 2}, {one}),
      "pipeline schedule \"interleaved\" sends micro-batches in groups of the 4 devices, so 10 is no legal number of "
      "them; 8 and 12 are");
  EXPECT_EQ(message("interleaved", {4, 8, 1}, {one}),
            "pipeline schedule \"interleaved\" has 2 or more chunks per device, not 1");
  EXPECT_EQ(message("1f1b", {4, 8, 1, 2}, {one}),
            "pipeline schedule \"1f1b\" does not cut the sequence: it has 1 slice per micro-batch, not 2");
}
