// The time/memory frontier: every plan of it is the fastest of those that need no more, whatever the order of the
// listed plans.
#include "lib/Planning/Frontier.h"

#include "RandomProblems.h"
#include "gtest/gtest.h"

#include <random>

using namespace mlir::ppc;

static void expectFrontier(const PlanSearchResult &result) {
  ASSERT_FALSE(result.frontier.empty());
  double fastest = result.frontier.front().cost.stepTime.value;
  for (const Plan &plan : result.plans)
    EXPECT_LE(fastest, plan.cost.stepTime.value * (1 + 1e-9)) << toString(plan.layout);
  for (size_t i = 1; i < result.frontier.size(); ++i) {
    EXPECT_LT(result.frontier[i].cost.peakMemory.value, result.frontier[i - 1].cost.peakMemory.value);
    EXPECT_GT(result.frontier[i].cost.stepTime.value, result.frontier[i - 1].cost.stepTime.value);
    EXPECT_LE(result.frontier[i].cost.stepTime.value,
              frontierSpan * result.plans.front().cost.stepTime.value * (1 + 1e-9));
  }
}

TEST(Frontier, FallsInMemoryAndRisesInTime) {
  RandomProblems random(41);
  for (int i = 0; i < 12; ++i) {
    SCOPED_TRACE(i);
    PlanningProblem problem = random.make();
    problem.constraints = PlanConstraints();
    if (i % 3 == 0) // fewest recomputed layers under the limit, but some: less memory may come out faster
      problem.constraints.pin(PlanKey::Recompute, int64_t(Recompute::Full));
    problem.limit = Bytes(70e9);
    PlanRequest request = problem.request();
    request.frontier = true;
    request.simulate = i % 2; // lists the plans in another order than by the formulas
    PlanSearchResult result = llvm::cantFail(searchPlan(request));
    if (!result.plans.empty())
      expectFrontier(result);
  }
}

TEST(Frontier, IsThereForSeveralGroupsOfDevices) {
  Cluster cluster = llvm::cantFail(findCluster(std::string(PPC_TEST_INPUTS) + "/Clusters/a100-and-h100.yaml"));
  ModelShape model = llvm::cantFail(readModelShape(std::string(PPC_TEST_INPUTS) + "/Models/llama-3-8b.json"));
  TrainingJob job{2048, 64};
  Stack stack = llvm::cantFail(findStack("ppc"));
  PlanRequest request{model, job, cluster, stack};
  request.base.attention = AttentionKernel::Flash2;
  request.constraints.pin(PlanKey::Tp, 1);
  request.frontier = true;
  PlanSearchResult result = llvm::cantFail(searchPlan(request));
  expectFrontier(result);
  EXPECT_GT(result.frontier.size(), 3u);
  // Each is what a search under its memory gives.
  const Plan &point = result.frontier[result.frontier.size() / 2];
  request.frontier = false;
  request.memoryLimit = point.cost.peakMemory;
  PlanSearchResult again = llvm::cantFail(searchPlan(request));
  ASSERT_FALSE(again.plans.empty());
  EXPECT_LE(again.plans.front().cost.stepTime.value, point.cost.stepTime.value * (1 + 1e-12));
}

TEST(Frontier, KeepsPlansThatNoPlanOfLessMemoryBeats) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<Plan> points(1 + random() % 12);
    for (size_t i = 0; i < points.size(); ++i) {
      points[i].cost.peakMemory = Bytes(double(100 - i));
      points[i].cost.stepTime = Seconds(1 + random() % 8);
    }
    std::vector<double> expected;
    for (size_t i = 0; i < points.size(); ++i) {
      bool beaten = false;
      for (size_t j = i + 1; j < points.size(); ++j)
        beaten |= points[j].cost.stepTime <= points[i].cost.stepTime;
      if (!beaten)
        expected.push_back(points[i].cost.peakMemory.value);
    }
    keepFastest(points);
    std::vector<double> kept;
    for (const Plan &point : points)
      kept.push_back(point.cost.peakMemory.value);
    EXPECT_EQ(kept, expected) << "round " << round;
  }
}

TEST(Frontier, LimitsFallToTheEnd) {
  std::mt19937 random(6);
  for (int round = 0; round < 200; ++round) {
    double limit = 1e9 * (1 + random() % 100), used = limit * (1 + random() % 1000) / 1000;
    int count = 0;
    for (Bytes next(used); next.value > 0; ++count) {
      Bytes less = nextFrontierLimit(next, Bytes(limit), 16);
      ASSERT_LT(less.value, next.value);
      next = less;
    }
    EXPECT_LE(count, 18) << limit << " " << used;
  }
}
