#include "ppc/Planning/Chain/ChainSearch.h"

#include "lib/Planning/Chain/ChainPricer.h"
#include "ppc/Support/Factorizations.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace mlir::ppc;

std::vector<int> ChainModel::layers() const {
  std::vector<int> result;
  for (const TemplateChain::Segment &segment : chain.segments)
    result.insert(result.end(), segment.count, segment.index);
  return result;
}

OpCuts ChainPlan::cuts() const {
  OpCuts cuts{axes, {}};
  for (const TemplateSearchResult::Layer &layer : shardings.layers)
    cuts.layers.push_back(shardings.choices[layer.index][layer.choice].strategies);
  return cuts;
}

std::string mlir::ppc::lackedAroundOps(const TargetCapabilities &target, const ParallelLayout &layout) {
  if (layout.zero > 0)
    return "state sharded over data-parallel ranks with op-level sharding";
  return lackedBy(target, layout);
}

std::string mlir::ppc::lackedBy(const TargetCapabilities &target, const ChainModel &model, const ChainPlan &plan) {
  std::string part = model.refusals.of(plan.layout, model.batch);
  if (part.empty())
    part = lackedAroundOps(target, plan.layout);
  return part.empty() ? lackedBy(target, model, plan.cuts()) : part;
}

std::string mlir::ppc::lackedBy(const TargetCapabilities &target, const ChainModel &model, const OpCuts &cuts) {
  std::vector<int> layers = model.layers();
  for (size_t layer = 0; layer < cuts.layers.size(); ++layer)
    for (size_t number = 0; number < cuts.layers[layer].size(); ++number) {
      const TemplateOp &op = model.chain.templates[layers[layer]].ops[number];
      if (const OpStrategy &strategy = cuts.layers[layer][number]; !runs(target, op, strategy))
        return llvm::formatv("{0} of layer {1} sharded as {2}", op.name, layer, toString(op, strategy, cuts.axes))
            .str();
    }
  return "";
}

std::string mlir::ppc::axesText(llvm::ArrayRef<LayoutAxis> axes) {
  std::string text;
  if (axes.size() > 1)
    for (const LayoutAxis &axis : axes)
      text += llvm::formatv("{0}{1} {2}", text.empty() ? "" : " x ", axis.name, axis.size);
  return text;
}

std::vector<LayoutAxis> mlir::ppc::tensorAxes(llvm::ArrayRef<int64_t> sizes) {
  std::vector<LayoutAxis> axes;
  for (auto [number, size] : llvm::enumerate(sizes))
    axes.push_back({sizes.size() == 1 ? "tp" : "tp" + std::to_string(number), size});
  return axes;
}

std::function<bool(const OpTemplate &, const TemplateValue &, const Layout &)>
mlir::ppc::cutsRowsEvenly(std::vector<LayoutAxis> axes) {
  return [axes = std::move(axes)](const OpTemplate &, const TemplateValue &value, const Layout &layout) {
    return value.kind != TemplateValueKind::Input || layout.dims.empty() ||
           value.shape.front() % groupSize(layout.dims.front(), axes) == 0;
  };
}

namespace {
class ChainSearch {
public:
  explicit ChainSearch(const ChainRequest &asked)
      : request(asked),
        limit(request.memoryLimit.value > 0 ? request.memoryLimit : planMemoryLimit(request.cluster, request.stack)),
        layerCount(request.model.chain.layerCount()) {
    for (PlanKey key : {PlanKey::Precision, PlanKey::Attention})
      if (request.constraints.isPinned(key))
        setPlanValue(request.base, key, request.constraints.pinned(key));
  }
  llvm::Expected<ChainSearchResult> run();

private:
  struct Grid {
    ParallelLayout layout; // dp, tp, pp, micro-batch
    std::vector<LayoutAxis> axes;
    double bound = 0;
  };
  std::vector<Grid> enumerate(int64_t devices) const;
  void expand(const Grid &grid);
  std::vector<ParallelLayout> choicesOf(const ParallelLayout &grid) const;
  void consider(ChainPlan plan);
  double cutoff() const {
    if (int64_t(result.plans.size()) < request.topK)
      return std::numeric_limits<double>::infinity();
    return std::max(result.plans.back().cost.stepTime.value, latest());
  }
  /// Steps up to this long are no slower than the fastest one.
  double latest() const { return result.plans.front().cost.stepTime.value * (1 + request.timeTolerance); }
  void preferLessMemory();

