// Recomputed layers by stage, and partitions that memory shifts, against loops over all of them.
#include "lib/Planning/Grid/StageFit.h"
#include "RandomProblems.h"
#include "lib/Planning/Grid/PlanSpace.h"
#include "ppc/Planning/PlanVerifier.h"
#include "gtest/gtest.h"

#include <algorithm>

using namespace mlir::ppc;

namespace {

/// A pipeline that memory binds: every key but the number of recomputed layers is pinned, and the limit is between the
/// stages' needs with full and without recomputation.
struct BoundPipeline {
  PlanningProblem problem;
  ParallelLayout layout;
  std::vector<int64_t> even;
};

std::optional<BoundPipeline> makePipeline(RandomProblems &random, std::initializer_list<int64_t> schedules, int64_t vp,
                                          int64_t layers = 0) {
  static const char *names[] = {"1f1b", "gpipe", "zb1p", "seq1f1b", "interleaved", "dualpipe"};
  BoundPipeline made;
  made.problem = random.make();
  made.problem.constraints = PlanConstraints();
  made.problem.stack = llvm::cantFail(findStack("ppc"));
  ParallelLayout &layout = made.layout;
  layout.pp = random.pick({2, 3, 4});
  layout.vp = vp;
  layout.schedule = names[random.pick(schedules)];
  if (layout.schedule == "dualpipe" && layout.pp % 2)
    ++layout.pp;
  made.problem.model.layers = layers ? layers : layout.pp * vp + random.pick({0, 1, 3});
  if (layers)
    made.problem.model.vocab = 512; // layers are most of it
  made.problem.cluster = llvm::cantFail(restrictCluster(llvm::cantFail(findCluster("dgx-h100:1")), layout.pp));
  made.problem.job = {2048, layout.pp * random.pick({2, 4})};
  layout.recompute = Recompute::Full;
  double most = 0, least = 0;
  for (bool all : {false, true}) {
    layout.recomputedLayers = all ? -1 : 0;
    PlanRequest request = made.problem.request();
    llvm::Expected<Plan> plan = pricePlan(request, layout);
    if (!plan) {
      llvm::consumeError(plan.takeError());
      return std::nullopt;
    }
    (all ? least : most) = plan->cost.peakMemory.value;
    made.even.assign(plan->layout.stageLayers.begin(), plan->layout.stageLayers.end());
  }
  if (least >= most)
    return std::nullopt;
  made.problem.limit = Bytes(least + (most - least) * double(random.pick({1, 3, 5, 7, 9})) / 10);
  for (PlanKey key : {PlanKey::Dp, PlanKey::Tp, PlanKey::Pp, PlanKey::Vp, PlanKey::Cp, PlanKey::Ep, PlanKey::Etp,
                      PlanKey::MicroBatch, PlanKey::Schedule, PlanKey::Zero, PlanKey::Offload, PlanKey::Recompute})
    made.problem.constraints.pin(key, planValue(layout, key));
  return made;
}

/// visit(numbers) for every choice of numbers between 0 and `most`.
template <typename Visit> void forAll(llvm::ArrayRef<int64_t> most, Visit visit) {
  std::vector<int64_t> numbers(most.size(), 0);
  while (true) {
    visit(llvm::ArrayRef<int64_t>(numbers));
    size_t i = 0;
    while (i < numbers.size() && numbers[i] == most[i])
      numbers[i++] = 0;
    if (i == numbers.size())
      return;
    ++numbers[i];
  }
}

double timeIfItFits(const BoundPipeline &pipeline, StepEstimator &estimator, const ParallelLayout &layout) {
  const PlanningProblem &problem = pipeline.problem;
  StepCost cost =
      llvm::cantFail(estimator.estimate(problem.model, problem.job, problem.cluster, layout, problem.stack));
  for (const StageCost &stage : cost.stages)
    if (stage.memory.total() > problem.limit)
      return std::numeric_limits<double>::infinity();
  return cost.stepTime.value;
}

/// The fastest of all numbers of recomputed layers for a partition.
double bestOfNumbers(const BoundPipeline &pipeline, StepEstimator &estimator, llvm::ArrayRef<int64_t> cut) {
  double best = std::numeric_limits<double>::infinity();
  std::vector<int64_t> most;
  for (const ChunkLayers &chunk : listChunks(cut))
    most.push_back(chunk.recomputable(pipeline.problem.model));
  ParallelLayout layout = pipeline.layout;
  layout.stageLayers.assign(cut.begin(), cut.end());
  forAll(most, [&](llvm::ArrayRef<int64_t> numbers) {
    layout.stageRecomputedLayers.assign(numbers.begin(), numbers.end());
    best = std::min(best, timeIfItFits(pipeline, estimator, layout));
  });
  return best;
}

TEST(StageFit, FewestByStageAreTheFastestOfAllNumbers) {
  RandomProblems random(31);
  StepEstimator estimator;
  int compared = 0, byStage = 0, infeasible = 0;
  while (compared < 60) {
    std::optional<BoundPipeline> pipeline = makePipeline(random, {0, 1, 2, 3}, 1);
    if (!pipeline)
      continue;
    pipeline->problem.constraints.stageLayers.assign(pipeline->even.begin(), pipeline->even.end());
    double best = bestOfNumbers(*pipeline, estimator, pipeline->even);
    PlanRequest request = pipeline->problem.request();
    PlanSearchResult result = llvm::cantFail(searchPlan(request));
    ++compared;
    if (best == std::numeric_limits<double>::infinity()) {
      EXPECT_TRUE(result.plans.empty()) << toString(pipeline->layout);
      ++infeasible;
      continue;
    }
    ASSERT_FALSE(result.plans.empty()) << toString(pipeline->layout) << " takes " << best;
    const Plan &plan = result.plans.front();
    EXPECT_NEAR(plan.cost.stepTime.value, best, 1e-12 * best) << toString(plan.layout);
    byStage += !plan.layout.stageRecomputedLayers.empty();
    llvm::Error error = verifyPlan(request, plan);
    EXPECT_FALSE(bool(error)) << toString(plan.layout) << ": " << llvm::toString(std::move(error));
  }
  EXPECT_GE(byStage, 20);
  EXPECT_LE(infeasible, 20);
}

// Several stages per device are filled in rounds: never slower than one number for all of them, which is what the
// search finds when it is told so.
TEST(StageFit, RoundsAreNeverSlowerThanOneNumber) {
  RandomProblems random(32);
  int compared = 0, faster = 0;
  for (int i = 0; i < 60; ++i) {
    std::optional<BoundPipeline> pipeline = makePipeline(random, {4, 5}, 1 + i % 2);
    if (!pipeline)
      continue;
    PlanRequest free = pipeline->problem.request();
    PlanSearchResult best = llvm::cantFail(searchPlan(free));
    PlanningProblem other = pipeline->problem;
    llvm::cantFail(other.constraints.forbid("recomputed_layers", "by-stage"));
    PlanRequest uniform = other.request();
    PlanSearchResult expected = llvm::cantFail(searchPlan(uniform));
    if (expected.plans.empty())
      continue;
    ASSERT_FALSE(best.plans.empty()) << toString(expected.plans.front().layout);
    EXPECT_TRUE(expected.plans.front().layout.stageRecomputedLayers.empty());
    double ours = best.plans.front().cost.stepTime.value, one = expected.plans.front().cost.stepTime.value;
    EXPECT_LE(ours, one * (1 + 1e-12)) << toString(best.plans.front().layout) << " against "
                                       << toString(expected.plans.front().layout);
    llvm::Error error = verifyPlan(free, best.plans.front());
    EXPECT_FALSE(bool(error)) << llvm::toString(std::move(error));
    ++compared;
    faster += ours < one * (1 - 1e-9);
  }
  EXPECT_GE(compared, 20);
  EXPECT_GE(faster, 5);
}

// Moved layers never lose against the even partition, and come close to the best of all partitions with all numbers.
TEST(StageFit, MovedLayersComeCloseToTheBestPartition) {
  RandomProblems random(33);
  StepEstimator estimator;
  int compared = 0, moved = 0, possible = 0, found = 0;
  double lostByEven = 0, lost = 0, worst = 0;
  while (compared < 40) {
    std::optional<BoundPipeline> pipeline = makePipeline(random, {0, 2}, 1, random.pick({6, 8, 9}));
    if (!pipeline || pipeline->layout.pp > 3)
      continue;
    int64_t layers = pipeline->problem.model.layers, stages = pipeline->layout.pp;
    double best = std::numeric_limits<double>::infinity();
    forAll(std::vector<int64_t>(stages, layers - stages), [&](llvm::ArrayRef<int64_t> more) {
      std::vector<int64_t> cut;
      int64_t sum = 0;
      for (int64_t number : more)
        cut.push_back(1 + number), sum += 1 + number;
      if (sum == layers)
        best = std::min(best, bestOfNumbers(*pipeline, estimator, cut));
    });
    double even = bestOfNumbers(*pipeline, estimator, pipeline->even);
    PlanSearchResult result = llvm::cantFail(searchPlan(pipeline->problem.request()));
    if (best == std::numeric_limits<double>::infinity())
      continue;
    ++possible;
    double ours =
        result.plans.empty() ? std::numeric_limits<double>::infinity() : result.plans.front().cost.stepTime.value;
    found += !result.plans.empty();
    if (even == std::numeric_limits<double>::infinity())
      continue;
    ++compared;
    EXPECT_GE(ours, best * (1 - 1e-12));
    EXPECT_LE(ours, even * (1 + 1e-12)) << toString(result.plans.front().layout);
    moved += ours < even * (1 - 1e-9);
    lostByEven += even / best - 1;
    lost += ours / best - 1;
    worst = std::max(worst, ours / best - 1);
  }
  RecordProperty("mean_loss_percent", std::to_string(100 * lost / compared));
  RecordProperty("mean_loss_of_even_cut_percent", std::to_string(100 * lostByEven / compared));
  RecordProperty("worst_loss_percent", std::to_string(100 * worst));
  RecordProperty("found_percent", std::to_string(100.0 * found / possible));
  printf("moved %d of %d; loss %.3f %%, of the even partition %.3f %%; worst %.3f %%; found %d of %d\n", moved,
         compared, 100 * lost / compared, 100 * lostByEven / compared, 100 * worst, found, possible);
  EXPECT_GE(moved, 3);
  EXPECT_LE(lost, lostByEven);
}

} // namespace
