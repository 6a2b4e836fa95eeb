// Every schedule against what its paper publishes: idle time, activations kept, and the bubble rates that the
// zero-bubble paper calculates from profiled times.
#include "ppc/Scheduling/PipelineTime.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

#include <map>

using namespace mlir::ppc;
using Kind = PipelineActionKind;

namespace {
struct Simulated {
  double idle;               // idle time of a device, over the whole step
  double spanIdle;           // idle time of the longest device, from its first action to its last
  std::vector<double> peaks; // per device: micro-batches, that is, chunks / v
};

Simulated simulateNamed(llvm::StringRef name, PipelineShape shape, double forward, double backward, double weight) {
  PipelineSchedule schedule = llvm::cantFail(makePipelineSchedule(name, shape));
  // Durations of a device's whole share of the model.
  double v = shape.chunks;
  StageDurations each{Seconds(forward / v), Seconds(backward / v), Seconds(weight / v)};
  ScheduleTimeline timeline = llvm::cantFail(simulateSchedule(schedule, {each}));
  Simulated result{
      timeline.stepTime.value - timeline.busy[0].value, timeline.span().value - timeline.busy[0].value, {}};
  for (double peak : timeline.peakInFlight)
    result.peaks.push_back(peak / v);
  return result;
}

double most(const Simulated &simulated) { return *llvm::max_element(simulated.peaks); }
} // namespace

TEST(ScheduleFormulas, OneDirectionWithoutSplitBackward) {
  for (auto [forward, backward] : {std::pair(1.0, 1.0), {1.0, 2.0}, {1.3, 2.1}})
    for (int64_t p = 1; p <= 9; ++p)
      for (int64_t m : {p, p + 1, 2 * p + 1, 5 * p}) {
        SCOPED_TRACE(std::to_string(p) + " devices, " + std::to_string(m) + " micro-batches");
        double idle = (p - 1) * (forward + backward);
        Simulated gpipe = simulateNamed("gpipe", {p, m}, forward, backward, 0);
        EXPECT_NEAR(gpipe.idle, idle, 1e-9);
        Simulated oneFOneB = simulateNamed("1f1b", {p, m}, forward, backward, 0);
        EXPECT_NEAR(oneFOneB.idle, idle, 1e-9);
        for (int64_t d = 0; d < p; ++d) {
          EXPECT_EQ(gpipe.peaks[d], m);
          EXPECT_EQ(oneFOneB.peaks[d], p - d);
        }
        for (int64_t v = 2; v <= 4; ++v) {
          Simulated breadthFirst = simulateNamed("breadth-first", {p, m, v}, forward, backward, 0);
          EXPECT_NEAR(breadthFirst.idle, idle / v, 1e-9);
          EXPECT_EQ(most(breadthFirst), m);
          if (m % p)
            continue;
          Simulated interleaved = simulateNamed("interleaved", {p, m, v}, forward, backward, 0);
          EXPECT_NEAR(interleaved.idle, idle / v, 1e-9);
          double published = p * (1 + double(p - 1) / (p * v)); // Korthikanti et al., arXiv 2205.05198
          EXPECT_NEAR(most(interleaved), std::min<double>(published, m), 1e-9);
        }
        for (int64_t k = 1; k <= 4; ++k) {
          Simulated sliced = simulateNamed("seq1f1b", {p, m, 1, k}, forward, backward, 0);
          EXPECT_NEAR(sliced.idle, idle / k, 1e-9);
          EXPECT_NEAR(most(sliced), double(p + k - 1) / k, 1e-9);
        }
      }
}

TEST(ScheduleFormulas, ZeroBubble) {
  for (auto [forward, backward, weight] : {std::tuple(1.0, 1.0, 1.0), {1.1, 1.0, 0.8}, {1.0, 1.2, 1.0}})
    for (int64_t p = 1; p <= 9; ++p)
      for (int64_t m : {2 * p, 2 * p + 3, 5 * p}) {
        SCOPED_TRACE(std::to_string(p) + " devices, " + std::to_string(m) + " micro-batches, W " +
                     std::to_string(weight));
        Simulated one = simulateNamed("zb1p", {p, m}, forward, backward, weight);
        EXPECT_NEAR(one.spanIdle, (p - 1) * (forward + backward - weight), 1e-9);
        Simulated two = simulateNamed("zb2p", {p, m}, forward, backward, weight);
        EXPECT_NEAR(two.spanIdle, (p - 1) * (forward + backward - 2 * weight), 1e-9);
        for (int64_t d = 0; d < p; ++d) {
          EXPECT_EQ(one.peaks[d], p);
          EXPECT_EQ(two.peaks[d], 2 * p - 1);
        }
      }
}

