// Degrees to sections of a plan file and back.
#include "ppc/Planning/Files/PlanPreset.h"
#include "../Support/TestSeed.h"
#include "gtest/gtest.h"

#include <random>

using namespace mlir::ppc;

namespace {

const PresetModel model{4, 2, 16, 128, 8};

std::string textOf(const PlanSections &plan) {
  std::string text;
  llvm::raw_string_ostream out(text);
  writePlanSections(plan, out);
  return text;
}

std::vector<int64_t> firstLayers(const ParallelLayout &layout) {
  std::vector<int64_t> first{0};
  int64_t next = 1;
  for (size_t i = 0; i + 1 < layout.stageLayers.size(); ++i)
    first.push_back(next += layout.stageLayers[i]);
  return first;
}

ParallelLayout randomLayout(std::mt19937 &random) {
  auto upTo = [&](int64_t last) { return std::uniform_int_distribution<int64_t>(0, last)(random); };
  ParallelLayout layout;
  layout.contextKind = ContextKind::AllGather;
  for (int64_t *degree : {&layout.dp, &layout.tp, &layout.cp, &layout.microBatch})
    *degree = int64_t(1) << upTo(2);
  if (upTo(1)) { // without ranks of a sequence
    layout.cp = 1;
    layout.ep = layout.tp;
    while (layout.ep < 8 && layout.dp % (2 * layout.expertBatches()) == 0 && upTo(1))
      layout.ep *= 2;
  }
  if (layout.cp > 1 && upTo(1))
    layout.contextKind = ContextKind::Ulysses;
  layout.pp = 1 + upTo(3);
  if (layout.pp > 1) {
    layout.vp = 1 + upTo(1);
    int64_t stages = layout.pp * layout.vp, left = model.layers;
    for (int64_t stage = 0; stage < stages; ++stage) {
      // Stages in the middle need a layer each.
      int64_t count = stage + 1 == stages ? left : 1 + upTo(std::min<int64_t>(left - (stages - stage), 3));
      layout.stageLayers.push_back(count);
      left -= count;
    }
  }
  layout.sequenceParallel = layout.tp > 1 && upTo(1);
  if (layout.ep == 1 && layout.tp > 2 && upTo(1))
    layout.tpRows = 2;
  else if (layout.ep == 1 && layout.tp > 2 && !layout.sequenceParallel && upTo(1))
    layout.tpDepth = 2;
  layout.zero = layout.dp * layout.cp > 1 && upTo(1);
  if (layout.zero && upTo(1)) { // gradients and parameters over groups of their own
    layout.zero = 2 + upTo(1);
    int64_t together = layout.cp * layout.expertBatches(), inner = together << upTo(1);
    bool isInner = inner > 1 && inner < layout.dataRanks() && layout.dataRanks() % inner == 0;
    if (isInner && upTo(1))
      layout.gradientGroup = inner;
    else if (layout.zero == 3 && upTo(1))
      layout.gradientGroup = 1;
    if (isInner && layout.zero == 3 && upTo(1))
      layout.parameterGroup = inner;
  }
  layout.recompute = Recompute(upTo(2));
  if (layout.recompute == Recompute::Full && upTo(1))
    for (size_t stage = 0; stage < std::max<size_t>(1, layout.stageLayers.size()); ++stage)
      layout.stageRecomputedLayers.push_back(
          upTo(layout.stageLayers.empty() ? model.layers : layout.stageLayers[stage]));
  return layout;
}

TEST(PlanPreset, ExpandedPlansReadAsTheSameLayout) {
  unsigned seed = testSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int turn = 0; turn < 2000; ++turn) {
    ParallelLayout layout = randomLayout(random);
    PlanSections plan = expandLayout(layout, model, firstLayers(layout));
    llvm::Expected<ParallelLayout> again = layoutOfPlan(plan, model, ParallelLayout());
    ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError()) << "\n" << textOf(plan);
    EXPECT_EQ(textOf(expandLayout(*again, model, plan.stages)), textOf(plan));
    for (auto [one, other] :
         {std::pair(again->dp, layout.dp), std::pair(again->tp, layout.tp), std::pair(again->cp, layout.cp),
          std::pair(again->ep, layout.ep), std::pair(again->pp, layout.pp), std::pair(again->vp, layout.vp),
          std::pair(again->tpRows, layout.tpRows), std::pair(again->tpDepth, layout.tpDepth),
          std::pair(again->microBatch, layout.microBatch), std::pair(again->zero, layout.zero),
          std::pair(again->gradientRanks(), layout.gradientRanks()),
          std::pair(again->parameterRanks(), layout.parameterRanks())})
      EXPECT_EQ(one, other) << textOf(plan);
    EXPECT_EQ(again->sequenceParallel, layout.sequenceParallel);
    EXPECT_EQ(again->stageLayers, layout.stageLayers);
  }
}

