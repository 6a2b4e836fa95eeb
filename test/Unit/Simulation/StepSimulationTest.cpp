// The simulated step against known values: PipelineTimer if nothing is shared, published formulas, the memory of
// StepMemory, the closed formulas of the estimator in cases where they are exact.
#include "ppc/Simulation/StepSimulation.h"

#include "../Scheduling/RandomSchedules.h"
#include "ppc/Scheduling/PipelineTime.h"

#include <gtest/gtest.h>

using namespace mlir::ppc;

TEST(StepSimulation, EqualsThePipelineTimerWithoutContention) {
  unsigned seed = testSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomSchedules random(seed);
  PipelineTimer timer;
  PipelineTime expected;
  for (const PipelineScheduleKind &kind : pipelineScheduleKinds())
    for (int round = 0; round < 40; ++round) {
      PipelineShape shape = random.shape(kind, 8, 60);
      SCOPED_TRACE(describe(kind, shape));
      std::vector<StageDurations> durations = random.durations(shape.devices * shape.chunks);
      PipelineMessages messages = random.messages();
      ASSERT_EQ(llvm::toString(timer.time(kind.name, shape, durations, messages, expected)), "");
      StepWork work = workOfDurations(llvm::cantFail(makePipelineSchedule(kind.name, shape)), durations, messages);
      for (bool everyLayer : {false, true}) {
        StepSimulationOptions options;
        options.everyLayer = everyLayer;
        SimulatedStep step = llvm::cantFail(simulateWork(work, options));
        EXPECT_NEAR(step.stepTime.value, expected.stepTime.value, 1e-9 * expected.stepTime.value);
        for (int64_t device = 0; device < shape.devices; ++device)
          EXPECT_NEAR(step.devices[device].busy[0].value, expected.busy[device].value, 1e-9 * expected.stepTime.value);
      }
    }
}

TEST(StepSimulation, HasThePublishedBubbles) {
  auto idleShare = [](llvm::StringRef name, PipelineShape shape, StageDurations durations) {
    StepWork work = workOfDurations(llvm::cantFail(makePipelineSchedule(name, shape)), {durations}, {});
    SimulatedStep step = llvm::cantFail(simulateWork(work));
    return 1 - step.devices[0].busy[0] / step.stepTime;
  };
  StageDurations whole{Seconds(1), Seconds(2), Seconds(0)}, thirds{Seconds(1), Seconds(1), Seconds(1)};
  for (double p : {2.0, 4.0, 8.0})
    for (double m : {8.0, 24.0}) {
      int64_t devices = int64_t(p), microBatches = int64_t(m);
      EXPECT_NEAR(idleShare("gpipe", {devices, microBatches}, whole), (p - 1) / (m + p - 1), 1e-9);
      EXPECT_NEAR(idleShare("1f1b", {devices, microBatches}, whole), (p - 1) / (m + p - 1), 1e-9);
      EXPECT_NEAR(idleShare("interleaved", {devices, microBatches, 2}, whole), (p - 1) / (2 * m + p - 1), 1e-9);
      // ZB-H1: (p - 1)(F + B - W) where nothing travels (Qi et al., arXiv 2401.10241).
      EXPECT_NEAR(idleShare("zb1p", {devices, microBatches}, thirds), (p - 1) / (3 * m + p - 1), 1e-9);
    }
}

namespace {
struct RandomSteps {
  explicit RandomSteps(unsigned seed) : random(seed) {
    for (const char *name : {"llama-3-8b", "mixtral-8x7b", "gpt3-175b", "deepseek-v3"})
      models.push_back(llvm::cantFail(readModelShape(std::string(PPC_TEST_INPUTS) + "/Models/" + name + ".json")));
    for (const char *name : {"dgx-a100:4", "dgx-h100:8"})
      clusters.push_back(llvm::cantFail(findCluster(name)));
    for (const std::string &name : stackNames())
      stacks.push_back(llvm::cantFail(findStack(name)));
  }