/// With F = B = W, for which the papers state them, in units of one chunk's F; 1F1B idles 6 (p - 1) of them.
TEST(ScheduleFormulas, VShaped) {
  for (int64_t p : {2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 24, 31})
    for (int64_t m : {2 * p, 4 * p + 1}) {
      SCOPED_TRACE(std::to_string(p) + " devices, " + std::to_string(m) + " micro-batches");
      Simulated zbv = simulateNamed("zbv", {p, m, 2}, 2, 2, 2);
      EXPECT_EQ(zbv.spanIdle, 0);
      for (int64_t d = 0; d < p; ++d)
        EXPECT_EQ(zbv.peaks[d], p);
      // Half of 1F1B's idle time and activations, up to the ends of the building block.
      Simulated half = simulateNamed("v-half", {p, m, 2}, 2, 2, 2);
      EXPECT_LE(half.spanIdle, 3 * (p - 1) + 2);
      EXPECT_GE(half.spanIdle, 3 * (p - 1) - 2);
      EXPECT_LE(most(half), p / 2.0 + 1);
      // Two thirds of the idle time, a third of the activations.
      Simulated least = simulateNamed("v-min", {p, m, 2}, 2, 2, 2);
      EXPECT_LE(least.spanIdle, 4 * (p - 1));
      EXPECT_GE(least.spanIdle, 4 * (p - 1) - 1);
      EXPECT_LE(most(least), p / 3.0 + 4 / 3.0);
    }
}

TEST(ScheduleFormulas, Wave) {
  for (int64_t p = 1; p <= 9; ++p)
    for (int64_t m : {p, 2 * p, 7 * p})
      for (int64_t v : {2, 4, 6}) {
        SCOPED_TRACE(std::to_string(p) + " devices, " + std::to_string(m) + " micro-batches, " + std::to_string(v));
        Simulated wave = simulateNamed("wave", {p, m, v}, v, v, 0);
        EXPECT_NEAR(wave.idle, 2 * (p - 1), 1e-9); // in units of a chunk's F, for v times 2m units of work
        EXPECT_LE(most(wave), p);
      }
}

TEST(ScheduleFormulas, Chimera) {
  for (int64_t p = 2; p <= 16; p += 2)
    for (int64_t m : {p, 2 * p, 5 * p}) {
      SCOPED_TRACE(std::to_string(p) + " devices, " + std::to_string(m) + " micro-batches");
      Simulated chimera = simulateNamed("chimera", {p, m}, 1, 1, 0);
      double rate = chimera.idle / (2 * m + chimera.idle);
      EXPECT_NEAR(rate, (p - 2.0) / (2 * m + p - 2), 1e-12);
      double least = *llvm::min_element(chimera.peaks);
      EXPECT_GE(least, p / 2);
      EXPECT_LE(most(chimera), p);
      if (m > p)
        continue;
      EXPECT_EQ(least, std::min(p / 2 + 1, p)) << "published: from p/2 + 1 to p";
      EXPECT_EQ(most(chimera), p);
      Simulated real = simulateNamed("chimera", {p, m}, 1, 2, 0);
      EXPECT_NEAR(real.idle / (3 * m + real.idle), (p - 2.0) / (1.5 * m + p - 2), 1e-12);
    }
}

/// Step time when an F and the following B in the other direction (the other chunk of a V) are one block, as DualPipe
/// runs them: it takes the sum of both, W included, and its results are sent when it completes.
static double blockedTime(const PipelineSchedule &schedule, double forward, double backward, double weight) {
  std::map<std::tuple<Kind, int64_t, int64_t>, double> end;
  std::vector<size_t> next(schedule.deviceCount(), 0);
  std::vector<double> free(schedule.deviceCount(), 0);
  auto input = [&](const PipelineAction &action, double &start) {
    int64_t from = action.kind == Kind::Forward ? action.stage - 1 : action.stage + 1;
    if (action.kind == Kind::WeightGradient || from < 0 || from >= schedule.stageCount)
      return true;
    auto found = end.find({action.kind, from, action.microBatch});
    if (found != end.end())
      start = std::max(start, found->second);
    return found != end.end();
  };
  for (bool progress = true; progress;) {
    progress = false;
    for (int64_t device = 0; device < schedule.deviceCount(); ++device) {
      const std::vector<PipelineAction> &list = schedule.devices[device];
      while (next[device] < list.size()) {
        size_t i = next[device], count = 1;
        auto isWeightOf = [&](size_t j, size_t b) {
          return j < list.size() && list[j].kind == Kind::WeightGradient && list[j].microBatch == list[b].microBatch;
        };
        if (list[i].kind == Kind::Forward && i + 1 < list.size() && list[i + 1].kind == Kind::Backward &&
            (schedule.replicaCount() == 2
                 ? schedule.replicaOf(list[i].microBatch) != schedule.replicaOf(list[i + 1].microBatch)
                 : list[i].stage != list[i + 1].stage))
          count = isWeightOf(i + 2, i + 1) ? 3 : 2;
        double start = free[device], sum = 0;
        bool isReady = true;
        for (size_t j = i; j < i + count; ++j) {
          isReady &= input(list[j], start);
          sum += list[j].kind == Kind::Forward ? forward : list[j].kind == Kind::Backward ? backward : weight;
        }
        if (!isReady)
          break;
        free[device] = start + sum;
        for (size_t j = i; j < i + count; ++j)
          end[{list[j].kind, list[j].stage, list[j].microBatch}] = free[device];
        next[device] += count;
        progress = true;
      }
    }
  }
  return *llvm::max_element(free);
}

