#include "lib/Planning/Grid/GridExpansion.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <utility>

using namespace mlir::ppc;

GridExpander::GridExpander(const PlanRequest &request, ScheduleCache &schedules)
    : request(request), schedules(schedules), kinds(countKinds(request.model)) {}

void ExpansionCounts::add(const ExpansionCounts &other) {
  prunedBusy += other.prunedBusy;
  prunedPipeline += other.prunedPipeline;
  prunedTimed += other.prunedTimed;
  moved += other.moved;
  memory += other.memory;
  refused += other.refused;
  needless += other.needless;
  timed += other.timed;
  priced += other.priced;
}

static double busy(const LayerPrice &price) { return (price.forward + price.backward + price.weightGradient).value; }

std::array<int64_t, layerKinds> mlir::ppc::countKinds(const ModelShape &model) {
  std::array<int64_t, layerKinds> counts{};
  ++counts[int(LayerKind::Embedding)];
  ++counts[int(LayerKind::Head)];
  for (int64_t layer = 0; layer < model.layers; ++layer)
    ++counts[int(layerKind(model, layer))];
  return counts;
}

bool mlir::ppc::isLayer(int kind) { return kind != int(LayerKind::Embedding) && kind != int(LayerKind::Head); }

GridExpander::KeyBound mlir::ppc::sumUp(const LayerPrices &prices, const std::array<int64_t, layerKinds> &counts,
                                        bool recomputed) {
  GridExpander::KeyBound sum;
  sum.leastLayer = infinity;
  for (int kind = 0; kind < layerKinds; ++kind) {
    if (!counts[kind])
      continue;
    double once = busy(prices(LayerKind(kind), recomputed && isLayer(kind)));
    sum.total += once * double(counts[kind]);
    if (isLayer(kind))
      sum.leastLayer = std::min(sum.leastLayer, once);
  }
  return sum;
}

/// Whether programs depend on the number of micro-batches.
static bool countsMicroBatches(const Stack &stack, const ParallelLayout &layout) {
  return !stack.fusedGradientAccumulation || elementBytes(layout.precision) < 2;
}

GridExpander::KeyBound GridExpander::leastOfMicroBatches(ParallelLayout layout,
                                                         llvm::function_ref<KeyBound(const PricingContext &)> bound) {
  KeyBound best{infinity, infinity};
  // What depends on the number of micro-batches grows or shrinks with it: the least is at one end.
  int64_t most = std::max<int64_t>(1, request.job.globalBatch / layout.microBatch);
  for (int64_t dp :
       countsMicroBatches(request.stack, layout) ? std::vector<int64_t>{1, most} : std::vector<int64_t>{layout.dp}) {
    layout.dp = dp;
    PricingContext context(request.model, request.job, request.cluster, layout, request.stack);
    KeyBound sum = bound(context);
    best.total = std::min(best.total, sum.total);
    best.leastLayer = std::min(best.leastLayer, sum.leastLayer);
  }
  return best;
}

GridExpander::KeyBound GridExpander::boundKey(const PlanSpace &space, const PlanGrid &grid) {
  return leastOfMicroBatches(space.layoutOf(grid), [&](const PricingContext &context) {
    return sumUp(priceLayers(context, totalsOf(context, 1)), kinds, false);
  });
}

bool GridExpander::hasFamilies(const PlanRequest &request) {
  const Stack &stack = request.stack;
  return request.model.moe && !stack.arena && !stack.adapterRank && stack.frozenBits >= 16 && stack.backwardShare >= 1;
}

GridExpander::KeyBound GridExpander::boundFamily(const PlanSpace &space, const PlanGrid &grid) {
  ParallelLayout layout = space.layoutOf(grid);
  layout.ep = layout.etp = 1;
  return leastOfMicroBatches(layout, [&](const PricingContext &context) {
    std::array<int64_t, layerKinds> others = kinds;
    KeyBound experts{0, infinity};
    for (LayerKind kind : {LayerKind::Expert, LayerKind::ExpertWindow, LayerKind::ExpertIndex}) {
      int64_t count = std::exchange(others[int(kind)], 0), layer = 0;
      if (!count)
        continue;
      while (layerKind(request.model, layer) != kind)
        ++layer;
      double once = boundExpertLayer(context, layer).value;
      experts.total += once * double(count);
      experts.leastLayer = std::min(experts.leastLayer, once);
    }
    KeyBound sum = sumUp(priceLayers(context, totalsOf(context, 1)), others, false);
    return KeyBound{sum.total + experts.total, std::min(sum.leastLayer, experts.leastLayer)};
  });
}

GridExpander::ProgramFields GridExpander::programFields(const ParallelLayout &layout, int64_t slices) const {
  return {layout.tp,
          layout.cp,
          layout.ep,
          layout.etp,
          layout.sequenceParallel,
          layout.microBatch,
          int64_t(layout.precision),
          int64_t(layout.contextKind),
          int64_t(layout.attention),
          int64_t(layout.fusedNorm),
          slices,
          countsMicroBatches(request.stack, layout) ? layout.microBatches(request.job) : 0,
          layout.devices(),
          layout.tpRows,
          layout.tpDepth};
}

