#include "lib/Planning/Group/GroupSearch.h"

#include "lib/Planning/Frontier.h"
#include "ppc/CostModel/MixedStep.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/ThreadPool.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <queue>

using namespace mlir::ppc;

namespace {
/// Layers are recomputed on some groups only.
constexpr int byGroup = int(Recompute::Full) + 1;

/// Best first: a grid with one way to recompute until it is taken, then each of its placements.
struct OpenNode {
  double bound;
  size_t number; // ties are taken in the order of enumeration
  size_t grid;
  int recompute;                        // one for all, or `byGroup`
  llvm::SmallVector<int64_t, 8> stages; // empty: all of the grid's
  bool operator<(const OpenNode &other) const { return std::tie(bound, number) > std::tie(other.bound, other.number); }
};

class GroupSearch {
public:
  GroupSearch(const PlanRequest &request)
      : request(request), space(request), pool(llvm::hardware_concurrency(request.threads)),
        workers(std::max(1u, pool.getMaxConcurrency())) {}
  llvm::Expected<PlanSearchResult> run();

private:
  /// What expanding a placement finds, and against what.
  struct Expansion {
    std::vector<double> times; // of the best plans, those that were known included
    std::vector<Plan> plans;   // found
    int64_t priced = 0, refused = 0;
  };
  /// Of one thread.
  struct Worker {
    StepEstimator estimator;
    PipelineTimer timer;
  };

  llvm::Error searchAlone();
  void searchTogether();
  void expandAll(llvm::ArrayRef<OpenNode> nodes);
  void expand(const OpenNode &node, Worker &worker, Expansion &found) const;
  void add(std::vector<Plan> &plans, Plan plan) const;
  double cutoff() const {
    return int64_t(result.plans.size()) < request.topK ? std::numeric_limits<double>::infinity()
                                                       : result.plans.back().cost.stepTime.value;
  }
  double cutoff(const Expansion &found) const {
    return int64_t(found.times.size()) < request.topK ? std::numeric_limits<double>::infinity()
                                                      : found.times[size_t(request.topK) - 1];
  }
  /// What bounds know of a grid: times are those of the whole model and one micro-batch, without exchange of state,
  /// which only adds.
  struct GridWork {
    double work = 0;               // seconds of all layers on group 0
    std::vector<double> speed;     // by group, at most: layers of group 0's time per time
    std::vector<double> layer;     // by group, of one layer; empty: they differ
    double dense = 0, experts = 0; // parameters of one tensor-parallel rank
    double held = 0; // bytes x seconds that a micro-batch keeps between its forwards and backwards, at least
    double weightBytes = 0, gradientBytes = 0, optimizerBytes = 0,
           extraBytes = 0; // the last per device, else per parameter
  };
  const GridWork &workOf(size_t grid, int recompute);
  double boundByWork(const GridWork &work, const GroupGrid &grid, llvm::ArrayRef<int64_t> stages, bool drains) const;
  double boundByMemory(const GridWork &work, const GroupGrid &grid, llvm::ArrayRef<int64_t> stages, int64_t zero) const;
  double microBatchesOf(const GroupGrid &grid) const {
    return double(request.job.globalBatch / (grid.dp * grid.microBatch));
  }

  const PlanRequest &request;
  GroupSpace space;
  std::vector<GroupGrid> grids;
  std::map<std::pair<size_t, int>, GridWork> works;
  llvm::DefaultThreadPool pool;
  std::vector<Worker> workers;
  PlanSearchResult result;
  std::vector<Infeasibility> alone;
  int64_t priced = 0, placements = 0, refused = 0;
  double leastOpen = std::numeric_limits<double>::infinity();
};
} // namespace

void GroupSearch::add(std::vector<Plan> &plans, Plan plan) const {
  auto before = [](const Plan &left, const Plan &right) { return left.cost.stepTime < right.cost.stepTime; };
  plans.insert(llvm::upper_bound(plans, plan, before), std::move(plan));
  if (int64_t(plans.size()) > request.topK)
    plans.pop_back();
}