  /// A layout with an estimate.
  void next() {
    StepEstimator estimator;
    while (true) {
      model = &models[random.below(models.size())];
      cluster = &clusters[random.below(clusters.size())];
      stack = &stacks[random.below(stacks.size())];
      layout = ParallelLayout();
      for (int64_t *degree : {&layout.dp, &layout.tp, &layout.pp, &layout.cp, &layout.microBatch})
        *degree = int64_t(1) << random.below(3);
      llvm::ArrayRef<PipelineScheduleKind> kinds = pipelineScheduleKinds();
      layout.schedule = kinds[random.below(kinds.size())].name.str();
      layout.vp = 1 + random.below(3);
      layout.sequenceParallel = layout.tp > 1 && random.below(2);
      layout.zero = random.below(4);
      layout.recompute = Recompute(random.below(3));
      layout.offload = Offload(random.below(3));
      if (model->moe)
        layout.ep = std::min<int64_t>(4, layout.dp * layout.cp);
      llvm::Expected<StepCost> priced = estimator.estimate(*model, job, *cluster, layout, *stack, &detail);
      if (priced) {
        cost = std::move(*priced);
        return;
      }
      llvm::consumeError(priced.takeError());
    }
  }
  StepWork work() const {
    ParallelLayout effective = layout;
    effective.vp = detail.shape.chunks;
    PricingContext context(*model, job, *cluster, effective, *stack, detail.shape.slices);
    return deriveStepWork(context, detail, cost,
                          llvm::cantFail(makePipelineSchedule(detail.schedule->name, detail.shape)));
  }
  SimulatedStep simulate(StepSimulationOptions options = {}) const {
    return llvm::cantFail(simulateStep(*model, job, *cluster, layout, *stack, detail, cost, options));
  }
  std::string describe() const {
    return model->name + " on " + cluster->name + ", " + stack->name + ": " + toString(layout);
  }

  RandomSchedules random;
  std::vector<ModelShape> models;
  std::vector<Cluster> clusters;
  std::vector<Stack> stacks;
  const ModelShape *model = nullptr;
  const Cluster *cluster = nullptr;
  const Stack *stack = nullptr;
  TrainingJob job{2048, 64};
  ParallelLayout layout;
  StepDetail detail;
  StepCost cost;
};
} // namespace

TEST(StepSimulation, PeaksWhereStepMemorySays) {
  unsigned seed = testSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomSteps steps(seed);
  for (int round = 0; round < 150; ++round) {
    steps.next();
    SCOPED_TRACE(steps.describe());
    StepSimulationOptions options;
    options.keepEvents = true;
    options.maxTasks = 1 << 30;
    SimulatedStep step = steps.simulate(options);
    ASSERT_EQ(step.devices.size(), steps.cost.stages.size());
    for (size_t device = 0; device < step.devices.size(); ++device) {
      Bytes expected = steps.cost.stages[device].memory.total();
      EXPECT_NEAR(step.devices[device].peak.value, expected.value, 1e-6 * expected.value) << "device " << device;
      Bytes most;
      for (const MemoryPoint &point : step.devices[device].memory)
        most = std::max(most, point.bytes);
      EXPECT_EQ(most.value, step.devices[device].peak.value);
      // The memory of micro-batches has been freed.
      const MemoryBreakdown &memory = steps.cost.stages[device].memory;
      Bytes constant = expected - memory.activations + memory.emptySlots;
      EXPECT_NEAR(step.devices[device].memory.back().bytes.value, constant.value, 1e-6 * expected.value);
    }
  }
}

TEST(StepSimulation, EqualsTheTimerOnStepsWithoutState) {
  unsigned seed = testSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomSteps steps(seed);
  PipelineTimer timer;
  PipelineTime expected;
  for (int round = 0; round < 150; ++round) {
    steps.next();
    SCOPED_TRACE(steps.describe());
    StepWork work = steps.work();
    work.levels = 0;
    work.communicationShare = work.communicationSlowdown = 0;
    work.host = BytesPerSecond(0);
    std::vector<StageDurations> durations;
    for (ChunkWork &chunk : work.chunks) {
      StageDurations &sum = durations.emplace_back();
      for (LayerWork &layer : chunk.layers) {
        layer.gather = layer.scatter = Seconds(0);
        sum.forward += layer.forward;
        sum.backward += layer.backward;
        sum.weightGradient += layer.weightGradient;
      }
    }
    for (DeviceWork &device : work.devices)
      device.reduction = device.gather = device.optimizer = device.hostCopies = Seconds(0);
    ASSERT_EQ(
        llvm::toString(timer.time(steps.detail.schedule->name, steps.detail.shape, durations, work.messages, expected)),
        "");
    for (int64_t opTasks :
         {0, 4000, round % 5 ? 4000 : 1 << 30}) { // chunks, the first and last micro-batch op by op, everything
      StepSimulationOptions options;
      options.opTasks = opTasks;
      SimulatedStep step = llvm::cantFail(simulateWork(work, options));
      Seconds wanted = work.validatesAfterwards ? expected.span() : expected.stepTime;
      EXPECT_NEAR(step.stepTime.value, wanted.value, 1e-9 * wanted.value) << opTasks;
    }
  }
}

