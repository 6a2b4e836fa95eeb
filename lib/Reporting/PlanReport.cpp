#include "ppc/Reporting/PlanReport.h"

#include "ppc/Simulation/StepBound.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ThreadPool.h"

#include <algorithm>

using namespace mlir::ppc;

llvm::StringRef mlir::ppc::toString(TimeKind kind) {
  static constexpr llvm::StringRef names[timeKindCount] = {"matmul",
                                                           "attention",
                                                           "memory-bound",
                                                           "recomputation",
                                                           "launches and copies",
                                                           "layer communication",
                                                           "state exchange",
                                                           "bubble",
                                                           "gradient reduction",
                                                           "optimizer",
                                                           "parameter gather"};
  return names[static_cast<int>(kind)];
}

double mlir::ppc::alternativeCost(const PlanReport &report, const Plan &other) {
  const Plan &best = report.search.plans[0];
  if (best.simulated && other.simulated)
    return other.simulated->stepTime / best.simulated->stepTime - 1;
  return other.cost.stepTime / best.cost.stepTime - 1;
}

Seconds TimeBreakdown::total() const {
  Seconds sum;
  for (Seconds part : parts)
    sum += part;
  return sum;
}

static double microBatchesOf(const StepDetail &detail) {
  return double(detail.shape.microBatches) / double(std::max<int64_t>(1, detail.schedule->replicas));
}

static Seconds busyTime(const StageCost &stage) { return stage.forward + stage.backward + stage.weightGradient; }

static int64_t busiestStage(const StepCost &cost) {
  int64_t busiest = 0;
  for (size_t i = 0; i < cost.stages.size(); ++i)
    if (busyTime(cost.stages[i]) > busyTime(cost.stages[busiest]))
      busiest = int64_t(i);
  return busiest;
}

/// Per kind, the layers of a chunk that are recomputed as a whole.
static std::array<int64_t, layerKinds> recomputedLayers(const ModelShape &model, const ParallelLayout &layout,
                                                        llvm::ArrayRef<int64_t> layers, size_t chunk) {
  std::array<int64_t, layerKinds> recomputed{};
  if (layout.recompute != Recompute::Full)
    return recomputed;
  ChunkLayers all = listChunks(layers)[chunk];
  int64_t count = layout.recomputedOf(chunk, all.recomputable(model));
  for (int64_t i = 0; i < count; ++i)
    ++recomputed[int(layerKind(model, std::min(all.begin + i, model.layers - 1)))];
  return recomputed;
}

static TimeBreakdown breakDownTime(const ModelShape &model, const ParallelLayout &layout, const StepCost &cost,
                                   const StepDetail &detail, int64_t busiest) {
  TimeBreakdown time;
  std::vector<int64_t> layers = layersPerChunk(model, detail.costs.chunks);
  double microBatches = microBatchesOf(detail);
  for (const PipelineChunk &place : detail.chunks[busiest]) {
    const ChunkCost &chunk = detail.costs.chunks[place.stage];
    Seconds before = time.total();
    std::array<int64_t, layerKinds> again = recomputedLayers(model, layout, layers, place.stage);
    for (int kind = 0; kind < layerKinds; ++kind) {
      if (!chunk.count[kind])
        continue;
      const LayerProgram &program = detail.costs.programs[kind];
      double count = microBatches * double(chunk.count[kind]);
      for (const LayerOp &op : program.ops)
        if (op.kind != OpClass::Communication)
          time.parts[static_cast<int>(op.kind)] += count * (op.forward + op.backward + op.weightGradient);
      time[TimeKind::Recompute] +=
          microBatches * double(again[kind]) * (program.recomputeFull() - program.communicationAgain());
      time[TimeKind::Recompute] += microBatches * double(chunk.count[kind] - again[kind]) *
                                   program.recomputePartial(layout.recompute == Recompute::Selective);
    }
    time[TimeKind::LayerCommunication] += microBatches * chunk.communication;
    time[TimeKind::StateExchange] += microBatches * chunk.stateExchange;
    // Time of the chunk besides its kernels.
    Seconds whole = chunk.durations.forward + chunk.durations.backward + chunk.durations.weightGradient;
    Seconds known = time.total() - before;
    time[TimeKind::Waiting] += microBatches * whole - known;
  }
  time[TimeKind::Bubble] = cost.pipeline - time.total();
  Seconds optimizer;
  for (const StageCost &stage : cost.stages)
    optimizer = std::max(optimizer, stage.optimizer);
  time[TimeKind::Optimizer] = std::min(optimizer, cost.optimizer);
  time[TimeKind::ParameterGather] = cost.optimizer - time[TimeKind::Optimizer];
  time[TimeKind::GradientReduction] = cost.stepTime - time.total();
  // Rounding errors of sums with many terms count as zero.
  for (Seconds &part : time.parts)
    if (part < Seconds(1e-12) * std::max(1.0, cost.stepTime.value) &&
        part > Seconds(-1e-9) * std::max(1.0, cost.stepTime.value))
      part = Seconds(0);
  return time;
}

