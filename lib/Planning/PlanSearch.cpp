#include "ppc/Planning/PlanSearch.h"

#include "lib/Planning/FinalEstimate.h"
#include "lib/Planning/Frontier.h"
#include "lib/Planning/Grid/SearchEngine.h"
#include "lib/Planning/Group/GroupSearch.h"
#include "lib/Planning/PlanInfeasibility.h"
#include "ppc/CostModel/MixedStep.h"
#include "ppc/CostModel/OffloadWindow.h"
#include "ppc/CostModel/PredictionInterval.h"
#include "ppc/Simulation/StepBound.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir::ppc;

static Bytes usableMemory(double memory, const Stack &stack) {
  // On large devices what is not foreseen does not grow with them: a percent is a GiB at most.
  double mib = double(1 << 20), share = stack.memoryMargin, most = std::max(256.0, 102400 * share);
  return Bytes(memory - std::clamp(share * memory, 256 * mib, most * mib));
}

Bytes mlir::ppc::planMemoryLimit(const Cluster &cluster, const Stack &stack) {
  return usableMemory(cluster.device().memory.value, stack);
}

static Bytes limitOf(const PlanRequest &request) {
  return request.memoryLimit.value > 0 ? request.memoryLimit : planMemoryLimit(request.cluster, request.stack);
}

Bytes mlir::ppc::stageMemoryLimit(const PlanRequest &request, const ParallelLayout &layout, size_t stage) {
  if (request.cluster.groups.size() == 1)
    return limitOf(request);
  double memory = request.cluster.groups[layout.stageGroups[stage]].device.memory.value;
  Bytes own = usableMemory(memory, request.stack);
  return request.memoryLimit.value > 0 ? std::min(own, request.memoryLimit) : own;
}

bool mlir::ppc::fitsStage(const PlanRequest &request, const ParallelLayout &layout, size_t stage,
                          const MemoryBreakdown &memory) {
  if (memory.total() > stageMemoryLimit(request, layout, stage))
    return false;
  if (request.cluster.groups.size() == 1)
    return fitsHost(request.cluster, memory);
  return memory.host.value <= 0 || fitsHost(groupAlone(request.cluster, layout.stageGroups[stage]), memory);
}

static llvm::Expected<Plan> priceInDetail(const PlanRequest &request, const ParallelLayout &layout,
                                          StepEstimator &estimator, StepDetail &detail) {
  Plan plan{layout, {}};
  llvm::Expected<StepCost> cost =
      estimator.estimate(request.model, request.job, request.cluster, layout, request.stack, &detail);
  if (!cost)
    return cost.takeError();
  plan.cost = std::move(*cost);
  plan.cost.fits = true;
  for (size_t stage = 0; stage < plan.cost.stages.size(); ++stage)
    plan.cost.fits &= fitsStage(request, layout, stage, plan.cost.stages[stage].memory);
  if (layout.pp > 1) // as many as the schedule has, where it has more than were asked for
    plan.layout.vp = detail.shape.chunks;
  if (plan.layout.stageLayers.empty() && layout.pp > 1)
    for (int64_t layers : layersPerChunk(request.model, detail.costs.chunks))
      plan.layout.stageLayers.push_back(layers);
  return plan;
}

std::string mlir::ppc::tradeText(const StepCost &least, const Plan &fastest, double tolerance) {
  double more = least.stepTime / fastest.cost.stepTime - 1;
  return llvm::formatv("{0} per rank: with {1}, {2} would be taken for {3:f1} % less time; steps predicted within "
                       "{4:f0} % of each other count "
                       "as equally long",
                       toString(least.peakMemory), toString(fastest.layout), toString(fastest.cost.peakMemory),
                       100 * more, 100 * tolerance)
      .str();
}

llvm::Expected<Plan> mlir::ppc::pricePlan(const PlanRequest &request, const ParallelLayout &layout) {
  StepDetail detail;
  StepEstimator estimator;
  return priceInDetail(request, layout, estimator, detail);
}