const GroupSearch::GridWork &GroupSearch::workOf(size_t grid, int recompute) {
  auto [found, isNew] = works.try_emplace({grid, recompute});
  GridWork &work = found->second;
  if (!isNew)
    return work;
  ParallelLayout layout = space.layoutOf(grids[grid]);
  layout.recompute = Recompute(std::min(recompute, int(Recompute::Full)));
  bool again = recompute == int(Recompute::Full); // by group: the time of none and the memory of all
  const ModelShape &model = request.model;
  const double infinity = std::numeric_limits<double>::infinity();
  std::array<double, layerKinds> first{}, kept, chain;
  kept.fill(infinity);
  chain.fill(infinity);
  auto kindOf = [&](int64_t layer) { return int(layerKind(model, std::min(layer, model.layers - 1))); };
  for (size_t group = 0; group < request.cluster.groups.size(); ++group) {
    Cluster cluster = groupAlone(request.cluster, int64_t(group));
    PricingContext context(model, request.job, cluster, layout, request.stack);
    LayerPrices prices = priceLayers(context, buildPrograms(context));
    double speed = 0;
    for (int kind = 0; kind < layerKinds; ++kind) {
      if (!prices.present[kind])
        continue;
      bool isEnd = kind == int(LayerKind::Embedding) || kind == int(LayerKind::Head);
      const LayerPrice &price = prices(LayerKind(kind), again && !isEnd);
      double time = (price.forward + price.backward + price.weightGradient).value;
      kept[kind] =
          std::min(kept[kind], prices(LayerKind(kind), layout.recompute == Recompute::Full && !isEnd).kept.value);
      chain[kind] = std::min(chain[kind], (price.forward + price.backward).value);
      if (group == 0) {
        first[kind] = time;
        int64_t count = isEnd ? 1 + (kind == int(LayerKind::Head) ? model.predictionLayers : 0) : 0;
        for (int64_t layer = 0; !isEnd && layer < model.layers + model.predictionLayers; ++layer)
          count += kindOf(layer) == kind;
        work.work += double(count) * time;
        work.dense += double(count) * price.parameters;
        work.experts += double(count) * price.expertParameters;
      }
      speed = std::max(speed, first[kind] / time);
    }
    work.speed.push_back(speed);
    bool alike = true;
    for (int64_t layer = 1; layer < model.layers; ++layer)
      alike &= kindOf(layer) == kindOf(0);
    if (alike) {
      const LayerPrice &price = prices(layerKind(model, 0), again);
      work.layer.push_back((price.forward + price.backward + price.weightGradient).value);
    }
    work.weightBytes = context.weightBytes() + context.stack.referenceBytes;
    work.gradientBytes = context.stack.gradientBytes;
    work.optimizerBytes = context.stack.momentBytes + context.stack.updateBytes +
                          (layout.precision == Precision::F32 ? 0 : context.stack.masterBytes);
    work.extraBytes = context.stack.extraBytes;
  }
  double behind = chain[int(LayerKind::Head)];
  for (int64_t layer = model.layers; layer-- > 0;) {
    behind += chain[kindOf(layer)];
    work.held += kept[kindOf(layer)] * behind;
  }
  return work;
}

/// What no cut of the layers takes less than: the slowest stage works for all micro-batches, on whole layers. With a
/// schedule that `drains`, of one chunk per device and whole backwards, stage i also waits for its first micro-batch to
/// come through the stages before and for its last to go back: w_0 + ... + w_(i-1) + m w_i <= T for the times w of one
/// micro-batch. So any k stages have at most T (1 - (1 - 1/m)^k) together, and the work is most when the fastest have
/// the most of that.
double GroupSearch::boundByWork(const GridWork &work, const GroupGrid &grid, llvm::ArrayRef<int64_t> stages,
                                bool drains) const {
  double microBatches = microBatchesOf(grid), speed = 0, share = 1;
  llvm::SmallVector<double, 64> speeds;
  for (int64_t group : stages)
    speeds.push_back(work.speed[group]);
  if (drains)
    llvm::sort(speeds, std::greater<double>());
  for (double each : speeds) {
    speed += share * each;
    if (drains)
      share *= 1 - 1 / microBatches;
  }
  double time = work.work / speed;
  // Stages have whole layers: the least time in which enough of them are done.
  while (!work.layer.empty()) {
    int64_t done = 0;
    double next = std::numeric_limits<double>::infinity();
    for (int64_t group : stages) {
      int64_t own = int64_t(time * (1 + 1e-12) / work.layer[group]);
      done += own;
      next = std::min(next, double(own + 1) * work.layer[group]);
    }
    if (done >= request.model.layers)
      break;
    time = next;
  }
  return microBatches * time * (1 - 1e-9);
}