TEST(PlanPreset, AxesMayHaveAnyName) {
  ParallelLayout layout;
  layout.dp = 2, layout.tp = 4;
  PlanSections plan = expandLayout(layout, model, {0});
  for (PlanSections::Axis &axis : plan.grid)
    axis.name += "_x";
  for (PlanSections::DimensionCut &cut : plan.dimensions)
    for (std::string &axis : cut.axes)
      axis += "_x";
  llvm::Expected<ParallelLayout> again = layoutOfPlan(plan, model, ParallelLayout());
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  EXPECT_EQ(again->tp, 4);
}

// A plan that is sharded otherwise than degrees would is not a layout of degrees, and the reason names the difference.
TEST(PlanPreset, PlansThatNoDegreesShardSoAreNotLayouts) {
  ParallelLayout layout;
  layout.dp = 2, layout.tp = 4, layout.zero = 1, layout.sequenceParallel = true;
  auto reasonFor = [&](auto change) {
    PlanSections plan = expandLayout(layout, model, {0});
    change(plan);
    llvm::Expected<ParallelLayout> read = layoutOfPlan(plan, model, ParallelLayout());
    return read ? std::string() : llvm::toString(read.takeError());
  };
  EXPECT_EQ(reasonFor([](PlanSections &) {}), "");
  EXPECT_EQ(
      reasonFor([](PlanSections &plan) { plan.dimensions.push_back({"hidden", {"tp"}}); }),
      "the plan shards the ranks of a stage into 8 parts, but dp 2, tp 16 (rows 4), cp 1, ep 1 would shard it into 32");
  EXPECT_EQ(reasonFor([](PlanSections &plan) { plan.dimensions.pop_back(); }),
            "the plan shards vocab into 1 parts, but dp 2, tp 4, cp 1, ep 1 would shard it into 4");
  EXPECT_EQ(reasonFor([](PlanSections &plan) { plan.update = {"tp"}; }),
            "the plan shards optimizer state into 4 parts, but dp 2, tp 4, cp 1, ep 1 would shard it into 2");
  EXPECT_EQ(reasonFor([](PlanSections &plan) { plan.grid.push_back({"r", 3, AxisRole::Replica}); }),
            "the plan shards the ranks of a stage into 24 parts, but dp 2, tp 4, cp 1, ep 1 would shard it into 8");
  EXPECT_EQ(reasonFor([](PlanSections &plan) { plan.dimensions.push_back({"experts", {"dp"}}); }),
            "the plan shards experts into 2 parts, which no expert-parallel degree does on dp 2, cp 1, tp 4");
  EXPECT_EQ(reasonFor([](PlanSections &plan) { plan.recompute = {{"2-3", "full"}}; }),
            "the plan recomputes layer 2 and not those before it on its stage");
  EXPECT_EQ(reasonFor([](PlanSections &plan) { plan.parameters = {{"w", {{"dp"}}}}; }),
            "the plan shards parameter 'w' on its own");
}

} // namespace