/// Parameters that are to lie on the host, where pins keep all of them on the device.
static llvm::Error checkOffload(const PlanRequest &request) {
  const PlanConstraints &constraints = request.constraints;
  if (!constraints.isPinned(PlanKey::Offload))
    return llvm::Error::success();
  ParallelLayout layout;
  layout.offload = Offload(constraints.pinned(PlanKey::Offload));
  layout.schedule = "breadth-first";
  layout.vp = kParametersAtOnce + 1;
  std::string against;
  for (PlanKey key : {PlanKey::Schedule, PlanKey::Vp})
    if (constraints.isPinned(key)) {
      setPlanValue(layout, key, constraints.pinned(key));
      against += (against.empty() ? "" : " and ") + toString(key).str() + " " + constraints.describe(key);
    }
  if (!offloadsParameters(layout.offload) || (request.stack.arena && layout.copiesParameters()))
    return llvm::Error::success();
  return llvm::createStringError(
      llvm::formatv("offload is pinned to {0}, and parameters {1}, or leave them out", toString(layout.offload),
                    request.stack.arena
                        ? llvm::formatv("stay on the device with {0}: say schedule breadth-first and a vp above {1}",
                                        against, kParametersAtOnce)
                              .str()
                        : "are priced on the host for compiled programs alone: say --target host or --target cuda")
          .str());
}

/// What makes the request wrong in itself.
static llvm::Error checkRequest(const PlanRequest &request) {
  if (llvm::Error error = verifyModelShape(request.model))
    return error;
  if (request.job.sequence < 1 || request.job.globalBatch < 1)
    return llvm::createStringError(
        llvm::formatv("a sequence of {0} tokens and a global batch of {1} sequences cannot be trained on; "
                      "both must be at least 1",
                      request.job.sequence, request.job.globalBatch)
            .str());
  if (request.model.maxPositions && request.model.position == PositionKind::Learned &&
      request.job.sequence > request.model.maxPositions)
    return llvm::createStringError(
        llvm::formatv("the sequence of {0} tokens is longer than the {1} positions that the model has learned",
                      request.job.sequence, request.model.maxPositions)
            .str());
  if (request.topK < 1)
    return llvm::createStringError("at least one plan must be asked for");
  for (PlanKey key : {PlanKey::TpRows, PlanKey::TpDepth})
    if (!request.stack.arena && request.constraints.isPinned(key) && request.constraints.pinned(key) != 1)
      return llvm::createStringError(llvm::formatv("{0} is pinned to {1}, which is priced for compiled programs alone: "
                                                   "say --target host or --target cuda, or leave it out",
                                                   toString(key), request.constraints.pinned(key))
                                         .str());
  return checkOffload(request);
}

namespace {
/// One request, from its space to its results.
class PlanSearch {
public:
  explicit PlanSearch(const PlanRequest &request) : request(request), engine(request), limit(limitOf(request)) {}
  llvm::Expected<PlanSearchResult> run();

private:
  llvm::Expected<Plan> priced(const Candidate &candidate) { return pricePlan(request, candidate.layout); }
  void fillTable(const SearchOutcome &outcome);
  llvm::Error rankPlans(SearchOutcome &outcome);
  /// `order`: times and numbers of plans, fastest first.
  void preferSimpler(std::vector<std::pair<double, size_t>> &order, llvm::function_ref<const Plan &(size_t)> planOf);
  void preferLessMemory(std::vector<std::pair<double, size_t>> &order, llvm::function_ref<const Plan &(size_t)> planOf);
  llvm::Error addAlternatives(const BoundedSpace &bounded, llvm::ArrayRef<Candidate> best);
  /// Replaces a search over `devices` by one over fewer where their fastest step is shorter.
  void tryFewerDevices(int64_t &devices, BoundedSpace &bounded, SearchOutcome &outcome, const SearchTargets &empty);
  /// From `fastest` by the formulas to less and less memory; `known`: good candidates to start from.
  llvm::Error addFrontier(const BoundedSpace &bounded, const Candidate &fastest, std::vector<Candidate> known);

