// Schedules: generators through verifier and simulator, the verifier through mutations, drawings as documented.
#include "ppc/Scheduling/ScheduleDrawing.h"
#include "ppc/Scheduling/ScheduleSimulator.h"
#include "ppc/Scheduling/ScheduleVerifier.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

#include <gtest/gtest.h>

#include <map>

using namespace mlir::ppc;
using Kind = PipelineActionKind;

static PipelineSchedule make(llvm::StringRef name, int64_t stages, int64_t microBatches) {
  return llvm::cantFail(makePipelineSchedule(name, stages, microBatches));
}

static std::string verify(const PipelineSchedule &schedule) {
  return llvm::toString(verifySchedule(schedule, slotsPerStage(schedule)));
}

static StageDurations durations(double forward, double backward, double weightGradient) {
  return {Seconds(forward), Seconds(backward), Seconds(weightGradient)};
}

static ScheduleTimeline simulate(const PipelineSchedule &schedule, StageDurations each) {
  return llvm::cantFail(simulateSchedule(schedule, each));
}

TEST(PipelineSchedule, GeneratorsVerifyAndNeedTheDocumentedSlots) {
  for (int64_t stages = 1; stages <= 7; ++stages)
    for (int64_t microBatches = 1; microBatches <= 12; ++microBatches)
      for (llvm::StringRef name : {"gpipe", "1f1b"}) {
        PipelineSchedule schedule = make(name, stages, microBatches);
        ASSERT_EQ(verify(schedule), "") << stages << " stages, " << microBatches << " micro-batches";
        std::vector<int64_t> slots = slotsPerStage(schedule);
        std::vector<double> inFlight = simulate(schedule, durations(1, 1, 1)).peakInFlight;
        for (int64_t stage = 0; stage < stages; ++stage) {
          int64_t expected = name == "gpipe" ? microBatches : std::min(microBatches, stages - stage);
          EXPECT_EQ(slots[stage], expected) << name.str();
          EXPECT_EQ(inFlight[stage], expected) << name.str();
        }
      }
}

TEST(PipelineSchedule, BubbleRateIsThePublishedOne) {
  for (int64_t stages = 1; stages <= 8; ++stages)
    for (int64_t microBatches = stages; microBatches <= 24; microBatches += 3)
      for (llvm::StringRef name : {"gpipe", "1f1b"}) {
        PipelineSchedule schedule = make(name, stages, microBatches);
        double p = stages, m = microBatches;
        EXPECT_NEAR(simulate(schedule, durations(1, 1, 0)).bubbleRate(), (p - 1) / (m + p - 1), 1e-12);
        EXPECT_NEAR(simulate(schedule, durations(1, 2, 0)).bubbleRate(), (p - 1) / (m + p - 1), 1e-12);
        // The gradient leaves before W: only F and B of the other stages are waited for.
        double idle = (p - 1) * (1 + 1);
        EXPECT_NEAR(simulate(schedule, durations(1, 1, 1)).bubbleRate(), idle / (3 * m + idle), 1e-12)
            << name.str() << " " << p << " " << m;
      }
}

TEST(PipelineSchedule, MessagesTakeTime) {
  PipelineSchedule schedule = make("gpipe", 2, 1);
  ScheduleTimeline timeline =
      llvm::cantFail(simulateSchedule(schedule, durations(1, 2, 3), {Seconds(0.5), Seconds(0.5)}));
  // F | 0.5 | F B | 0.5 | B W
  EXPECT_NEAR(timeline.stepTime.value, 1 + 0.5 + 1 + 2 + 0.5 + 2 + 3, 1e-12);
  EXPECT_NEAR(timeline.busy[0].value, 6, 1e-12);
}

TEST(PipelineSchedule, RefusesNonsense) {
  auto message = [](llvm::StringRef name, int64_t stages, int64_t microBatches) {
    return llvm::toString(makePipelineSchedule(name, stages, microBatches).takeError());
  };
  EXPECT_EQ(message("1f2b", 2, 2),
            "unknown pipeline schedule \"1f2b\"; known: gpipe, 1f1b, interleaved, breadth-first, "
            "zb1p, zb2p, zbv, v-half, v-min, wave, chimera, dualpipe, dualpipev, seq1f1b");
  EXPECT_EQ(message("gpipe", 0, 2), "a pipeline needs at least 1 stage, not 0");
  EXPECT_EQ(message("gpipe", 2, 0), "a pipeline needs at least 1 micro-batch, not 0");
}