TEST(StepSimulation, EqualsTheEstimatorWithoutOverlap) {
  unsigned seed = testSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomSteps steps(seed);
  int compared = 0;
  for (int round = 0; round < 600; ++round) {
    steps.next();
    // One stage, or blocking sends; no state that moves during layers; the update waits for everything.
    const ParallelLayout &layout = steps.layout;
    bool alone = layout.pp == 1 && layout.zero <= 1 && layout.offload != Offload::Activations;
    bool behind = steps.cost.stages[0].gradientReduction.value == 0 ||
                  (!steps.stack->overlapGradientReduction && !steps.stack->overlapParameterGather);
    if (!alone || !behind)
      continue;
    SCOPED_TRACE(steps.describe());
    ++compared;
    EXPECT_NEAR(steps.simulate().stepTime.value, steps.cost.stepTime.value, 1e-9 * steps.cost.stepTime.value);
  }
  EXPECT_GT(compared, 20);
}

TEST(StepSimulation, DoesAllWorkAndNoMore) {
  unsigned seed = testSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomSteps steps(seed);
  for (int round = 0; round < 40; ++round) {
    steps.next();
    SCOPED_TRACE(steps.describe());
    StepWork work = steps.work();
    SimulatedStep folded = llvm::cantFail(simulateWork(work));
    StepSimulationOptions options;
    options.everyLayer = true;
    SimulatedStep expanded = llvm::cantFail(simulateWork(work, options));
    options.opTasks = 1 << 30;
    SimulatedStep single = llvm::cantFail(simulateWork(work, options));
    EXPECT_GT(single.tasks, expanded.tasks);
    // Tasks are stages, layers or ops: equal except for contention. State that moves during every layer meets its
    // collectives at other times if they follow each other or are between the ops.
    double tolerance = steps.layout.zero >= 2 ? 0.06 : 0.02;
    EXPECT_NEAR(folded.stepTime / expanded.stepTime, 1, tolerance);
    EXPECT_NEAR(single.stepTime / expanded.stepTime, 1, tolerance);
    for (size_t device = 0; device < work.devices.size(); ++device) {
      Seconds asked = work.devices[device].optimizer;
      for (const PipelineAction &action : work.schedule.devices[device])
        for (const LayerWork &layer : work.chunks[action.stage].layers) {
          double share = 1.0 / double(work.schedule.sliceCount);
          if (action.kind == PipelineActionKind::Forward)
            asked += (layer.forward - totalTime(layer.forwardExposed)) * share;
          else if (action.kind == PipelineActionKind::Backward)
            asked += (layer.backward - totalTime(layer.backwardExposed)) * share;
          else
            asked += layer.weightGradient * share;
        }
      Seconds busy = folded.devices[device].busy[0];
      EXPECT_GE(busy.value, asked.value * (1 - 1e-9));
      EXPECT_LE(busy.value, asked.value / (1 - work.communicationShare) * (1 + 1e-9));
      if (!work.validatesAfterwards)
        EXPECT_LE(busy.value, folded.stepTime.value * (1 + 1e-9));
    }
  }
}

TEST(StepSimulation, TakesNoLessWithContention) {
  unsigned seed = testSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomSteps steps(seed);
  int compared = 0, slowed = 0, slowedByLinks = 0;
  for (int round = 0; round < 80; ++round) {
    steps.next();
    if (steps.stack->validatesUpdateAfterwards) // its step is a difference of two times
      continue;
    SCOPED_TRACE(steps.describe());
    StepWork shared = steps.work(), links = steps.work(), none = steps.work();
    links.communicationShare = links.communicationSlowdown = 0;
    none.communicationShare = none.communicationSlowdown = 0;
    none.levels = 0;
    double with = llvm::cantFail(simulateWork(shared)).stepTime.value,
           onlyLinks = llvm::cantFail(simulateWork(links)).stepTime.value;
    double without = llvm::cantFail(simulateWork(none)).stepTime.value;
    EXPECT_GE(with, without * (1 - 1e-9));
    EXPECT_GE(onlyLinks, without * (1 - 1e-9));
    ++compared;
    slowed += with > without * 1.001;
    slowedByLinks += onlyLinks > without * 1.001;
  }
  EXPECT_GT(slowed, compared / 10);
  EXPECT_GT(slowedByLinks, 0);
}