  const PlanRequest &request;
  SearchEngine engine;
  Bytes limit;
  PlanSearchResult result;
};
} // namespace

void PlanSearch::fillTable(const SearchOutcome &outcome) {
  auto row = [&](const char *name, int64_t count) { result.table.push_back({name, count}); };
  row("grids enumerated", outcome.grids);
  row("grids pruned: perfect pipeline already slower", outcome.prunedGrids);
  row("grids expanded", outcome.expanded);
  row("choices pruned: work of a device", outcome.counts.prunedBusy);
  row("choices pruned: filling and draining the pipeline", outcome.counts.prunedPipeline);
  row("choices refused: memory", outcome.counts.memory);
  row("choices refused: cannot be run", outcome.counts.refused);
  row("cuts with layers moved for memory", outcome.counts.moved);
  row("choices left out: recompute needlessly", outcome.counts.needless);
  row("choices pruned: pipeline time", outcome.counts.prunedTimed);
  row("pipelines timed", outcome.counts.timed);
  row("layouts priced", outcome.counts.priced);
}

/// Prices the best candidates, replays them if asked to, and puts them, and those of `outcome`, in the order of the
/// result. Where more are candidates than are listed, those that take longer than as many others need no replay, or not
/// all of it.
llvm::Error PlanSearch::rankPlans(SearchOutcome &outcome) {
  struct Finalist {
    Plan plan;
    Candidate candidate;
    StepDetail detail;
    double time;
  };
  std::vector<Finalist> priced, finalists;
  std::vector<Candidate> &best = outcome.found.targets.front().found.list;
  StepEstimator estimator(engine.compiled());
  const bool choosesByMemory = request.timeTolerance > 0;
  if (choosesByMemory) {
    const Candidate &least = outcome.found.leastMemory();
    if (llvm::none_of(best, [&](const Candidate &other) { return !isBetter(other, least) && !isBetter(least, other); }))
      best.push_back(least);
  }
  for (Candidate &candidate : best) {
    StepDetail detail;
    llvm::Expected<Plan> plan = priceInDetail(request, candidate.layout, estimator, detail);
    if (!plan)
      return plan.takeError();
    double time = plan->cost.stepTime.value;
    priced.push_back({std::move(*plan), std::move(candidate), std::move(detail), time});
  }
  size_t listed = std::min(priced.size(), size_t(request.topK));
  if (request.simulate) {
    // Those of little work first, and as soon as there are as many as are listed, as long as others may be faster.
    std::vector<std::pair<double, size_t>> queue; // tasks, plan
    for (size_t i = 0; i < priced.size(); ++i)
      queue.push_back({expectedReplayTasks(priced[i].plan.layout, priced[i].detail), i});
    llvm::sort(queue);
    std::vector<std::optional<llvm::Expected<SimulatedStep>>> steps(priced.size());
    double latest = std::numeric_limits<double>::infinity();
    auto run = [&](size_t i) {
      const Finalist &each = priced[i];
      StepSimulationOptions options;
      if (std::isfinite(latest)) {
        options.latest = Seconds(latest);
        PipelineTimer timer(engine.compiled());
        llvm::Expected<Seconds> bound =
            boundSimulatedStep(request.model, request.job, request.cluster, each.plan.layout, request.stack,
                               each.detail, each.plan.cost, timer);
        if (!bound) {
          steps[i].emplace(bound.takeError());
          return;
        }
        if (bound->value > latest)
          return;
      }
      steps[i].emplace(simulateStep(request.model, request.job, request.cluster, each.plan.layout, request.stack,
                                    each.detail, each.plan.cost, options));
    };
    llvm::Error errors = llvm::Error::success();
    std::vector<double> times;
    for (size_t begin = 0; begin < queue.size();) {
      size_t end = std::min(begin + 2, queue.size()); // the same for any number of threads
      if (end - begin == 2 && queue[begin].first + queue[begin + 1].first > 2 * replayTasksInPairs)
        --end;
      engine.parallel(end - begin, [&, begin](size_t i, GridExpander &) { run(queue[begin + i].second); });
      for (; begin < end; ++begin) {
        size_t i = queue[begin].second;
        if (steps[i] && !*steps[i])
          errors = llvm::joinErrors(std::move(errors), steps[i]->takeError());
        else if (steps[i] && !(*steps[i])->stopped) {
          priced[i].time = (*steps[i])->stepTime.value;
          priced[i].plan.simulated = std::move(**steps[i]);
          times.insert(llvm::upper_bound(times, priced[i].time), priced[i].time);
        }
      }
      if (times.size() >= listed)
        latest = times[listed - 1];
    }
    if (errors)
      return errors;
  }
  best.clear();
  const std::string first = toString(priced.front().plan.layout);
  const Seconds formula = priced.front().plan.cost.stepTime;
  const bool isFirst = !request.simulate || priced.front().plan.simulated; // it may be still
  const std::string replayed = isFirst ? toString(Seconds(priced.front().time)) : "longer";
  for (Finalist &each : priced)
    if (!request.simulate || each.plan.simulated)
      finalists.push_back(std::move(each));
  std::vector<std::pair<double, size_t>> order;
  for (size_t i = 0; i < finalists.size(); ++i)
    order.push_back({finalists[i].time, i});
  llvm::sort(order);
  if (order.front().second != 0 || !isFirst)
    result.notes.push_back(llvm::formatv("by closed formulas {0} is fastest with {1}; replayed it takes {2}", first,
                                         toString(formula), replayed)
                               .str());
  if (request.breakTies)
    preferSimpler(order, [&](size_t number) -> const Plan & { return finalists[number].plan; });
  if (choosesByMemory)
    preferLessMemory(order, [&](size_t number) -> const Plan & { return finalists[number].plan; });
  order.resize(std::min(order.size(), size_t(request.topK)));
  result.ties = std::min(result.ties, order.size());
  for (auto [time, number] : order) {
    result.plans.push_back(std::move(finalists[number].plan));
    best.push_back(std::move(finalists[number].candidate));
  }
  result.lowerBound = Seconds(outcome.lowerBound);
  result.gap = formula / result.lowerBound - 1;
  return llvm::Error::success();
}