TEST(PipelineSchedule, Drawings) {
  EXPECT_EQ(drawSchedule(simulate(make("gpipe", 3, 4), durations(1, 1, 0)), Seconds(1)),
            "device 0 |F0 F1 F2 F3 .  .  .  .  B0 B1 B2 B3|\n"
            "device 1 |.  F0 F1 F2 F3 .  .  B0 B1 B2 B3 . |\n"
            "device 2 |.  .  F0 F1 F2 F3 B0 B1 B2 B3 .  . |\n");
  EXPECT_EQ(drawSchedule(simulate(make("1f1b", 3, 4), durations(1, 1, 0)), Seconds(1)),
            "device 0 |F0 F1 F2 .  .  B0 F3 B1 .  B2 .  B3|\n"
            "device 1 |.  F0 F1 .  B0 F2 B1 F3 B2 .  B3 . |\n"
            "device 2 |.  .  F0 B0 F1 B1 F2 B2 F3 B3 .  . |\n");
  EXPECT_EQ(drawSchedule(simulate(make("gpipe", 2, 2), durations(1, 2, 0)), Seconds(1)),
            "device 0 |F0 F1 .  .  .  B0 -- B1 --|\n"
            "device 1 |.  F0 F1 B0 -- B1 -- .  . |\n");
}

TEST(PipelineSchedule, DrawingsOfSeveralChunksAndSlices) {
  auto draw = [](llvm::StringRef name, PipelineShape shape) {
    PipelineSchedule schedule = llvm::cantFail(makePipelineSchedule(name, shape));
    return drawSchedule(simulate(schedule, durations(shape.slices, shape.slices, 0)), Seconds(1));
  };
  EXPECT_EQ(draw("breadth-first", {2, 2, 2}), "device 0 |F0a F1a F0b F1b .   .   B0b B1b B0a B1a|\n"
                                              "device 1 |.   F0a F1a F0b F1b B0b B1b B0a B1a .  |\n");
  EXPECT_EQ(draw("seq1f1b", {2, 1, 1, 2}), "device 0 |F0.0 F0.1 .    .    B0.1 B0.0|\n"
                                           "device 1 |.    F0.0 F0.1 B0.1 B0.0 .   |\n");
  EXPECT_EQ(draw("chimera", {2, 2}), "device 0 |F0 F1 B1 B0|\n"
                                     "device 1 |F1 F0 B0 B1|\n");
}

TEST(PipelineSchedule, Trace) {
  PipelineSchedule schedule = llvm::cantFail(makePipelineSchedule("interleaved", PipelineShape{4, 8, 2}));
  ScheduleTimeline timeline =
      llvm::cantFail(simulateSchedule(schedule, {durations(1e-3, 1e-3, 5e-4)}, {Seconds(1e-4), Seconds(2e-4)}));
  llvm::json::Value trace = llvm::cantFail(llvm::json::parse(scheduleTrace(timeline)));
  std::map<std::string, int> phases;
  std::map<std::pair<int64_t, int64_t>, double> end; // per track: where it is free again
  std::map<int64_t, std::vector<double>> actionStarts;
  std::map<int64_t, double> arrows; // start of each
  for (const llvm::json::Value &value : *trace.getAsObject()->getArray("traceEvents")) {
    const llvm::json::Object &event = *value.getAsObject();
    std::string phase = event.getString("ph")->str();
    ++phases[phase];
    int64_t device = *event.getInteger("pid"), track = *event.getInteger("tid");
    double at = *event.getNumber("ts");
    if (phase == "X") {
      EXPECT_GE(at, (end[{device, track}]) - 1e-6) << "events of a track overlap";
      end[{device, track}] = at + *event.getNumber("dur");
      EXPECT_LE(end[std::pair(device, track)], timeline.stepTime.value * 1e6 + 1e-6);
    }
    if (phase == "s")
      arrows[*event.getInteger("id")] = at;
    if (phase == "f")
      EXPECT_GE(at, arrows.at(*event.getInteger("id")) + 100 - 1e-6);
  }
  int actions = 3 * 4 * 2 * 8, messages = 2 * 7 * 8;
  EXPECT_EQ(phases["X"], actions + messages);
  EXPECT_EQ(phases["s"], messages);
  EXPECT_EQ(phases["f"], messages);
  EXPECT_EQ(phases["C"], actions / 3 * 2);
  EXPECT_EQ(phases["M"], 4 * 4);
}