/// What a step takes at least for its activations to fit beside the state (Little's law): in a step of x, m
/// micro-batches keep m `held` / x bytes on average over all stages together, and no stage's worst moment is below its
/// average. Infinity: parameters, gradients and optimizer state alone do not fit.
double GroupSearch::boundByMemory(const GridWork &work, const GroupGrid &grid, llvm::ArrayRef<int64_t> stages,
                                  int64_t zero) const {
  ParallelLayout layout = space.layoutOf(grid);
  layout.stageGroups.assign(stages.begin(), stages.end());
  double ranks = double(layout.dataRanks()),
         expertRanks = std::min(ranks, std::max(1.0, double(layout.expertDataRanks())));
  auto bytes = [&](double each, bool isCut) {
    return each * (isCut ? work.dense / ranks + work.experts / expertRanks : work.dense + work.experts);
  };
  double left = -bytes(work.weightBytes, zero >= 3) - bytes(work.gradientBytes, zero >= 2) -
                bytes(work.optimizerBytes, zero >= 1);
  for (size_t stage = 0; stage < stages.size(); ++stage)
    left += stageMemoryLimit(request, layout, stage).value -
            request.cluster.groups[stages[stage]].device.frameworkMemory.value - work.extraBytes;
  if (left <= 0)
    return std::numeric_limits<double>::infinity();
  // Where step follows step without a barrier, a step is shorter than its own activations live.
  return request.stack.validatesUpdateAfterwards ? 0 : microBatchesOf(grid) * work.held / left * (1 - 1e-9);
}

void GroupSearch::expand(const OpenNode &node, Worker &worker, Expansion &found) const {
  const GroupGrid &grid = grids[node.grid];
  const GridWork &work = works.at({node.grid, node.recompute});
  ParallelLayout layout = space.layoutOf(grid);
  layout.recompute = Recompute(std::min(node.recompute, int(Recompute::Full)));
  layout.stageGroups = node.stages;
  layout.pp = int64_t(node.stages.size());
  double draining = boundByWork(work, grid, node.stages, /*drains=*/true);
  std::array<double, 4> byMemory{};
  for (int64_t zero : space.zeros(layout))
    byMemory[zero] = boundByMemory(work, grid, node.stages, zero);
  std::vector<llvm::SmallVector<int64_t, 8>> recomputed(1);
  const llvm::SmallVector<int64_t, 8> &asked = request.constraints.stageRecomputedLayers;
  if (!asked.empty())
    recomputed = {asked};
  else if (node.recompute == byGroup)
    recomputed = space.recomputedOnGroups(node.stages);
  for (const ScheduleChoice &choice : space.schedules(layout)) {
    layout.schedule = choice.schedule.str();
    layout.vp = choice.vp;
    if (asked.empty() ? node.recompute == byGroup && choice.vp > 1 : int64_t(asked.size()) != layout.pp * layout.vp)
      continue;
    bool drains = choice.schedule == "1f1b" || choice.schedule == "gpipe";
    bool slices =
        llvm::cantFail(findPipelineSchedule(choice.schedule))->slicesSequence; // each keeps its part for its own time
    llvm::ArrayRef<int64_t> cut = request.constraints.stageLayers;
    if (!cut.empty() && int64_t(cut.size()) != layout.pp * layout.vp)
      continue;
    layout.stageLayers.assign(cut.begin(), cut.end());
    for (int64_t zero : space.zeros(layout)) {
      layout.zero = zero;
      if ((drains && draining > cutoff(found)) || (!slices && byMemory[zero] > cutoff(found)) ||
          byMemory[zero] == std::numeric_limits<double>::infinity())
        continue;
      for (const auto &numbers : recomputed) {
        layout.stageRecomputedLayers = numbers;
        if (brokenConstraint(request.constraints, layout) || (request.refuse && !request.refuse(layout).empty())) {
          ++found.refused;
          continue;
        }
        ++found.priced;
        if (std::optional<Plan> plan = fitOverGroups(request, layout, worker.estimator, worker.timer);
            plan && plan->cost.stepTime.value < cutoff(found)) {
          found.times.insert(llvm::upper_bound(found.times, plan->cost.stepTime.value), plan->cost.stepTime.value);
          add(found.plans, std::move(*plan));
        }
      }
    }
  }
}