/// What there is to understand and to get wrong: kinds of parallelism and of saving memory, then how far they go.
static std::tuple<int, int64_t, double> complexityOf(const Plan &plan) {
  const ParallelLayout &layout = plan.layout;
  int kinds = layout.recompute != Recompute::None;
  for (int64_t degree : {layout.tp, layout.pp, layout.cp, layout.ep, layout.etp, layout.vp})
    kinds += degree > 1;
  kinds += layout.zero >= 2 && layout.innerRanks() != layout.shardRanks();
  kinds += (layout.zero >= 2) + (layout.shardGroup > 0 && layout.shardGroup < layout.dataRanks());
  kinds += layout.offload == Offload::None ? 0 : 2;
  kinds += layout.tpRows > 1;
  kinds += layout.pp > 1 && layout.schedule != "1f1b" && layout.schedule != "interleaved";
  return {kinds, layout.tp * layout.pp * layout.cp, plan.cost.peakMemory.value};
}

void PlanSearch::preferSimpler(std::vector<std::pair<double, size_t>> &order,
                               llvm::function_ref<const Plan &(size_t)> planOf) {
  const double fastest = order.front().first;
  auto end = llvm::find_if(order, [&](const auto &entry) { return entry.first > fastest * (1 + indistinctShare()); });
  std::stable_sort(order.begin(), end, [&](const auto &a, const auto &b) {
    return complexityOf(planOf(a.second)) < complexityOf(planOf(b.second));
  });
  result.ties = size_t(end - order.begin());
}