  ChainRequest request; // its base completed
  Bytes limit;
  int64_t layerCount;
  ChainSearchResult result;
  std::vector<ChainPlan> front;      // with a tolerance: those that none beats in both time and memory, fastest first
  std::optional<ChainPlan> smallest; // needs least memory of those that do not fit
  std::string refused, impossible;   // why something was not priced
  int64_t priced = 0, searches = 0;
};
} // namespace

std::vector<ChainSearch::Grid> ChainSearch::enumerate(int64_t devices) const {
  const PlanConstraints &constraints = request.constraints;
  std::vector<Grid> grids;
  for (const std::vector<int64_t> &degrees : orderedFactorizations(devices, 3)) {
    Grid grid;
    grid.layout = request.base;
    grid.layout.dp = degrees[0], grid.layout.tp = degrees[1], grid.layout.pp = degrees[2];
    if (request.model.batch % grid.layout.dp || grid.layout.pp > layerCount ||
        !constraints.allows(PlanKey::Dp, grid.layout.dp) || !constraints.allows(PlanKey::Tp, grid.layout.tp) ||
        !constraints.allows(PlanKey::Pp, grid.layout.pp))
      continue;
    std::vector<std::vector<LayoutAxis>> axes;
    if (!request.cuts.empty()) {
      int64_t product = 1;
      for (const LayoutAxis &axis : request.cuts.axes)
        product *= axis.size;
      if (product != grid.layout.tp)
        continue;
      axes = {request.cuts.axes};
    } else {
      axes = {tensorAxes({grid.layout.tp})};
      if (request.mostAxes > 1)
        for (const std::vector<int64_t> &sizes : orderedFactorizations(grid.layout.tp, 2))
          if (sizes[0] > 1 && sizes[1] > 1)
            axes.push_back(tensorAxes(sizes));
    }
    int64_t share = request.model.batch / grid.layout.dp;
    for (int64_t microBatch = 1; microBatch <= share; ++microBatch)
      if (share % microBatch == 0 && constraints.allows(PlanKey::MicroBatch, microBatch))
        for (const std::vector<LayoutAxis> &some : axes) {
          grid.layout.microBatch = microBatch;
          grid.axes = some;
          grids.push_back(grid);
        }
  }
  return grids;
}

/// Schedules, state and recomputation of a grid: cheapest in time first.
std::vector<ParallelLayout> ChainSearch::choicesOf(const ParallelLayout &grid) const {
  const PlanConstraints &constraints = request.constraints;
  TrainingJob job{1, request.model.batch};
  std::vector<ParallelLayout> schedules, result;
  for (const PipelineScheduleKind &kind : pipelineScheduleKinds())
    for (int64_t vp = 1; vp <= (grid.pp > 1 ? 4 : 1); ++vp) {
      ParallelLayout layout = grid;
      layout.schedule = kind.name.str();
      layout.vp = vp;
      if (grid.pp == 1 && kind.name != "1f1b")
        continue;
      if (grid.pp > 1 &&
          (!constraints.allows(PlanKey::Schedule, planValue(layout, PlanKey::Schedule)) || vp < kind.minChunks ||
           vp > kind.maxChunks || kind.slicesSequence || kind.replicas > 1 || grid.pp * vp > layerCount))
        continue;
      if (!constraints.allows(PlanKey::Vp, vp) ||
          (!constraints.stageLayers.empty() && int64_t(constraints.stageLayers.size()) != grid.pp * vp))
        continue;
      llvm::Expected<StepSchedule> schedule = resolveSchedule(job, layout);
      llvm::Error error = schedule ? checkPipelineShape(*schedule->kind, schedule->shape) : schedule.takeError();
      bool fits = !error;
      llvm::consumeError(std::move(error));
      if (fits)
        schedules.push_back(layout);
    }
  for (Recompute recompute : {Recompute::None, Recompute::Selective, Recompute::Full})
    for (int64_t zero : {0, 1, 2, 3})
      for (ParallelLayout layout : schedules) {
        layout.recompute = recompute;
        layout.zero = zero;
        layout.stageLayers.assign(constraints.stageLayers.begin(), constraints.stageLayers.end());
        if ((recompute == Recompute::Selective && !constraints.isPinned(PlanKey::Recompute)) ||
            (zero == 2 && !constraints.isPinned(PlanKey::Zero)))
          continue;
        if ((zero && layout.dp == 1) || !constraints.allows(PlanKey::Zero, zero) ||
            !constraints.allows(PlanKey::Recompute, planValue(layout, PlanKey::Recompute)))
          continue;
        result.push_back(layout);
      }
  return result;
}