TEST(ScheduleFormulas, DualPipe) {
  for (int64_t p = 2; p <= 16; p += 2)
    for (int64_t m : {2 * p, 3 * p + 2, 6 * p})
      for (auto [forward, backward, weight] : {std::tuple(1.0, 1.0, 1.0), {1.0, 1.1, 0.9}}) {
        SCOPED_TRACE(std::to_string(p) + " devices, " + std::to_string(m) + " micro-batches");
        PipelineSchedule schedule = llvm::cantFail(makePipelineSchedule("dualpipe", {p, m}));
        // Published: (p/2 - 1)(F&B + B - 3W), B with W in it.
        double work = m * (forward + backward + weight);
        double published = (p / 2 - 1) * ((forward + backward + weight) + (backward + weight) - 3 * weight);
        double idle = blockedTime(schedule, forward, backward, weight) - work;
        EXPECT_LE(idle, published + 1e-9);
        if (forward == backward && backward == weight)
          EXPECT_NEAR(idle, published, 1e-9);
        // Without blocks messages leave earlier.
        Simulated dualPipe = simulateNamed("dualpipe", {p, m}, forward, backward, weight);
        EXPECT_LE(dualPipe.idle, published + 1e-9);
        EXPECT_EQ(most(dualPipe), p + 1);
        // Half as many devices in a V: the same bubble for a chunk's times.
        schedule = llvm::cantFail(makePipelineSchedule("dualpipev", {p / 2, m / 2, 2}));
        idle = blockedTime(schedule, forward, backward, weight) - work;
        EXPECT_LE(idle, published + 1e-9);
        if (forward == backward && backward == weight)
          EXPECT_NEAR(idle, published, 1e-9);
        Simulated v = simulateNamed("dualpipev", {p / 2, m / 2, 2}, 2 * forward, 2 * backward, 2 * weight);
        EXPECT_NEAR(v.idle, dualPipe.idle, 1e-9);
        EXPECT_EQ(most(v), (p + 1) / 2.0);
      }
}

/// If every B that overlaps an F saves `overlap`, a device's steady state is shorter by that per micro-batch.
TEST(ScheduleFormulas, DualPipeOverlapsForwardsAndBackwards) {
  for (llvm::StringRef name : {"dualpipe", "dualpipev"}) {
    int64_t chunks = name == "dualpipe" ? 1 : 2;
    PipelineSchedule schedule = llvm::cantFail(makePipelineSchedule(name, PipelineShape{4, 400, chunks}));
    StageDurations each{Seconds(1), Seconds(1), Seconds(1)};
    double plain = llvm::cantFail(simulateSchedule(schedule, {each})).stepTime.value;
    each.overlap = Seconds(0.25);
    ScheduleTimeline overlapped = llvm::cantFail(simulateSchedule(schedule, {each}));
    double saved = plain - overlapped.stepTime.value, most = 0.25 * 400 * chunks;
    EXPECT_LE(saved, most + 1e-9);
    EXPECT_GE(saved, most * 0.95);
    EXPECT_LE(overlapped.bubbleRate(), 0.02);
  }
}