void PlanSearch::preferLessMemory(std::vector<std::pair<double, size_t>> &order,
                                  llvm::function_ref<const Plan &(size_t)> planOf) {
  auto end = llvm::find_if(
      order, [&](const auto &entry) { return entry.first > order.front().first * (1 + request.timeTolerance); });
  auto chosen = std::min_element(order.begin(), end, [&](const auto &a, const auto &b) {
    return planOf(a.second).cost.peakMemory < planOf(b.second).cost.peakMemory; // of equals the first, which is faster
  });
  if (chosen == order.begin())
    return;
  const Plan &fastest = planOf(order.front().second), &least = planOf(chosen->second);
  result.notes.push_back(tradeText(least.cost, fastest, request.timeTolerance));
  std::rotate(order.begin(), chosen, chosen + 1);
}

/// The values that layouts with another one than `chosen` avoid: where a key would mean nothing is no other value of
/// it.
static std::vector<std::pair<PlanKey, int64_t>> avoidedFor(PlanKey key, const ParallelLayout &chosen) {
  std::vector<std::pair<PlanKey, int64_t>> avoided{{key, planValue(chosen, key)}};
  switch (key) {
  case PlanKey::Schedule:
  case PlanKey::Vp:
    avoided.push_back({PlanKey::Pp, 1});
    break;
  case PlanKey::Context:
    avoided.push_back({PlanKey::Cp, 1});
    break;
  case PlanKey::SequenceParallel:
    avoided.push_back({PlanKey::Tp, 1});
    break;
  case PlanKey::ShardGroup:
    avoided.push_back({PlanKey::Zero, 0});
    break;
  default:
    break;
  }
  return avoided;
}

llvm::Error PlanSearch::addAlternatives(const BoundedSpace &bounded, llvm::ArrayRef<Candidate> best) {
  const ParallelLayout chosen = best.front().layout;
  // All at once, but for the one without what it is that makes recomputing needless: that has a space of its own.
  SearchTargets targets;
  std::vector<std::pair<size_t, size_t>> ofTarget; // alternative, target
  std::optional<size_t> recomputing;
  for (PlanKey key : {PlanKey::Dp, PlanKey::Tp, PlanKey::Pp, PlanKey::Vp, PlanKey::Cp, PlanKey::Ep, PlanKey::Etp,
                      PlanKey::SequenceParallel, PlanKey::Zero, PlanKey::ShardGroup, PlanKey::MicroBatch,
                      PlanKey::Schedule, PlanKey::Recompute, PlanKey::Offload, PlanKey::Context, PlanKey::TpRows}) {
    if (key == PlanKey::TpRows && chosen.tpRows == 1) // mostly no choice
      continue;
    if ((key == PlanKey::Ep || key == PlanKey::Etp) && !request.model.moe)
      continue;
    if (isVacuous(chosen, key) || (key == PlanKey::Vp && chosen.pp == 1) ||
        (key == PlanKey::Zero && !request.model.moe && chosen.dataRanks() == 1))
      continue;
    PlanAlternative &alternative = result.alternatives.emplace_back();
    alternative.key = key;
    alternative.chosen = planValueText(key, planValue(chosen, key));
    if (request.constraints.isPinned(key)) {
      alternative.reason = "pinned";
    } else if (key == PlanKey::Recompute && chosen.recompute == Recompute::None) {
      recomputing = result.alternatives.size() - 1;
    } else {
      ofTarget.push_back({result.alternatives.size() - 1, targets.targets.size()});
      targets.targets.emplace_back(1, avoidedFor(key, chosen));
    }
  }
  auto fill = [&](PlanAlternative &alternative, const SearchTarget &target) -> llvm::Error {
    if (target.found.list.empty()) {
      alternative.reason = target.sawMemory    ? "no other value fits in memory"
                           : target.sawRefusal ? "no other value can be run"
                                               : "no other value divides";
      return llvm::Error::success();
    }
    llvm::Expected<Plan> plan = priced(target.found.list.front());
    if (!plan)
      return plan.takeError();
    alternative.other = planValueText(alternative.key, planValue(plan->layout, alternative.key));
    alternative.plan = std::move(*plan);
    return llvm::Error::success();
  };
  if (!targets.targets.empty()) {
    SearchOutcome outcome = engine.search(bounded, limit, std::move(targets), "alternatives", best);
    for (auto [alternative, target] : ofTarget)
      if (llvm::Error error = fill(result.alternatives[alternative], outcome.found.targets[target]))
        return error;
  }
  if (recomputing) {
    PlanConstraints other = request.constraints;
    other.forbid(PlanKey::Recompute, int64_t(chosen.recompute));
    SearchTargets target;
    target.targets.emplace_back(1);
    SearchOutcome outcome =
        engine.search(SearchEngine::restrict(bounded, other), limit, std::move(target), "alternatives", best);
    return fill(result.alternatives[*recomputing], outcome.found.targets.front());
  }
  return llvm::Error::success();
}

