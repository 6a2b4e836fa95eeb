#include "lib/Planning/PlanInfeasibility.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace mlir::ppc;

/// What is said of the pins alone, as layouts and as what has a price; empty: nothing.
static std::string checkPins(const PlanRequest &request) {
  ParallelLayout layout = request.base;
  const PlanConstraints &constraints = request.constraints;
  for (int key = 0; key < planKeyCount; ++key)
    if (constraints.isPinned(PlanKey(key)))
      setPlanValue(layout, PlanKey(key), constraints.pinned(PlanKey(key)));
  layout.stageLayers.assign(constraints.stageLayers.begin(), constraints.stageLayers.end());
  layout.stageRecomputedLayers.assign(constraints.stageRecomputedLayers.begin(),
                                      constraints.stageRecomputedLayers.end());
  // What depends on degrees that are free is not judged.
  if (!constraints.isPinned(PlanKey::Dp) || !constraints.isPinned(PlanKey::Cp))
    layout.shardGroup = layout.gradientGroup = layout.parameterGroup = 0;
  if (!constraints.isPinned(PlanKey::Zero)) // and that of groups neither
    layout.gradientGroup = layout.parameterGroup = 0;
  bool free =
      !constraints.isPinned(PlanKey::Dp) || !constraints.isPinned(PlanKey::Tp) || !constraints.isPinned(PlanKey::Cp);
  if (free && layout.dp * layout.cp * layout.tp % (layout.ep * layout.etp))
    layout.dp = layout.ep * layout.etp;
  if (request.job.globalBatch % (layout.dp * layout.microBatch) && !constraints.isPinned(PlanKey::Dp))
    layout.dp = 1;
  const int64_t parts = layout.tpRows * layout.tpDepth;
  if (!constraints.isPinned(PlanKey::Tp) && parts > 1)
    layout.tp = layout.tpRows > 1 ? 2 * parts : parts; // of two columns
  if (!constraints.isPinned(PlanKey::SequenceParallel))
    layout.sequenceParallel = layout.tp > 1 && layout.tpDepth == 1;
  if (llvm::Error error = verifyLayout(request.model, request.job, layout))
    return llvm::toString(std::move(error));
  std::string part = unpricedPart(request.model, layout);
  return part.empty() ? part : "there is no cost model for " + part;
}

/// Why the constraints leave no grid a way to hold the state.
static std::string explainStates(const PlanRequest &request) {
  const PlanConstraints &constraints = request.constraints;
  const Cluster &cluster = request.cluster;
  if (!constraints.allows(PlanKey::Offload, int64_t(Offload::None)) &&
      (cluster.host.memory.value <= 0 || cluster.host.bandwidth.value <= 0))
    return llvm::formatv(
               "offload is {0}, but cluster {1} has no host memory to offload to (\"host\" of a cluster file)",
               constraints.describe(PlanKey::Offload), cluster.name)
        .str();
  if (constraints.isPinned(PlanKey::ShardGroup))
    return llvm::formatv("shard_group {0} divides the data-parallel ranks (dp x cp) of no layout that is left",
                         constraints.pinned(PlanKey::ShardGroup))
        .str();
  for (PlanKey key : {PlanKey::GradientGroup, PlanKey::ParameterGroup})
    if (constraints.isPinned(key))
      return llvm::formatv("{0} {1} is a group of the state's ranks in no layout that is left", toString(key),
                           constraints.pinned(key))
          .str();
  return "zero, shard_group and offload are constrained so that nothing is left";
}

/// Why the constraints leave a grid no schedule.
static std::string explainSchedules(const PlanRequest &request, const BoundedSpace &bounded) {
  bool holdsState = false;
  auto pipelined = bounded.grids.end();
  for (auto grid = bounded.grids.begin();
       grid != bounded.grids.end() && (!holdsState || pipelined == bounded.grids.end()); ++grid) {
    ParallelLayout layout = bounded.space->layoutOf(grid->second);
    holdsState |= !bounded.space->states(layout).empty();
    if (layout.pp > 1 && pipelined == bounded.grids.end())
      pipelined = grid;
  }
  if (!holdsState)
    return explainStates(request);
  if (pipelined == bounded.grids.end() && !request.constraints.allows(PlanKey::Vp, 1))
    return "vp is " + request.constraints.describe(PlanKey::Vp) +
           ", which takes a pipeline; only layouts of one stage (pp 1) are left";
  ParallelLayout layout =
      bounded.space->layoutOf(pipelined == bounded.grids.end() ? bounded.grids.front().second : pipelined->second);
  for (PlanKey key : {PlanKey::Schedule, PlanKey::Vp})
    if (request.constraints.isPinned(key))
      setPlanValue(layout, key, request.constraints.pinned(key));
  llvm::Expected<StepSchedule> schedule = resolveSchedule(request.job, layout);
  llvm::Error error = schedule ? checkPipelineShape(*schedule->kind, schedule->shape) : schedule.takeError();
  if (error)
    return "no schedule is left, as for " + toString(layout) + ": " + llvm::toString(std::move(error));
  return llvm::formatv("the constraints leave no schedule for pp {0} and {1} micro-batches of {2}", layout.pp,
                       layout.microBatches(request.job), layout.microBatch)
      .str();
}