void ChainSearch::consider(ChainPlan plan) {
  ++priced;
  if (!plan.cost.fits) {
    if (!smallest || plan.cost.peakMemory < smallest->cost.peakMemory)
      smallest = std::move(plan);
    return;
  }
  auto order = [](const ChainPlan &a) { return std::make_tuple(a.cost.stepTime.value, a.cost.peakMemory.value); };
  if (request.timeTolerance > 0) {
    auto isBeaten = [](const ChainPlan &a, const ChainPlan &by) {
      return by.cost.stepTime <= a.cost.stepTime && by.cost.peakMemory <= a.cost.peakMemory;
    };
    if (llvm::none_of(front, [&](const ChainPlan &other) { return isBeaten(plan, other); })) {
      llvm::erase_if(front, [&](const ChainPlan &other) { return isBeaten(other, plan); });
      front.insert(llvm::find_if(front, [&](const ChainPlan &other) { return order(plan) < order(other); }), plan);
    }
  }
  auto same = [&](const ChainPlan &other) { // differs in how state is kept only
    return other.layout.dp == plan.layout.dp && other.layout.tp == plan.layout.tp &&
           other.layout.pp == plan.layout.pp && other.layout.vp == plan.layout.vp &&
           other.layout.microBatch == plan.layout.microBatch && other.axes.size() == plan.axes.size() &&
           other.layout.schedule == plan.layout.schedule;
  };
  if (auto known = llvm::find_if(result.plans, same); known != result.plans.end()) {
    if (order(plan) < order(*known))
      *known = std::move(plan);
  } else {
    result.plans.push_back(std::move(plan));
  }
  llvm::stable_sort(result.plans, [&](const ChainPlan &a, const ChainPlan &b) { return order(a) < order(b); });
  if (int64_t(result.plans.size()) > request.topK)
    result.plans.pop_back();
}

void ChainSearch::preferLessMemory() {
  auto end = llvm::find_if(front, [&](const ChainPlan &other) { return other.cost.stepTime.value > latest(); });
  if (end - front.begin() < 2)
    return;
  ChainPlan least = *std::prev(end);
  const ChainPlan &fastest = result.plans.front();
  result.notes.push_back(tradeText(least.cost, {fastest.layout, fastest.cost}, request.timeTolerance));
  llvm::erase_if(result.plans, [&](const ChainPlan &plan) {
    return plan.cost.stepTime == least.cost.stepTime && plan.cost.peakMemory == least.cost.peakMemory;
  });
  result.plans.insert(result.plans.begin(), std::move(least));
  if (int64_t(result.plans.size()) > request.topK)
    result.plans.pop_back();
}

void ChainSearch::expand(const Grid &grid) {
  ChainPricer pricer(request, grid.layout, grid.axes);
  bool fits = false;
  for (const ParallelLayout &layout : choicesOf(grid.layout)) {
    if (request.refuse)
      if (std::string part = request.refuse(layout); !part.empty()) {
        refused = part;
        continue;
      }
    if (fits && layout.recompute == Recompute::Full)
      break; // nothing must be
    llvm::Expected<ChainPlan> plan = pricer.plan(layout, limit);
    if (!plan) {
      impossible = toString(layout) + ": " + llvm::toString(plan.takeError());
      continue;
    }
    fits |= plan->cost.fits;
    consider(std::move(*plan));
  }
}

