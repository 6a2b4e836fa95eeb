// The fast timer against full replays: to the bit on its own grid, to rounding against the simulator.
#include "ppc/Scheduling/PipelineTime.h"

#include "RandomSchedules.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mlir::ppc;

TEST(PipelineTime, EqualsTheFullReplay) {
  unsigned seed = testSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomSchedules random(seed);
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
TEST(PipelineTime, TimesMatchTheSchedule) {
  unsigned seed = testSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomSchedules random(seed);
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
  EXPECT_EQ(message("interleaved", {4, 10, 2}, {one}), "pipeline schedule \"interleaved\" sends micro-batches in "
                                                       "groups of the 4 devices, so 10 is not a legal number of "
                                                       "them; 8 and 12 are");
  EXPECT_EQ(message("interleaved", {4, 8, 1}, {one}),
            "pipeline schedule \"interleaved\" has 2 or more chunks per device, not 1");
  EXPECT_EQ(message("1f1b", {4, 8, 1, 2}, {one}),
            "pipeline schedule \"1f1b\" does not slice the sequence: it has 1 slice per micro-batch, not 2");
  // Enormous shapes: timed when a steady state shortens them, refused when not.
  EXPECT_EQ(message("1f1b", {4, int64_t(1) << 40}, {one}), "");
  EXPECT_NEAR(result.stepTime.value, 3.0 * (int64_t(1) << 40), 100);
  EXPECT_EQ(
      message("breadth-first", {4, int64_t(1) << 40, 2}, {one}),
      "pipeline schedule \"breadth-first\" of 4 devices, 2 chunks, 1099511627776 micro-batches and 1 slices has more "
      "than 67108864 actions; larger micro-batches need fewer");
  EXPECT_EQ(message("1f1b", {1 << 20, 4}, {one}),
            "cannot time a pipeline of 1048576 devices with 1 chunks each; at most 10000 chunks");
  EXPECT_EQ(message("interleaved", {1 << 20, 1 << 20, 1 << 19}, {one}),
            "cannot time a pipeline of 1048576 devices with 524288 chunks each; at most 10000 chunks");
}

// Formulas and lists of single devices against the schedule's lists, all devices at once.
TEST(PipelineProgram, LoadsMatchTheFullSchedule) {
  unsigned seed = testSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomSchedules random(seed);
  for (const PipelineScheduleKind &kind : pipelineScheduleKinds())
    for (int round = 0; round < 60; ++round) {
      PipelineShape shape = random.shape(kind, 9, round % 2 ? 12 : 60);
      if (kind.fitsDurations() && round % 3) {
        shape.lead = 1 + int64_t(random.below(48));
        shape.lag = 1 + int64_t(random.below(48));
      }
      SCOPED_TRACE(describe(kind, shape) + ", lead " + std::to_string(shape.lead) + ", lag " +
                   std::to_string(shape.lag));
      PipelineSchedule schedule = kind.make(shape), empty = makeEmptyPipeline(kind, shape);
      for (int64_t stage = 0; stage < schedule.stageCount; ++stage)
        for (int64_t replica = 0; replica < schedule.replicaCount(); ++replica)
          EXPECT_EQ(empty.deviceOf(replica, stage), schedule.deviceOf(replica, stage));
      EXPECT_EQ(empty.replicas, schedule.replicas);
      std::vector<PipelineAction> list;
      for (int64_t device = 0; kind.makeDevice && device < shape.devices; ++device) {
        list.clear();
        kind.makeDevice(shape, device, list);
        EXPECT_EQ(list, schedule.devices[device]);
      }
      PipelineProgram whole = llvm::cantFail(compilePipelineSchedule(kind, shape));
      PipelinePrograms programs;
      const PipelineProgram &loads = *llvm::cantFail(programs.getLoads(kind, shape));
      ASSERT_EQ(loads.chunks, whole.chunks);
      ASSERT_EQ(loads.moments.size(), whole.moments.size());
      for (size_t device = 0; device < whole.moments.size(); ++device) {
        ASSERT_EQ(loads.moments[device].size(), whole.moments[device].size()) << "device " << device;
        for (size_t i = 0; i < whole.moments[device].size(); ++i)
          for (size_t chunk = 0; chunk < whole.moments[device][i].size(); ++chunk) {
            EXPECT_NEAR(loads.moments[device][i][chunk].forward, whole.moments[device][i][chunk].forward, 1e-9);
            EXPECT_NEAR(loads.moments[device][i][chunk].weight, whole.moments[device][i][chunk].weight, 1e-9);
          }
      }
    }
}