static std::string largestPart(const MemoryBreakdown &memory) {
  std::pair<const char *, Bytes> parts[] = {
      {"parameters", memory.parameters},     {"gradients", memory.gradients},
      {"optimizer state", memory.optimizer}, {"activations", memory.activations},
      {"workspace", memory.workspace},       {"communication buffers", memory.communication},
      {"framework", memory.framework}};
  auto most = std::max_element(std::begin(parts), std::end(parts),
                               [](const auto &a, const auto &b) { return a.second < b.second; });
  return llvm::formatv("{0} of it {1}", toString(most->second), most->first).str();
}

namespace {
/// Looks for the nearest requests that have a plan.
class Relaxations {
public:
  /// `devices`: used so far; 0: more would not help.
  Relaxations(const PlanRequest &request, SearchEngine &engine, int64_t devices, Bytes limit)
      : request(request), engine(engine), devices(devices), limit(limit) {}

  std::vector<PlanRelaxation> run() {
    std::vector<PlanKey> constrained;
    for (int key = 0; key < planKeyCount; ++key)
      if (request.constraints.isConstrained(PlanKey(key)))
        constrained.push_back(PlanKey(key));
    for (PlanKey key : constrained) {
      PlanConstraints relaxed = request.constraints;
      relaxed.relax(key);
      auto plan = findPlan(relaxed);
      if (!plan)
        continue;
      std::string from = request.constraints.describe(key), to = planValueText(key, planValue(plan->layout, key));
      if (from != to) // else something else is given up with it, which has a line of its own
        found.push_back({key, std::move(from), std::move(to), *plan});
    }
    if (found.empty() && constrained.size() > 1) {
      PlanConstraints relaxed = request.constraints;
      for (PlanKey key : constrained)
        if (key != PlanKey::Devices)
          relaxed.relax(key);
      relaxed.stageLayers.clear();
      if (auto plan = findPlan(relaxed))
        found.push_back({constrained.front(), "all constraints", "none", *plan});
    }
    if (found.empty() && devices)
      tryMoreDevices();
    llvm::sort(found, [](const PlanRelaxation &a, const PlanRelaxation &b) {
      return std::tie(a.plan.cost.stepTime.value, a.key) < std::tie(b.plan.cost.stepTime.value, b.key);
    });
    return std::move(found);
  }

private:
  std::optional<Plan> findPlan(const PlanConstraints &constraints) {
    int64_t count =
        constraints.isPinned(PlanKey::Devices) ? constraints.pinned(PlanKey::Devices) : request.cluster.deviceCount();
    SearchOutcome outcome = engine.search(engine.bound(constraints, count), limit, 1);
    if (outcome.best().empty())
      return std::nullopt;
    llvm::Expected<Plan> plan = pricePlan(request, outcome.best().front().layout);
    if (plan)
      return std::move(*plan);
    llvm::consumeError(plan.takeError());
    return std::nullopt;
  }

  /// The same cluster with more units of its outermost level.
  void tryMoreDevices() {
    for (int64_t factor = 2; factor <= 1024; factor *= 2) {
      Cluster larger = request.cluster;
      if (larger.groups.size() > 1)
        return;
      larger.groups.front().levels.back().size *= factor;
      larger.groups.front().levels.back().extents.clear();
      larger.groups.front().count = devices * factor;
      PlanRequest more{request.model, request.job, larger, request.stack, request.base, request.constraints, limit};
      more.constraints.relax(PlanKey::Devices);
      more.refuse = request.refuse;
      more.threads = request.threads;
      SearchEngine search(more);
      const int64_t count = larger.groups.front().count;
      // Looking through a whole space where nothing fits takes longer than finding what needs least; times are priced
      // only where something fits.
      std::optional<Candidate> least = search.findLeastMemory(search.enumerate(more.constraints, count));
      if (!least || least->memory > limit.value)
        continue;
      SearchOutcome outcome = search.search(search.bound(more.constraints, count), limit, 1);
      if (outcome.best().empty())
        continue;
      if (llvm::Expected<Plan> plan = pricePlan(more, outcome.best().front().layout))
        found.push_back(
            {PlanKey::Devices, std::to_string(devices), std::to_string(devices * factor), std::move(*plan)});
      else
        llvm::consumeError(plan.takeError());
      return;
    }
  }

  const PlanRequest &request;
  SearchEngine &engine;
  int64_t devices;
  Bytes limit;
  std::vector<PlanRelaxation> found;
};
} // namespace