llvm::Expected<ChainSearchResult> ChainSearch::run() {
  if (llvm::Error error = request.model.chain.verify())
    return std::move(error);
  if (request.model.batch < 1 || request.topK < 1)
    return llvm::createStringError("a batch and a number of plans of at least 1 must be asked for");
  if (request.cluster.groups.size() > 1)
    return llvm::createStringError("cluster " + request.cluster.name +
                                   " has devices of several types: op-level sharding is for one type only");
  int64_t all = request.cluster.deviceCount(), devices = all;
  if (request.constraints.isPinned(PlanKey::Devices))
    devices = request.constraints.pinned(PlanKey::Devices);
  if (devices > all)
    return llvm::createStringError(
        llvm::formatv("{0} devices are asked for, cluster {1} has {2}", devices, request.cluster.name, all).str());
  for (PlanKey key :
       {PlanKey::Cp, PlanKey::Ep, PlanKey::Etp, PlanKey::SequenceParallel, PlanKey::TpRows, PlanKey::TpDepth})
    if (request.constraints.isPinned(key) && request.constraints.pinned(key) != planNeutralValue(key))
      return llvm::createStringError(
          (toString(key) + " " + request.constraints.describe(key) +
           " is pinned: with op-level sharding, tp is the number of ranks that shard the ops, and the search finds "
           "the dimensions")
              .str());
  ParallelLayout asked; // gradients and parameters are cut as these say
  for (PlanKey key : {PlanKey::Dp, PlanKey::Zero, PlanKey::ShardGroup})
    if (request.constraints.isPinned(key))
      setPlanValue(asked, key, request.constraints.pinned(key));
  for (PlanKey key : {PlanKey::GradientGroup, PlanKey::ParameterGroup})
    if (request.constraints.isPinned(key) && request.constraints.pinned(key) != planValue(asked, key))
      return llvm::createStringError(
          toString(key) + " " + request.constraints.describe(key) +
          " is pinned: with op-level sharding, zero decides how gradients and parameters are sharded");
  std::vector<Grid> grids = enumerate(devices);
  while (grids.empty() && devices > 1 && !request.constraints.isPinned(PlanKey::Devices))
    grids = enumerate(--devices);
  for (Grid &grid : grids) {
    ChainPricer pricer(request, grid.layout, grid.axes);
    grid.bound = pricer.bound(grid.layout.pp) * double(request.model.batch / (grid.layout.dp * grid.layout.microBatch));
  }
  // Where bounds are alike, larger micro-batches and fewer ways to cut first.
  llvm::stable_sort(grids, [](const Grid &a, const Grid &b) {
    return std::make_tuple(a.bound, a.axes.size(), -a.layout.microBatch) <
           std::make_tuple(b.bound, b.axes.size(), -b.layout.microBatch);
  });
  result.lowerBound = Seconds(grids.empty() ? 0 : grids.front().bound);
  size_t next = 0;
  for (; next < grids.size() && grids[next].bound <= cutoff() && searches < request.maxSearches; ++next, ++searches)
    expand(grids[next]);
  result.table = {{"grids enumerated", int64_t(grids.size())},
                  {"grids searched op by op", int64_t(next)},
                  {"grids pruned: kernels alone are slower", int64_t(grids.size() - next)},
                  {"steps estimated", priced}};
  if (next < grids.size() && grids[next].bound <= cutoff())
    result.table.push_back({"meshes left open when the search stopped", int64_t(grids.size() - next)});
  if (request.timeTolerance > 0)
    preferLessMemory();
  if (result.plans.empty()) {
    if (smallest)
      result.reason =
          llvm::formatv("every layout needs more memory than the {0} of a device: the least is {1} with {2}",
                        toString(limit), toString(smallest->cost.peakMemory), toString(smallest->layout))
              .str();
    else if (!impossible.empty())
      result.reason = "no layout can be run as asked; the last one tried was " + impossible;
    else if (!refused.empty())
      result.reason = "every layout needs " + refused;
    else
      result.reason = llvm::formatv("no layout of {0} devices divides a batch of {1} and {2} layers as asked", devices,
                                    request.model.batch, layerCount)
                          .str();
  }
  return std::move(result);
}

llvm::Expected<ChainSearchResult> mlir::ppc::searchChainPlan(const ChainRequest &request) {
  return ChainSearch(request).run();
}