void PlanSearch::tryFewerDevices(int64_t &devices, BoundedSpace &bounded, SearchOutcome &outcome,
                                 const SearchTargets &empty) {
  const int64_t all = devices;
  // Multiples of every power of two: what halves often divides layers, heads and batches.
  for (int64_t part = 2, last = all; part <= all; part *= 2) {
    int64_t count = all / part * part;
    if (count == last)
      continue;
    last = count;
    BoundedSpace fewer = engine.bound(request.constraints, count);
    double best = outcome.best().front().time;
    if (fewer.grids.empty() || fewer.grids.front().first >= best)
      continue;
    SearchTargets targets = empty;
    targets.targets.front().found.latest = best;
    SearchOutcome found = engine.search(fewer, limit, std::move(targets), "fewer devices");
    if (found.best().empty() || found.best().front().time >= best)
      continue;
    devices = count;
    outcome = engine.search(fewer, limit, empty, "fewer devices", found.best());
    bounded = std::move(fewer);
  }
}

llvm::Error PlanSearch::addFrontier(const BoundedSpace &bounded, const Candidate &fastest,
                                    std::vector<Candidate> known) {
  const int steps = bounded.grids.size() <= manyGrids ? 32 : 8;
  std::vector<Candidate> points = {fastest};
  while (true) {
    Bytes less = nextFrontierLimit(Bytes(points.back().memory), limit, steps);
    SearchTargets targets;
    targets.targets.emplace_back(1);
    targets.targets.front().found.latest = frontierSpan * fastest.time;
    targets.keepsFront = true;
    SearchOutcome outcome =
        engine.search(bounded, less, std::move(targets), "frontier",
                      // Memory without what the stack does not report says nothing of the limit.
                      request.stack.reportsAllocated ? llvm::ArrayRef<Candidate>() : llvm::ArrayRef<Candidate>(known));
    if (outcome.best().empty())
      break;
    points.push_back(outcome.best().front());
    known = std::move(outcome.found.front);
  }
  for (const Candidate &point : points) {
    llvm::Expected<Plan> plan = priced(point);
    if (!plan)
      return plan.takeError();
    result.frontier.push_back(std::move(*plan));
  }
  // Less memory moves other layers and recomputes others, which may come out faster.
  keepFastest(result.frontier);
  const Plan &first = result.frontier.front();
  if (first.cost.stepTime.value < fastest.time * (1 - 1e-9))
    result.notes.push_back(llvm::formatv("cut for less memory, {0} takes {1}; --memory {2:f1} finds it",
                                         toString(first.layout), toString(first.cost.stepTime),
                                         first.cost.peakMemory.value / 0x1p30 + 0.05)
                               .str());
  return llvm::Error::success();
}

/// Whether weights and gradients, which no choice brings to the host, fit when nothing of them is kept twice.
static bool holdsWeights(const PlanRequest &request, int64_t devices, Bytes limit) {
  ParameterCounts parameters = countParameters(request.model);
  return parameters.total * (2 + std::min(2.0, request.stack.gradientBytes)) <= limit.value * double(devices);
}