/// Each against what was known before all of them, so that the result does not depend on the number of threads.
void GroupSearch::expandAll(llvm::ArrayRef<OpenNode> nodes) {
  for (const OpenNode &node : nodes)
    workOf(node.grid, node.recompute);
  std::vector<Expansion> found(nodes.size());
  std::atomic<size_t> next{0};
  auto work = [&](Worker &worker) {
    for (size_t i; (i = next++) < nodes.size();) {
      for (const Plan &plan : result.plans)
        found[i].times.push_back(plan.cost.stepTime.value);
      expand(nodes[i], worker, found[i]);
    }
  };
  if (nodes.size() == 1 || workers.size() == 1) {
    work(workers.front());
  } else {
    for (Worker &worker : workers)
      pool.async([&] { work(worker); });
    pool.wait();
  }
  for (Expansion &each : found) {
    ++placements;
    priced += each.priced;
    refused += each.refused;
    for (Plan &plan : each.plans)
      if (plan.cost.stepTime.value < cutoff())
        add(result.plans, std::move(plan));
  }
}

void GroupSearch::searchTogether() {
  grids = space.grids();
  std::priority_queue<OpenNode> open;
  size_t number = 0;
  std::vector<int> recomputes;
  for (Recompute recompute : space.recomputes())
    recomputes.push_back(int(recompute));
  if (llvm::is_contained(recomputes, int(Recompute::Full)) && request.constraints.stageLayers.empty())
    recomputes.push_back(byGroup);
  if (!request.constraints.stageRecomputedLayers.empty())
    recomputes = {byGroup};
  for (size_t grid = 0; grid < grids.size(); ++grid)
    for (int recompute : recomputes) {
      // All devices that a grid can use, in any order.
      llvm::SmallVector<int64_t, 8> all;
      int64_t perStage = grids[grid].dp * grids[grid].tp * grids[grid].cp;
      for (size_t group = 0; group < request.cluster.groups.size(); ++group)
        all.append(size_t(request.cluster.groups[group].count / perStage), int64_t(group));
      double bound = boundByWork(workOf(grid, recompute), grids[grid], all, /*drains=*/false);
      if (bound <= cutoff())
        open.push({bound, number++, grid, recompute, {}});
    }
  int64_t taken = 0;
  while (!open.empty() && open.top().bound <= cutoff()) {
    if (request.maxEvaluations && priced >= request.maxEvaluations)
      break;
    OpenNode node = open.top();
    open.pop();
    if (!node.stages.empty()) {
      // With those behind it that are placements, too.
      constexpr size_t wave = 8;
      llvm::SmallVector<OpenNode, wave> nodes{std::move(node)};
      for (; nodes.size() < wave && !open.empty() && !open.top().stages.empty() && open.top().bound <= cutoff();
           open.pop())
        nodes.push_back(open.top());
      expandAll(nodes);
      taken += int64_t(nodes.size());
      if (request.progress && taken / 64 != (taken - int64_t(nodes.size())) / 64)
        request.progress({"plans", taken, int64_t(open.size()),
                          result.plans.empty() ? Seconds(0) : result.plans.front().cost.stepTime, taken});
      continue;
    }
    const GridWork &work = workOf(node.grid, node.recompute);
    for (llvm::SmallVector<int64_t, 8> &stages : space.placements(grids[node.grid])) {
      double bound = boundByWork(work, grids[node.grid], stages, /*drains=*/false);
      if (!request.constraints.isPinned(PlanKey::Schedule)) // no schedule that slices sequences
        bound = std::max(bound, boundByMemory(work, grids[node.grid], stages, /*zero=*/3));
      if (bound <= cutoff())
        open.push({bound, number++, node.grid, node.recompute, std::move(stages)});
    }
  }
  if (!open.empty())
    leastOpen = open.top().bound;
}