//===---- The verifier notices ----===//

TEST(ScheduleVerifier, NamesTheFault) {
  PipelineSchedule good = make("1f1b", 2, 3);
  std::vector<int64_t> slots = slotsPerStage(good);
  auto message = [&](auto mutate) {
    PipelineSchedule schedule = good;
    mutate(schedule);
    return llvm::toString(verifySchedule(schedule, slots));
  };
  // Stage 0: F0 F1 B0 W0 F2 B1 W1 B2 W2. Stage 1: F0 B0 W0 F1 B1 W1 F2 B2 W2.
  EXPECT_EQ(message([](PipelineSchedule &s) { s.devices[1].pop_back(); }),
            "schedule \"1f1b\": device 1: W2 never runs");
  EXPECT_EQ(message([](PipelineSchedule &s) { s.devices[0].push_back(s.devices[0][0]); }),
            "schedule \"1f1b\": device 0: F0 runs twice");
  EXPECT_EQ(message([](PipelineSchedule &s) { std::swap(s.devices[1][0], s.devices[1][1]); }),
            "schedule \"1f1b\": device 1: B0 runs before F0");
  EXPECT_EQ(message([](PipelineSchedule &s) { std::swap(s.devices[1][1], s.devices[1][2]); }),
            "schedule \"1f1b\": device 1: W0 runs before B0");
  EXPECT_EQ(message([](PipelineSchedule &s) { std::swap(s.devices[0][3], s.devices[0][4]); }),
            "schedule \"1f1b\": device 0: F2 would be micro-batch number 3 in flight; there are 2 slots");
  EXPECT_EQ(message([](PipelineSchedule &s) { std::swap(s.devices[0][1], s.devices[0][4]); }),
            "schedule \"1f1b\": device 0: F2 needs slot 0, which micro-batch 0 still uses");
  EXPECT_EQ(message([](PipelineSchedule &s) { s.devices[0][0].stage = 1; }),
            "schedule \"1f1b\": device 0: F0 belongs to stage 1, which is not on this device");
  EXPECT_EQ(message([](PipelineSchedule &s) { s.devices[0][0].microBatch = 3; }),
            "schedule \"1f1b\": device 0: F3 is not one of the 3 micro-batches");
  EXPECT_EQ(message([](PipelineSchedule &s) { s.devices.pop_back(); }),
            "schedule \"1f1b\": lists the actions of 1 devices, not 2");
}

TEST(ScheduleVerifier, FindsDeadlock) {
  // Stage 1 wants micro-batch 1 first, while stage 0 sends it only after it has the gradient of micro-batch 0.
  PipelineSchedule schedule{"test", 2, 2, {}};
  auto list = [&](int64_t stage, std::vector<std::pair<Kind, int64_t>> actions) {
    std::vector<PipelineAction> &result = schedule.devices.emplace_back();
    for (auto [kind, m] : actions)
      result.push_back({kind, stage, m});
  };
  const Kind F = Kind::Forward, B = Kind::Backward, W = Kind::WeightGradient;
  list(0, {{F, 0}, {B, 0}, {W, 0}, {F, 1}, {B, 1}, {W, 1}});
  list(1, {{F, 1}, {B, 1}, {W, 1}, {F, 0}, {B, 0}, {W, 0}});
  EXPECT_EQ(verify(schedule),
            "schedule \"test\": deadlock: device 0: waits forever before B0 for the message of B0 of stage 1");
}
