// One layout over several groups of devices: its price, and where it does not fit, its layers moved to devices that
// have memory left.
#include "lib/Planning/Group/GroupSearch.h"

#include "ppc/CostModel/MixedStep.h"

#include <algorithm>

using namespace mlir::ppc;

/// The most layers that each stage can hold, as if all were of the kind that needs most; empty: one cannot hold any.
static std::vector<int64_t> layersWithin(const PlanRequest &request, const ParallelLayout &layout,
                                         const StepDetail &detail, const MixedPricing &pricing,
                                         const PipelineProgram &program, bool splitBackward) {
  std::vector<int64_t> most;
  int64_t layers = request.model.layers;
  std::vector<ChunkCost> chunks = detail.costs.chunks;
  for (int64_t stage = 0; stage < layout.pp; ++stage) {
    auto fits = [&](int64_t count) {
      // Layers at the end stand for all: models have their dense layers first.
      ChunkLayers part{layers - count, count, stage == 0, stage + 1 == layout.pp};
      chunks[stage] = pricing.priceChunk(part, size_t(stage), splitBackward);
      MemoryBreakdown memory = deviceMemory(pricing.contextOf(stage), chunks, program, stage);
      return memory.total() <= stageMemoryLimit(request, layout, size_t(stage));
    };
    int64_t low = 0, high = layers - layout.pp + 2; // one that fits or 0, one that does not
    while (high - low > 1) {
      int64_t middle = (low + high) / 2;
      (fits(middle) ? low : high) = middle;
    }
    if (!low)
      return {};
    most.push_back(low);
  }
  return most;
}

static bool fitsAll(const PlanRequest &request, const ParallelLayout &layout, const StepCost &cost) {
  for (size_t stage = 0; stage < cost.stages.size(); ++stage)
    if (!fitsStage(request, layout, stage, cost.stages[stage].memory))
      return false;
  return true;
}

/// As many recomputed layers as each stage has.
static void clipRecomputed(const ModelShape &model, ParallelLayout &layout) {
  for (size_t i = 0; i < layout.stageRecomputedLayers.size(); ++i) {
    int64_t most = layout.stageLayers[i] + (i + 1 == layout.stageLayers.size() ? model.predictionLayers : 0);
    layout.stageRecomputedLayers[i] = std::min(layout.stageRecomputedLayers[i], most);
  }
}

std::optional<Plan> mlir::ppc::fitOverGroups(const PlanRequest &request, ParallelLayout layout,
                                             StepEstimator &estimator, PipelineTimer &timer) {
  StepDetail detail;
  auto price = [&]() -> std::optional<StepCost> {
    llvm::Expected<StepCost> cost =
        estimator.estimate(request.model, request.job, request.cluster, layout, request.stack, &detail);
    if (cost)
      return std::move(*cost);
    llvm::consumeError(cost.takeError());
    return std::nullopt;
  };
  std::optional<StepCost> cost = price();
  if (!cost)
    return std::nullopt;
  bool fits = fitsAll(request, layout, *cost);
  if (!fits && layout.stageLayers.empty() && detail.shape.chunks == 1) {
    ParallelLayout effective = layout;
    effective.vp = 1;
    MixedPricing pricing(request.model, request.job, request.cluster, effective, request.stack, detail.shape.slices,
                         stageDevices(detail.chunks));
    llvm::Expected<StepSchedule> schedule = resolveSchedule(request.job, layout);
    llvm::Expected<const PipelineProgram *> program = timer.compile(*detail.schedule, detail.shape);
    if (!schedule || !program) {
      llvm::consumeError(schedule.takeError());
      llvm::consumeError(program.takeError());
      return std::nullopt;
    }
    std::vector<int64_t> most = layersWithin(request, layout, detail, pricing, **program, schedule->splitBackward);
    std::vector<int64_t> cut = most.empty() ? most : pricing.cut(most);
    if (cut.empty())
      return std::nullopt;
    layout.stageLayers.assign(cut.begin(), cut.end());
    clipRecomputed(request.model, layout);
    cost = price();
    fits = cost && fitsAll(request, layout, *cost);
  }
  if (!fits)
    return std::nullopt;
  if (layout.stageLayers.empty())
    for (int64_t layers : layersPerChunk(request.model, detail.costs.chunks))
      layout.stageLayers.push_back(layers);
  clipRecomputed(request.model, layout);
  Plan plan{std::move(layout), std::move(*cost)};
  plan.cost.fits = true;
  return plan;
}