/// What else keeps the request from fitting: a host that is too small for what could be offloaded; empty: nothing.
static std::string explainHost(const PlanRequest &request, const BoundedSpace &bounded, Bytes limit) {
  if (request.cluster.groups.size() > 1 || request.cluster.host.bandwidth.value <= 0)
    return "";
  Cluster roomy = request.cluster;
  roomy.host.memory = Bytes(1e18);
  PlanRequest more{request.model, request.job, roomy, request.stack, request.base, request.constraints, limit};
  more.refuse = request.refuse;
  more.threads = request.threads;
  SearchEngine search(more);
  int64_t devices = bounded.space->layoutOf(bounded.grids.front().second).devices();
  std::optional<Candidate> least = search.findLeastMemory(search.enumerate(more.constraints, devices));
  if (!least || least->memory > limit.value)
    return "";
  llvm::Expected<Plan> plan = pricePlan(more, least->layout);
  if (!plan) {
    llvm::consumeError(plan.takeError());
    return "";
  }
  Bytes needed;
  for (const StageCost &stage : plan->cost.stages)
    needed = std::max(needed, stage.memory.host * double(roomy.unitSize()));
  return llvm::formatv("; the host is too small: with offload {0} a device needs {1}, but the {2} devices of a node "
                       "need {3} of host memory, and it has {4} (\"host\" of a cluster file)",
                       toString(plan->layout.offload), toString(plan->cost.peakMemory), roomy.unitSize(),
                       toString(needed), toString(request.cluster.host.memory))
      .str();
}

Infeasibility mlir::ppc::explainShape(const PlanRequest &request, SearchEngine &engine, int64_t devices, Bytes limit) {
  Infeasibility result;
  result.limit = Infeasibility::Limit::Shape;
  const PlanConstraints &constraints = request.constraints;
  int64_t product = 1;
  std::string factors;
  for (PlanKey key : {PlanKey::Dp, PlanKey::Tp, PlanKey::Pp, PlanKey::Cp})
    if (constraints.isPinned(key)) {
      product *= constraints.pinned(key);
      factors += (factors.empty() ? "" : " x ") + toString(key).str() + " " + std::to_string(constraints.pinned(key));
    }
  result.reason = checkPins(request);
  if (result.reason.empty() && product > devices)
    result.reason = llvm::formatv("{0} needs {1} devices, there are {2} of cluster {3}", factors, product, devices,
                                  request.cluster.name)
                        .str();
  if (result.reason.empty())
    result.reason =
        llvm::formatv(
            "no layout of {0} or fewer devices divides {1} layers, {2} heads and {3} sequences per step under the pins",
            devices, request.model.layers, request.model.heads, request.job.globalBatch)
            .str();
  result.relaxations = Relaxations(request, engine, product > devices ? devices : 0, limit).run();
  return result;
}

Infeasibility mlir::ppc::explainInfeasible(const PlanRequest &request, SearchEngine &engine,
                                           const BoundedSpace &bounded, Bytes limit, const SearchOutcome &outcome) {
  Infeasibility result;
  result.available = limit;
  std::optional<Candidate> least = engine.findLeastMemory(bounded);
  if (outcome.counts.memory && least && least->memory > limit.value) {
    result.limit = Infeasibility::Limit::Memory;
    if (llvm::Expected<Plan> plan = pricePlan(request, least->layout)) {
      result.stage = plan->cost.worstStage;
      result.needed = plan->cost.peakMemory;
      result.reason =
          llvm::formatv(
              "every layout needs more memory than the {0} of a device: the least is {1} on stage {2} ({3} too much; "
              "{4}), with {5}",
              toString(limit), toString(result.needed), result.stage, toString(result.needed - limit),
              largestPart(plan->cost.stages[result.stage].memory), toString(plan->layout))
              .str() +
          explainHost(request, bounded, limit);
      result.closest = std::move(*plan);
    } else { // what memory was looked at for cannot be laid out at all
      result.limit = Infeasibility::Limit::Shape;
      result.reason = llvm::toString(plan.takeError());
    }
  } else if (outcome.counts.refused) {
    result.limit = Infeasibility::Limit::Capability;
    ParallelLayout first = bounded.space->layoutOf(bounded.grids.front().second);
    for (PlanKey key : {PlanKey::Zero, PlanKey::ShardGroup, PlanKey::Schedule, PlanKey::Recompute, PlanKey::Offload})
      if (request.constraints.isPinned(key)) // grids leave these open
        setPlanValue(first, key, request.constraints.pinned(key));
    std::string part = request.refuse(first);
    result.reason = "no layout can be run on cluster " + request.cluster.name + " by this software";
    if (!part.empty())
      result.reason += ", which lacks " + part + ": the first one tried was " + toString(first);
  } else {
    result.limit = Infeasibility::Limit::Shape;
    result.reason = explainSchedules(request, engine.boundKeys(bounded));
  }
  ParallelLayout any = bounded.space->layoutOf(bounded.grids.front().second);
  bool needsMore = result.limit == Infeasibility::Limit::Memory;
  result.relaxations = Relaxations(request, engine, needsMore ? any.devices() : 0, limit).run();
  return result;
}