llvm::Error GroupSearch::searchAlone() {
  llvm::ArrayRef<int64_t> asked = request.constraints.stageGroups;
  for (size_t group = 0; group < request.cluster.groups.size(); ++group) {
    if (!asked.empty() && !llvm::all_of(asked, [&](int64_t other) { return other == int64_t(group); }))
      continue;
    Cluster cluster = groupAlone(request.cluster, int64_t(group));
    if (request.constraints.isPinned(PlanKey::Devices) &&
        request.constraints.pinned(PlanKey::Devices) > cluster.deviceCount())
      continue;
    PlanRequest one{request.model, request.job,         cluster,  request.stack,
                    request.base,  request.constraints, Bytes(0), request.topK};
    one.memoryLimit = request.memoryLimit.value > 0
                          ? std::min(request.memoryLimit, planMemoryLimit(cluster, request.stack))
                          : Bytes(0);
    one.constraints.stageGroups.clear();
    if (!asked.empty())
      one.constraints.pin(PlanKey::Pp, int64_t(asked.size()));
    one.frontier = one.alternatives = one.simulate = false;
    one.fewerDevices = request.fewerDevices;
    one.refuse = request.refuse;
    one.threads = request.threads;
    one.maxEvaluations = request.maxEvaluations;
    llvm::Expected<PlanSearchResult> found = searchPlan(one);
    if (!found)
      return found.takeError();
    auto place = [&](Plan &plan) { plan.layout.stageGroups.assign(size_t(plan.layout.pp), int64_t(group)); };
    for (Plan &plan : found->plans) {
      place(plan);
      add(result.plans, std::move(plan));
    }
    leastOpen = std::min(leastOpen, found->plans.empty() ? leastOpen : found->lowerBound.value);
    if (found->infeasibility) {
      Infeasibility &why = alone.emplace_back(std::move(*found->infeasibility));
      why.reason = llvm::formatv("on group {0} ({1}) alone: {2}", group, cluster.device().name, why.reason).str();
      why.relaxations.clear(); // of one group; with another, nothing may have to be given up
      if (why.closest)
        place(*why.closest);
    }
    for (const std::string &note : found->notes)
      result.notes.push_back(llvm::formatv("on group {0} ({1}) alone: {2}", group, cluster.device().name, note).str());
    result.table.push_back({llvm::formatv("layouts listed, group {0} ({1}) alone", group, cluster.device().name).str(),
                            int64_t(found->plans.size())});
  }
  return llvm::Error::success();
}