llvm::Expected<PlanSearchResult> PlanSearch::run() {
  if (llvm::Error error = checkRequest(request))
    return std::move(error);
  int64_t all = request.cluster.deviceCount(), devices = all;
  if (request.constraints.isPinned(PlanKey::Devices)) {
    devices = request.constraints.pinned(PlanKey::Devices);
    if (devices > all)
      return llvm::createStringError(
          llvm::formatv("{0} devices are asked for, cluster {1} has {2}", devices, request.cluster.name, all).str());
  }
  BoundedSpace bounded = engine.bound(request.constraints, devices);
  // Fewer devices only where so many cannot be used.
  int64_t asked = devices;
  while (bounded.grids.empty() && devices > 1 && !request.constraints.isPinned(PlanKey::Devices))
    bounded = engine.bound(request.constraints, --devices);
  if (bounded.grids.empty()) {
    result.infeasibility = explainShape(request, engine, asked, limit);
    return std::move(result);
  }
  const int64_t most = devices;
  // As many whatever is listed, so that the first does not depend on it.
  int64_t finalists = request.simulate ? std::max<int64_t>(request.topK, 5) : request.topK;
  SearchTargets targets;
  targets.targets.emplace_back(size_t(finalists));
  targets.keepsFront = request.frontier || request.timeTolerance > 0;
  targets.frontTolerance = request.timeTolerance;
  SearchOutcome outcome;
  outcome.found = targets;
  if (holdsWeights(request, devices, limit))
    outcome = engine.search(bounded, limit, targets);
  else // no need to look at every layout
    outcome.counts.memory = int64_t(bounded.grids.size());
  if (!outcome.best().empty()) {
    const Seconds onMost(outcome.best().front().time);
    if (request.fewerDevices && !request.constraints.isPinned(PlanKey::Devices))
      tryFewerDevices(devices, bounded, outcome, targets);
    if (devices < most)
      result.notes.push_back(
          llvm::formatv("uses {0} of {1} devices: a step on {2} takes {3}", devices, asked, most, toString(onMost))
              .str());
    else if (devices < asked)
      result.notes.push_back(llvm::formatv("uses {0} of {1} devices: no layout of more divides", devices, asked).str());
  }
  result.relaxedBound = Seconds(bounded.grids.front().first);
  fillTable(outcome);
  if (outcome.best().empty()) {
    result.infeasibility = explainInfeasible(request, engine, bounded, limit, outcome);
    return std::move(result);
  }
  bool complete = outcome.lowerBound >= outcome.best().front().time;
  const Candidate fastest = outcome.best().front();
  if (llvm::Error error = rankPlans(outcome))
    return std::move(error);
  if (!complete)
    result.notes.push_back(llvm::formatv("stopped after {0} layouts priced; a better one may take down to {1}",
                                         outcome.counts.priced, toString(result.lowerBound))
                               .str());
  if (request.alternatives)
    if (llvm::Error error = addAlternatives(bounded, outcome.best()))
      return std::move(error);
  if (request.frontier)
    if (llvm::Error error = addFrontier(bounded, fastest, std::move(outcome.found.front)))
      return std::move(error);
  return std::move(result);
}

static llvm::Expected<PlanSearchResult> search(const PlanRequest &request) {
  if (request.cluster.groups.size() == 1) {
    for (int64_t group : request.constraints.stageGroups)
      if (group != 0)
        return llvm::createStringError(
            llvm::formatv("stage_groups names group {0}; cluster {1} has one group, number 0", group,
                          request.cluster.name)
                .str());
    return PlanSearch(request).run();
  }
  if (llvm::Error error = checkRequest(request))
    return std::move(error);
  return searchGroups(request);
}

llvm::Expected<PlanSearchResult> mlir::ppc::searchPlan(const PlanRequest &request) {
  llvm::Expected<PlanSearchResult> result = search(request);
  if (!result)
    return result;
  if (llvm::Error error = compareWithFinalEstimate(request, *result))
    return std::move(error);
  return result;
}