// If events are kept, a task is written for every action; else actions are simulated in runs, with the same rates.
TEST(StepSimulation, IsTheSameInRunsAsTaskByTask) {
  unsigned seed = testSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomSteps steps(seed);
  int contended = 0, compared = 0, stoppedEarly = 0;
  for (int round = 0; round < 200; ++round) {
    steps.next();
    SCOPED_TRACE(steps.describe());
    StepWork work = steps.work();
    if (round % 3 == 0) { // links that are asked for more than they have
      work.messageLink = 0.5 + 0.25 * double(steps.random.below(3));
      work.messages.forward = work.messages.backward =
          work.chunks.front().layers.front().forward * double(1 + steps.random.below(4));
    }
    StepSimulationOptions byTask;
    byTask.keepEvents = true;
    SimulatedStep expected = llvm::cantFail(simulateWork(work, byTask)), step = llvm::cantFail(simulateWork(work));
    EXPECT_EQ(step.tasks, expected.tasks);
    double whole = expected.stepTime.value;
    EXPECT_NEAR(step.stepTime.value, whole, 1e-12 * whole);
    ASSERT_EQ(step.devices.size(), expected.devices.size());
    for (auto [each, other] : llvm::zip(step.devices, expected.devices)) {
      for (int stream = 0; stream < simulatedStreamCount; ++stream) {
        EXPECT_NEAR(each.busy[stream].value, other.busy[stream].value, 1e-9 * whole);
        EXPECT_NEAR(each.exposed[stream].value, other.exposed[stream].value, 1e-9 * whole);
      }
      EXPECT_NEAR(each.idle.value, other.idle.value, 1e-9 * whole);
      EXPECT_NEAR(each.peak.value, other.peak.value, 1e-9 * other.peak.value);
      EXPECT_NEAR(each.peakTime.value, other.peakTime.value, 1e-9 * whole);
    }
    StepWork alone = work;
    alone.communicationShare = alone.communicationSlowdown = 0;
    contended += llvm::cantFail(simulateWork(alone)).stepTime < step.stepTime * (1 - 1e-6);
    ++compared;
    if (work.validatesAfterwards) // never stops
      continue;
    for (double part : {0.5, 0.9, 0.999, 1.001}) {
      StepSimulationOptions limited;
      limited.latest = part * step.stepTime;
      SimulatedStep stopped = llvm::cantFail(simulateWork(work, limited));
      if (part > 1)
        EXPECT_FALSE(stopped.stopped);
      stoppedEarly += stopped.stopped;
      if (!stopped.stopped)
        EXPECT_EQ(stopped.stepTime.value, step.stepTime.value);
    }
  }
  EXPECT_GT(contended, compared / 10);
  EXPECT_GT(stoppedEarly, compared);
}

TEST(StepSimulation, ShortensLongStepsByTheirSteadyState) {
  int shortened = 0;
  std::optional<RandomSteps> drawn;
  // After the first one, seeds of steps that were more than 1 % off, or took more tasks than the whole.
  const unsigned seeds[] = {unsigned(testSeed()), 2268803823, 823451878, 1087023312, 3531368272};
  for (int round = 0; round < 5 * 25; ++round) {
    unsigned seed = seeds[round / 25];
    SCOPED_TRACE("seed " + std::to_string(seed));
    if (round % 25 == 0) {
      drawn.emplace(seed);
      drawn->job.globalBatch = 1024;
    }
    RandomSteps &steps = *drawn;
    steps.next();
    if (steps.layout.offload == Offload::Activations)
      continue;
    SCOPED_TRACE(steps.describe());
    StepSimulationOptions whole, part;
    whole.maxTasks = 1 << 30;
    part.maxTasks = 100;
    SimulatedStep all = steps.simulate(whole), few = steps.simulate(part);
    if (!few.extrapolated)
      continue;
    ++shortened;
    EXPECT_LT(few.tasks, all.tasks);
    EXPECT_NEAR(few.stepTime / all.stepTime, 1, 0.01);
    for (size_t device = 0; device < all.devices.size(); ++device) {
      EXPECT_NEAR(few.devices[device].peak / all.devices[device].peak, 1, 1e-6);
      EXPECT_NEAR(few.devices[device].busy[0] / all.devices[device].busy[0], 1, 0.01);
    }
  }
  EXPECT_GT(shortened, 0);
}