llvm::Expected<PlanSearchResult> GroupSearch::run() {
  int64_t all = request.cluster.deviceCount();
  if (request.constraints.isPinned(PlanKey::Devices) && request.constraints.pinned(PlanKey::Devices) > all)
    return llvm::createStringError(llvm::formatv("{0} devices are asked for, cluster {1} has {2}",
                                                 request.constraints.pinned(PlanKey::Devices), request.cluster.name,
                                                 all)
                                       .str());
  for (int64_t group : request.constraints.stageGroups)
    if (group >= int64_t(request.cluster.groups.size()))
      return llvm::createStringError(llvm::formatv("stage_groups names group {0}; cluster {1} has groups 0 to {2}",
                                                   group, request.cluster.name, request.cluster.groups.size() - 1)
                                         .str());
  if (llvm::Error error = searchAlone())
    return std::move(error);
  std::string missing = notSearchedOverGroups(request.constraints);
  if (missing.empty())
    searchTogether();
  else
    result.notes.push_back("stages on several groups of devices are not searched with " + missing);
  result.table.push_back({"placements over several groups expanded", placements});
  result.table.push_back({"layouts over several groups refused", refused});
  result.table.push_back({"layouts over several groups estimated", priced});
  if (request.simulate)
    result.notes.push_back("plans for several groups of devices are ranked by closed formulas; they are not replayed");
  if (request.alternatives)
    result.notes.push_back("other decisions are not searched on clusters of several groups");
  if (result.plans.empty()) {
    Infeasibility why;
    why.reason = "no layout on one group of devices or on several";
    // The group that came nearest speaks for all.
    const Infeasibility *best = nullptr;
    for (const Infeasibility &one : alone)
      if (!best || (one.closest && (!best->closest || one.needed / one.available < best->needed / best->available)))
        best = &one;
    if (best) {
      why = *best;
      why.reason = "no layout fits on one group of devices or on several; " + best->reason;
    }
    if (!missing.empty())
      why.reason += "; stages on several groups are not searched with " + missing;
    result.infeasibility = std::move(why);
    return std::move(result);
  }
  double best = result.plans.front().cost.stepTime.value;
  result.lowerBound = Seconds(std::min(best, leastOpen));
  result.relaxedBound = result.lowerBound;
  result.gap = best / result.lowerBound.value - 1;
  if (request.maxEvaluations && leastOpen < best)
    result.notes.push_back(llvm::formatv("stopped after estimates of {0} layouts; a better one may take down to {1}",
                                         priced, toString(result.lowerBound))
                               .str());
  return std::move(result);
}

/// Searches again with less and less memory per device.
static llvm::Error addFrontier(const PlanRequest &request, PlanSearchResult &result) {
  constexpr int steps = 16;
  Bytes limit;
  for (const DeviceGroup &group : request.cluster.groups)
    limit = std::max(limit, group.device.memory);
  PlanRequest less = request;
  less.topK = 1;
  less.frontier = less.alternatives = less.simulate = false;
  const double latest = frontierSpan * result.plans.front().cost.stepTime.value;
  for (std::vector<Plan> found{result.plans.front()}; !found.empty() && found.front().cost.stepTime.value <= latest;) {
    less.memoryLimit = nextFrontierLimit(found.front().cost.peakMemory, limit, steps);
    result.frontier.push_back(std::move(found.front()));
    if (less.memoryLimit.value <= 0)
      break;
    llvm::Expected<PlanSearchResult> next = GroupSearch(less).run();
    if (!next)
      return next.takeError();
    found = std::move(next->plans);
  }
  keepFastest(result.frontier);
  return llvm::Error::success();
}

/// What would be possible without one of the constraints; fastest first.
static llvm::Error addRelaxations(const PlanRequest &request, Infeasibility &why) {
  for (int number = 0; number < planKeyCount; ++number) {
    PlanKey key = PlanKey(number);
    if (!request.constraints.isConstrained(key))
      continue;
    PlanRequest relaxed = request;
    relaxed.topK = 1;
    relaxed.frontier = relaxed.alternatives = relaxed.simulate = false;
    relaxed.constraints.relax(key);
    llvm::Expected<PlanSearchResult> found = GroupSearch(relaxed).run();
    if (!found)
      return found.takeError();
    if (!found->plans.empty())
      why.relaxations.push_back({key, request.constraints.describe(key),
                                 planValueText(key, planValue(found->plans.front().layout, key)),
                                 std::move(found->plans.front())});
  }
  llvm::sort(why.relaxations, [](const PlanRelaxation &a, const PlanRelaxation &b) {
    return std::tie(a.plan.cost.stepTime.value, a.key) < std::tie(b.plan.cost.stepTime.value, b.key);
  });
  return llvm::Error::success();
}

llvm::Expected<PlanSearchResult> mlir::ppc::searchGroups(const PlanRequest &request) {
  llvm::Expected<PlanSearchResult> result = GroupSearch(request).run();
  if (result && result->infeasibility)
    if (llvm::Error error = addRelaxations(request, *result->infeasibility))
      return std::move(error);
  if (!result || !request.frontier || result->plans.empty())
    return result;
  if (llvm::Error error = addFrontier(request, *result))
    return std::move(error);
  return result;
}