llvm::Expected<ReportedPlan> mlir::ppc::reportPlan(const PlanReport &report, const ParallelLayout &layout,
                                                   StepEstimator &estimator) {
  ReportedPlan plan;
  plan.layout = layout;
  llvm::Expected<StepCost> cost =
      estimator.estimate(report.model, report.job, report.cluster, layout, report.stack, &plan.detail);
  if (!cost)
    return cost.takeError();
  plan.cost = std::move(*cost);
  // Reports and files list the layers of every stage, also if the stack partitions them.
  if (layout.stageLayers.empty() && plan.detail.costs.chunks.size() > 1)
    for (int64_t layers : layersPerChunk(report.model, plan.detail.costs.chunks))
      plan.layout.stageLayers.push_back(layers);
  plan.interval = predictionInterval(featuresOf(report.model, report.job, report.cluster, plan.layout, report.stack));
  plan.busiest = busiestStage(plan.cost);
  plan.time = breakDownTime(report.model, layout, plan.cost, plan.detail, plan.busiest);
  return plan;
}

Seconds mlir::ppc::bestTime(const Plan &plan) { return plan.simulated ? plan.simulated->stepTime : plan.cost.stepTime; }

std::string mlir::ppc::rangeText(const PredictionInterval &interval, Seconds step) {
  std::string low = toString(interval.low * step), high = toString(interval.high * step);
  // One unit is enough where both have the same.
  llvm::StringRef unit = llvm::StringRef(high).rsplit(' ').second;
  if (llvm::StringRef(low).ends_with((" " + unit).str()))
    low.resize(low.size() - unit.size() - 1);
  return low + " to " + high;
}

std::string mlir::ppc::intervalNote(const PlanReport &report) {
  const PredictionInterval &interval = report.plans.front().interval;
  if (!interval.isNear())
    return "nothing near these steps was ever measured: the ranges are guesses from far away (" + interval.nearest +
           ")";
  return "ranges: nine of ten measured steps like these, the nearest from " + interval.nearest;
}

/// Replaces the step's time and its derived numbers by the replay's, which includes waits that the formulas do not.
static void useReplay(StepCost &cost, const std::optional<SimulatedStep> &step) {
  if (!step || step->stepTime.value <= 0)
    return;
  double faster = cost.stepTime / step->stepTime;
  cost.mfu *= faster;
  cost.hfu *= faster;
  cost.tokensPerSecondPerDevice *= faster;
}

/// Replays the alternatives where the plans were, so that both are compared by one clock. Those that cannot be replayed
/// stay so.
static void replayAlternatives(PlanReport &report, StepEstimator &estimator) {
  auto isSame = [](const ParallelLayout &a, const ParallelLayout &b) {
    return a.stageLayers == b.stageLayers && a.stageRecomputedLayers == b.stageRecomputedLayers &&
           toString(a) == toString(b);
  };
  struct Replay {
    ReportedPlan plan;
    std::vector<Plan *> alternatives;
    std::optional<SimulatedStep> step;
  };
  std::vector<Replay> replays;
  double largest = 0; // in tasks
  for (PlanAlternative &alternative : report.search.alternatives) {
    if (!alternative.plan)
      continue;
    Plan &plan = *alternative.plan;
    if (plan.simulated) { // as its order asked for it
      useReplay(plan.cost, plan.simulated);
      continue;
    }
    auto known =
        llvm::find_if(report.search.plans, [&](const Plan &other) { return isSame(other.layout, plan.layout); });
    if (known != report.search.plans.end()) {
      plan.simulated = known->simulated;
      useReplay(plan.cost, plan.simulated);
      continue;
    }
    auto same = llvm::find_if(
        replays, [&](const Replay &other) { return isSame(other.alternatives.front()->layout, plan.layout); });
    if (same != replays.end()) {
      same->alternatives.push_back(&plan);
      continue;
    }
    llvm::Expected<ReportedPlan> reported = reportPlan(report, plan.layout, estimator);
    if (!reported) {
      llvm::consumeError(reported.takeError());
      continue;
    }
    largest = std::max(largest, expectedReplayTasks(plan.layout, reported->detail));
    replays.push_back({std::move(*reported), {&plan}, std::nullopt});
  }
  llvm::DefaultThreadPool pool(llvm::hardware_concurrency(largest <= replayTasksInPairs ? 2 : 1));
  for (Replay &replay : replays)
    pool.async([&report, &replay] {
      if (llvm::Expected<SimulatedStep> step = replayStep(report, replay.plan, {}))
        replay.step = std::move(*step);
      else
        llvm::consumeError(step.takeError());
    });
  pool.wait();
  for (const Replay &replay : replays)
    for (Plan *plan : replay.alternatives) {
      plan->simulated = replay.step;
      useReplay(plan->cost, plan->simulated);
    }
}