LayerTotals GridExpander::totalsOf(const PricingContext &context, int64_t slices) {
  if (!request.model.moe || request.stack.arena)
    return totalPrograms(context);
  ProgramFields fields = programFields(context.layout, slices);
  fields[2] = fields[3] = 0; // ep, etp
  constexpr size_t most = 1024;
  if (sharedTotals.size() >= most)
    sharedTotals.clear();
  auto [found, isNew] = sharedTotals.try_emplace(fields);
  LayerTotals totals = totalPrograms(context, isNew ? nullptr : &found->second);
  if (isNew)
    found->second = totals;
  return totals;
}

std::shared_ptr<const LayerTotals> GridExpander::programsOf(const PricingContext &context, int64_t slices) {
  constexpr size_t most = 4096; // some 8 MB
  if (cachedPrograms.size() >= most) {
    cachedPrograms.clear();
    for (auto next = cachedCuts.begin(); next != cachedCuts.end();)
      next = next->second.programs.expired() ? cachedCuts.erase(next) : std::next(next);
  }
  std::shared_ptr<const LayerTotals> &programs = cachedPrograms[programFields(context.layout, slices)];
  if (!programs)
    programs = std::make_shared<LayerTotals>(totalsOf(context, slices));
  return programs;
}

llvm::ArrayRef<int64_t> GridExpander::cutFor(const std::shared_ptr<const LayerTotals> &programs,
                                             const ParallelLayout &layout, int64_t chunks) {
  CachedCuts &cached = cachedCuts[programs.get()];
  if (cached.programs.expired()) { // another one at the same place
    cached.cuts.clear();
    cached.programs = programs;
  }
  auto [found, isNew] = cached.cuts.try_emplace({int64_t(layout.recompute), chunks});
  if (isNew) {
    // However many of them lie on a device.
    ParallelLayout asked = layout;
    asked.vp = chunks / asked.pp;
    found->second =
        cutLayers(PricingContext(request.model, request.job, request.cluster, asked, request.stack), *programs);
  }
  return found->second;
}

double mlir::ppc::boundBusy(const ModelShape &model, const GridExpander::KeyBound &sum, int64_t pp,
                            double microBatches) {
  double layers = std::ceil(double(model.layers) / double(pp));
  // Where half of the micro-batches go each way, two devices share what they hold.
  if (pp % 2 == 0 && int64_t(microBatches) % 2 == 0)
    layers = 0.5 * std::ceil(2 * double(model.layers) / double(pp));
  return slack * microBatches * std::max(sum.total / double(pp), layers * sum.leastLayer);
}

double GridExpander::boundGrid(const PlanRequest &request, const KeyBound &key, const PlanGrid &grid,
                               int64_t microBatch) {
  return boundBusy(request.model, key, grid.pp, double(request.job.globalBatch / (grid.dp * microBatch)));
}

llvm::ArrayRef<GridExpander::ScheduleEntry> GridExpander::schedulesOf(const PlanSpace &space,
                                                                      const ParallelLayout &layout) {
  if (cachedSpace != space.id) {
    cachedSpace = space.id;
    cachedSchedules.clear();
  }
  auto [found, isNew] = cachedSchedules.try_emplace({layout.pp, layout.microBatches(request.job)});
  if (isNew)
    for (const ScheduleChoice &choice : space.schedules(layout)) {
      ParallelLayout asked = layout;
      asked.schedule = choice.schedule.str();
      asked.vp = choice.vp;
      StepSchedule schedule = llvm::cantFail(resolveSchedule(request.job, asked));
      found->second.push_back({choice, schedule, schedules.placement(*schedule.kind, schedule.shape)});
    }
  return found->second;
}

llvm::ArrayRef<StageGroup> GridExpander::groupsOf(const PipelineProgram &program) {
  auto [found, isNew] = groups.try_emplace(&program);
  if (isNew)
    found->second = groupStages(program);
  return found->second;
}

static constexpr Bytes noLimit = Bytes(infinity);

void GridExpander::findLeastMemory(const PlanSpace &space, const PlanGrid &grid, Candidate &best) {
  SearchTargets none;
  ExpansionCounts counts;
  Expansion(*this, space, grid, {}, noLimit, none, counts).findLeastMemory(best);
}

double GridExpander::boundMemory(const PlanSpace &space, const PlanGrid &grid) {
  SearchTargets none;
  ExpansionCounts counts;
  return Expansion(*this, space, grid, {}, noLimit, none, counts).boundMemory();
}

void GridExpander::expand(const PlanSpace &space, const PlanGrid &grid, const RefinedBound &bound, Bytes limit,
                          SearchTargets &found, ExpansionCounts &counts) {
  Expansion(*this, space, grid, bound.states, limit, found, counts).run(bound.slices);
}

void GridExpander::probe(const PlanSpace &space, const PlanGrid &grid, const RefinedBound &bound, Bytes limit,
                         SearchTargets &found, ExpansionCounts &counts) {
  Expansion(*this, space, grid, bound.states, limit, found, counts).probe(bound.slices);
}
