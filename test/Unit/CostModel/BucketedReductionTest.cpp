// The exposed time of gradient reductions after the last backward: equal to the minimum over choices for single layers,
// and all of it if programs do not overlap it.
#include "../Model/LlamaShape.h"
#include "../Support/TestSeed.h"
#include "ppc/CostModel/CollectiveCost.h"
#include "ppc/CostModel/StepParts.h"
#include "ppc/Scheduling/ReductionBuckets.h"
#include "gtest/gtest.h"

#include <random>

using namespace mlir::ppc;

namespace {

struct BucketCase {
  ModelShape model = llamaShape(16);
  TrainingJob job{4096, 64};
  ParallelLayout layout;
  Stack stack = llvm::cantFail(findStack("ppc-cuda"));
  Cluster cluster = llvm::cantFail(findCluster("dgx-h100:4"));
  StepDetail detail;

  BucketCase() {
    layout.attention = AttentionKernel::Flash2;
    layout.pp = 2;
    layout.dp = 16;
  }
  StepCost step() {
    StepEstimator estimator;
    return llvm::cantFail(estimator.estimate(model, job, cluster, layout, stack, &detail));
  }
  /// Reduction times of the only chunk of a stage, layer by layer: without overlap, and exposed with buckets.
  std::pair<Seconds, Seconds> allAndLeft(int64_t stage) {
    const ChunkCost &chunk = detail.costs.chunks[stage];
    PricingContext context(model, job, cluster, layout, stack);
    double table = context.paddedVocabulary() * double(model.hidden) / double(layout.tp);
    bool first = stage == 0, last = stage + 1 == layout.pp;
    int64_t layers = chunk.count[int(LayerKind::Dense)];
    double each = (chunk.parameters - table * (first + last)) / double(layers);
    double computed = each * double(layers) + table * last;
    std::vector<ReductionPiece> pieces;
    Seconds at;
    Bytes bytes;
    auto finish = [&](double parameters, bool computes) {
      at += (computes ? parameters / computed : 0) * chunk.durations.backward;
      pieces.push_back({at, Bytes(parameters * stack.gradientReduceBytes)});
      bytes += pieces.back().bytes;
    };
    if (last)
      finish(table, true);
    for (int64_t layer = 0; layer < layers; ++layer)
      finish(each, true);
    if (first)
      finish(table, false);
    CollectiveKind kind = layout.zero ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce;
    GroupPlacement group = placeGroup(cluster.levels(), layout.tp, layout.dp);
    auto time = [&](Bytes part) { return collectiveTime(cluster, kind, part, group); };
    Seconds all = time(bytes);
    return {all, std::max(Seconds(0), chooseReductionBuckets(pieces, time, 0.01 * all).end - at)};
  }
};

} // namespace

TEST(BucketedReduction, ExposesAsMuchAsTheChoiceOverSingleLayers) {
  unsigned seed = testSeed();
  SCOPED_TRACE("PPC_TEST_SEED=" + std::to_string(seed));
  std::mt19937 engine(seed);
  auto oneOf = [&](std::initializer_list<int64_t> values) {
    return *(values.begin() + std::uniform_int_distribution<size_t>(0, values.size() - 1)(engine));
  };
  int hidden = 0;
  for (int i = 0; i < 100; ++i) {
    BucketCase each;
    each.model = llamaShape(oneOf({8, 16, 32, 48}));
    each.layout.pp = oneOf({1, 2, 4});
    each.layout.tp = oneOf({1, 2, 8});
    each.layout.dp = 32 / each.layout.pp / each.layout.tp;
    each.layout.zero = oneOf({0, 1});
    each.job = {oneOf({512, 2048, 8192}), each.layout.dp * oneOf({4, 8})};
    if (each.layout.dp == 1)
      continue;
    StepCost cost = each.step();
    double share = each.cluster.device().communicationShare;
    for (int64_t stage = 0; stage < each.layout.pp; ++stage) {
      auto [all, left] = each.allAndLeft(stage);
      Seconds least = left >= 0.99 * all ? cost.stages[stage].gradientReduction
                                         : std::min(cost.stages[stage].gradientReduction, left + share * (all - left));
      EXPECT_GE(cost.stages[stage].exposedReduction.value, least.value - 0.011 * all.value);
      EXPECT_LE(cost.stages[stage].exposedReduction.value, least.value + 0.07 * all.value)
          << "stage " << stage << " of " << each.layout.pp << ", dp " << each.layout.dp << ", tp " << each.layout.tp;
      hidden += cost.stages[stage].exposedReduction < 0.5 * all;
    }
  }
  EXPECT_GT(hidden, 0);
}

TEST(BucketedReduction, ReductionsThatProgramsDoNotOverlapAreExposed) {
  auto isHidden = [](BucketCase &each) {
    StepCost cost = each.step();
    EXPECT_GT(cost.stages[0].gradientReduction.value, 0);
    return cost.stages[0].exposedReduction < cost.stages[0].gradientReduction;
  };
  BucketCase each;
  EXPECT_TRUE(isHidden(each));
  each.stack.reducesInBuckets = false;
  EXPECT_FALSE(isHidden(each));
  each = BucketCase();
  each.layout.schedule = "chimera"; // two copies of the model add up the rest afterwards
  EXPECT_FALSE(isHidden(each));
}
