#include "ppc/Planning/PlanSearch.h"

#include "lib/Planning/Alternatives.h"
#include "lib/Planning/FinalEstimate.h"
#include "lib/Planning/Frontier.h"
#include "lib/Planning/Grid/SearchEngine.h"
#include "lib/Planning/Group/GroupSearch.h"
#include "lib/Planning/PlanInfeasibility.h"
#include "lib/Planning/PlanRanking.h"
#include "ppc/CostModel/MixedStep.h"
#include "ppc/CostModel/OffloadWindow.h"
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
      llvm::formatv(
          "offload is pinned to {0}, and parameters {1}, or leave them out", toString(layout.offload),
          request.stack.arena
              ? llvm::formatv("stay on the device with {0}: say schedule breadth-first and a vp above {1}", against,
                              kParametersAtOnce)
                    .str()
              : "have a cost model on the host for compiled programs only: use --target host or --target cuda")
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
      return llvm::createStringError(
          llvm::formatv("{0} is pinned to {1}, which has a cost model for compiled programs only: "
                        "use --target host or --target cuda, or leave it out",
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
  /// Puts the best candidates, and what else is as good when it is replayed, in the order of the result.
  llvm::Error rankPlans(const BoundedSpace &bounded, const SearchOutcome &outcome);
  /// What the first plan of the ranking could decide otherwise; what is faster when it is replayed comes first itself.
  llvm::Error rankAlternatives(PlanRanking &ranking, AlternativeSearch &search);
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
  row("stage partitions with layers moved for memory", outcome.counts.moved);
  row("choices left out: recompute needlessly", outcome.counts.needless);
  row("choices pruned: pipeline time", outcome.counts.prunedTimed);
  row("pipelines timed", outcome.counts.timed);
  row("layouts estimated", outcome.counts.priced);
}

llvm::Error PlanSearch::rankPlans(const BoundedSpace &bounded, const SearchOutcome &outcome) {
  llvm::ArrayRef<Candidate> best = outcome.best();
  PlanRanking ranking(request, engine);
  auto add = [&](const Candidate &candidate, bool joins) {
    llvm::Expected<size_t> number = ranking.add(candidate, joins);
    return number ? llvm::Error::success() : number.takeError();
  };
  for (size_t i = 0; i < best.size(); ++i)
    if (llvm::Error error = add(best[i], !request.simulate || i < replayedPlans))
      return error;
  if (request.timeTolerance > 0)
    if (llvm::Error error = add(outcome.found.leastMemory(), true))
      return error;
  if (llvm::Error error = ranking.replay())
    return error;
  AlternativeSearch alternatives(request, engine, bounded, limit, best);
  if (request.alternatives || request.simulate)
    if (llvm::Error error = rankAlternatives(ranking, alternatives))
      return error;
  result.lowerBound = Seconds(outcome.lowerBound);
  result.gap = ranking[0].plan.cost.stepTime / result.lowerBound - 1;
  for (const std::string &note : {ranking.reorderedNote(), ranking.memoryNote()})
    if (!note.empty())
      result.notes.push_back(note);
  std::vector<size_t> order = ranking.order();
  order.resize(std::min(order.size(), size_t(request.topK)));
  result.ties = ranking.ties(order);
  result.simplest = ranking.simplest(order, result.ties);
  for (size_t number : order)
    result.plans.push_back(ranking.take(number).plan);
  return llvm::Error::success();
}

llvm::Error PlanSearch::rankAlternatives(PlanRanking &ranking, AlternativeSearch &search) {
  while (true) {
    const size_t first = ranking.order().front();
    std::vector<Alternative> others = search.around(ranking[first].candidate.layout);
    std::vector<std::optional<size_t>> entries(others.size());
    for (auto [other, entry] : llvm::zip(others, entries))
      if (request.simulate && other.candidate) {
        llvm::Expected<size_t> number = ranking.add(*other.candidate, true);
        if (!number)
          return number.takeError();
        entry = *number;
      }
    if (llvm::Error error = ranking.replay())
      return error;
    if (ranking.order().front() != first)
      continue; // every time an entry that was new, so that this ends
    if (!request.alternatives)
      return llvm::Error::success();
    for (auto [other, entry] : llvm::zip(others, entries)) {
      PlanAlternative &alternative = result.alternatives.emplace_back(std::move(other.alternative));
      if (entry) {
        alternative.plan = ranking[*entry].plan;
      } else if (other.candidate) {
        llvm::Expected<Plan> plan = priced(*other.candidate);
        if (!plan)
          return plan.takeError();
        alternative.plan = std::move(*plan);
      }
    }
    return llvm::Error::success();
  }
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
    result.notes.push_back(
        llvm::formatv("with stages partitioned for less memory, {0} takes {1}; --memory {2:f1} finds it",
                      toString(first.layout), toString(first.cost.stepTime),
                      first.cost.peakMemory.value / 0x1p30 + 0.05)
            .str());
  return llvm::Error::success();
}

/// Whether weights and gradients fit when nothing of them is kept twice. Only where it is asked for do weights lie on
/// the host.
static bool holdsWeights(const PlanRequest &request, int64_t devices, Bytes limit) {
  const PlanConstraints &constraints = request.constraints;
  if (constraints.isPinned(PlanKey::Offload) && offloadsParameters(Offload(constraints.pinned(PlanKey::Offload))))
    return true;
  double weight = std::min(16.0, request.stack.frozenBits) / 8, gradient = std::min(2.0, request.stack.gradientBytes);
  return double(countParameters(request.model).total) * (weight + gradient) <= limit.value * double(devices);
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
  int64_t finalists = request.simulate ? std::max<int64_t>(request.topK, replayedPlans) : request.topK;
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
  if (llvm::Error error = rankPlans(bounded, outcome))
    return std::move(error);
  if (!complete)
    result.notes.push_back(llvm::formatv("stopped after estimates of {0} layouts; a better one may take down to {1}",
                                         outcome.counts.priced, toString(result.lowerBound))
                               .str());
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