namespace {
/// arXiv 2401.10241, tables 5 and 9: times in ms, calculated bubble rates.
struct ProfiledRow {
  int64_t p, m, chunks;
  double forward, backward, weight, message;
  double oneFOneB, interleaved, h1, h2, automatic2p;
};
const ProfiledRow profiledRows[] = {
    {8, 24, 3, 18.522, 18.086, 9.337, .601, 0.2431, 0.1055, 0.1585, 0.1083, 0.0433},
    {8, 64, 3, 18.546, 18.097, 9.321, .762, 0.1240, 0.0443, 0.0674, 0.0444, 0.0026},
    {8, 32, 4, 29.802, 29.428, 19.530, .577, 0.1898, 0.0628, 0.1045, 0.0559, 0.0022},
    {16, 48, 3, 11.347, 11.248, 8.132, .377, 0.2552, 0.1104, 0.1397, 0.0672, 0.0066},
    {16, 128, 3, 11.325, 11.308, 8.109, .378, 0.1251, 0.0445, 0.0576, 0.0266, 0.0028},
    {32, 96, 2, 10.419, 10.207, 7.715, .408, 0.2646, 0.1493, 0.1421, 0.0641, 0.0038},
    {32, 256, 2, 10.402, 10.248, 7.698, .460, 0.1352, 0.0624, 0.0594, 0.0257, 0.0018},
};
} // namespace

TEST(ScheduleFormulas, BubbleRatesCalculatedFromProfiledTimes) {
  for (const ProfiledRow &row : profiledRows) {
    SCOPED_TRACE(std::to_string(row.p) + " devices, " + std::to_string(row.m) + " micro-batches");
    double work = row.m * (row.forward + row.backward + row.weight);
    PipelineMessages messages{Seconds(row.message), Seconds(row.message)};
    auto span = [&](llvm::StringRef name, PipelineShape shape, double forward, double backward, double weight) {
      PipelineSchedule schedule = llvm::cantFail(makePipelineSchedule(name, shape));
      double v = shape.chunks;
      StageDurations each{Seconds(forward / v), Seconds(backward / v), Seconds(weight / v)};
      return llvm::cantFail(simulateSchedule(schedule, {each}, messages)).span().value;
    };
    EXPECT_NEAR(1 - work / span("1f1b", {row.p, row.m}, row.forward, row.backward + row.weight, 0), row.oneFOneB,
                5.1e-5);
    EXPECT_NEAR(1 - work / span("zb1p", {row.p, row.m}, row.forward, row.backward, row.weight), row.h1, 5.1e-5);
    EXPECT_NEAR(1 - work / span("zb2p", {row.p, row.m}, row.forward, row.backward, row.weight), row.h2, 5.1e-5);
    // The paper searches the automatic schedule; the fitted one comes within half a hundredth, and keeps no more.
    StageDurations each{Seconds(row.forward), Seconds(row.backward), Seconds(row.weight)};
    PipelineShape fitted =
        fitPipelineShape(*llvm::cantFail(findPipelineSchedule("zb2p")), {row.p, row.m}, {each}, messages, 0.43);
    double automatic = 1 - work / span("zb2p", fitted, row.forward, row.backward, row.weight);
    EXPECT_LT(automatic, row.automatic2p + 0.006);
    EXPECT_LT(automatic, row.h2 * 0.6);
    PipelineProgram program =
        llvm::cantFail(compilePipelineSchedule(*llvm::cantFail(findPipelineSchedule("zb2p")), fitted));
    for (int64_t device = 0; device < row.p; ++device)
      EXPECT_LE(program.peak(device, {1.0}, {0.43}), 2 * row.p);
    // Fitted within p micro-batches: the bubble of ZB-H1, and all of p used.
    PipelineShape within =
        fitPipelineShape(*llvm::cantFail(findPipelineSchedule("zb1p")), {row.p, row.m}, {each}, messages, 0.43);
    EXPECT_LT(1 - work / span("zb1p", within, row.forward, row.backward, row.weight), row.h1 + 1e-3);
    PipelineProgram held =
        llvm::cantFail(compilePipelineSchedule(*llvm::cantFail(findPipelineSchedule("zb1p")), within));
    for (int64_t device = 0; device < row.p; ++device) {
      EXPECT_LE(held.peak(device, {1.0}, {0.43}), row.p);
      EXPECT_GT(held.peak(device, {1.0}, {0.43}), row.p - 2);
    }
    // The paper's calculation of interleaved 1F1B lets only the first micro-batch of each group wait for the message
    // from the last device to the first and back. All do, which costs p messages more.
    double interleaved = span("interleaved", {row.p, row.m, row.chunks}, row.forward, row.backward + row.weight, 0);
    EXPECT_NEAR(1 - work / (interleaved - row.p * row.message), row.interleaved, 2e-4);
    EXPECT_GT(1 - work / interleaved, row.interleaved);
  }
}