llvm::Expected<PlanReport> mlir::ppc::makeReport(const PlanRequest &request, PlanSearchResult search,
                                                 const TargetCapabilities &target) {
  PlanReport report;
  report.model = request.model;
  report.job = request.job;
  report.cluster = request.cluster;
  report.stack = request.stack;
  report.target = &target;
  ParallelLayout onGroup;
  for (size_t group = 0; group < request.cluster.groups.size(); ++group) {
    onGroup.stageGroups = {int64_t(group)};
    report.groupLimits.push_back(stageMemoryLimit(request, onGroup, 0));
  }
  report.memoryLimit = *llvm::min_element(report.groupLimits);
  StepEstimator estimator;
  for (const Plan &plan : search.plans) {
    llvm::Expected<ReportedPlan> reported = reportPlan(report, plan.layout, estimator);
    if (!reported)
      return reported.takeError();
    reported->cost.fits = plan.cost.fits; // the search knows the limit, and the host's memory
    useReplay(reported->cost, plan.simulated);
    report.plans.push_back(std::move(*reported));
  }
  report.search = std::move(search);
  for (Plan &plan : report.search.plans)
    useReplay(plan.cost, plan.simulated);
  if (!report.search.plans.empty() && report.search.plans[0].simulated)
    replayAlternatives(report, estimator);
  return report;
}

const Device &mlir::ppc::stageDevice(const PlanReport &report, const ParallelLayout &layout, int64_t stage) {
  return report.cluster.groups[layout.stageGroups.empty() ? 0 : layout.stageGroups[stage]].device;
}

/// Share of the matmuls of an attention op that its mask leaves: queries meet only earlier keys.
static double unmaskedShare(const PlanReport &report, int kind) {
  const ModelShape &model = report.model;
  int64_t sequence = report.job.sequence, layer = 0;
  while (layer < model.layers && int(layerKind(model, layer)) != kind)
    ++layer;
  bool window = model.hasWindow(layer) && model.slidingWindow < sequence;
  return averageKeys(model, layer, sequence) / double(window ? model.slidingWindow : sequence);
}

std::vector<OpShare> mlir::ppc::opShares(const PlanReport &report, const ReportedPlan &plan) {
  std::array<int64_t, layerKinds> layers{};
  for (const PipelineChunk &place : plan.detail.chunks[plan.busiest])
    for (int kind = 0; kind < layerKinds; ++kind)
      layers[kind] += plan.detail.costs.chunks[place.stage].count[kind];
  const Device &device = stageDevice(report, plan.layout, plan.busiest);
  double peak = device.peakOf(productPrecision(device, plan.layout.precision)).value;
  std::vector<OpShare> shares;
  for (int kind = 0; kind < layerKinds; ++kind) {
    if (!layers[kind])
      continue;
    for (const LayerOp &op : plan.detail.costs.programs[kind].ops) {
      OpShare share;
      share.layer = layerKindName(kind);
      share.name = op.name;
      share.kind = op.kind;
      share.count = int64_t(double(layers[kind]) * microBatchesOf(plan.detail) + 0.5);
      share.forward = op.forward;
      share.backward = op.backward + op.weightGradient;
      share.total = double(share.count) * (share.forward + share.backward);
      share.saved = op.saved;
      bool link = op.kind == OpClass::Communication;
      if (op.forward.value > 0 && !link) {
        double done = op.kind == OpClass::Attention ? unmaskedShare(report, kind) : 1;
        share.computeShare = peak > 0 ? done * op.flops.value / op.forward.value / peak : 0;
        share.bandwidthShare = op.traffic.value / op.forward.value / device.memoryBandwidth.value;
      }
      // Neither near the peak nor near the bandwidth: short kernels.
      share.bound = link                                                        ? "link"
                    : std::max(share.computeShare, share.bandwidthShare) < 0.25 ? "launch"
                    : share.computeShare >= share.bandwidthShare                ? "compute"
                                                                                : "memory";
      shares.push_back(share);
    }
  }
  std::vector<size_t> order(shares.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  llvm::sort(order, [&](size_t a, size_t b) {
    return shares[a].total != shares[b].total ? shares[a].total > shares[b].total : a < b;
  });
  std::vector<OpShare> sorted;
  for (size_t i : order)
    sorted.push_back(shares[i]);
  return sorted;
}

llvm::Expected<ScheduleTimeline> mlir::ppc::stepTimeline(const ReportedPlan &plan) {
  llvm::Expected<PipelineSchedule> schedule = makePipelineSchedule(plan.detail.schedule->name, plan.detail.shape);
  if (!schedule)
    return schedule.takeError();
  std::vector<StageDurations> durations;
  for (const ChunkCost &chunk : plan.detail.costs.chunks)
    durations.push_back(chunk.durations);
  return simulateSchedule(*schedule, durations, plan.detail.messages);
}

llvm::Expected<SimulatedStep> mlir::ppc::replayStep(const PlanReport &report, const ReportedPlan &plan,
                                                    const StepSimulationOptions &options) {
  return simulateStep(report.model, report.job, report.cluster, plan.layout, report.stack, plan.detail, plan.cost,
                      options);
}
