// Pipelines over groups of devices of different kinds: against a cluster of one kind, and against every layout of the
// space.
#include "lib/Planning/Group/GroupSearch.h"

#include "../Model/LlamaShape.h"
#include "RandomProblems.h"
#include "ppc/CostModel/MixedStep.h"
#include "ppc/Planning/PlanVerifier.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

using namespace mlir::ppc;

namespace {

std::string messageOfSearch(llvm::Error error) { return error ? llvm::toString(std::move(error)) : ""; }

/// Groups of nodes, joined by what joins the nodes of the first.
Cluster join(std::initializer_list<const char *> parts) {
  Cluster cluster;
  for (const char *part : parts) {
    Cluster one = llvm::cantFail(findCluster(part));
    if (cluster.groups.empty())
      cluster = one;
    else
      cluster.groups.push_back(one.groups.front());
  }
  cluster.between = cluster.groups.front().levels.back();
  cluster.between->name = "between";
  cluster.between->size = int64_t(cluster.groups.size());
  return cluster;
}

/// The layout on a cluster of two groups of one kind costs what it costs on one group of as many.
TEST(GroupSearch, EqualGroupsCostAsMuchAsOneGroup) {
  RandomProblems random(31);
  int compared = 0;
  for (int i = 0; i < 80; ++i) {
    PlanningProblem problem = random.make();
    problem.constraints = PlanConstraints();
    problem.constraints.forbid(PlanKey::Pp, 1);
    problem.limit = Bytes(1e15);
    const char *kind = random.pick({0, 1}) ? "dgx-a100" : "dgx-h100";
    Cluster whole = llvm::cantFail(findCluster(std::string(kind) + ":4"));
    std::string half = std::string(kind) + ":2";
    Cluster groups = join({half.c_str(), half.c_str()});
    problem.cluster = llvm::cantFail(restrictCluster(whole, random.pick({4, 6, 8, 12})));
    PlanSearchResult result = llvm::cantFail(searchPlan(problem.request()));
    StepEstimator estimator;
    for (const Plan &plan : result.plans) {
      llvm::Expected<const PipelineScheduleKind *> schedule = findPipelineSchedule(plan.layout.schedule);
      ASSERT_TRUE(bool(schedule));
      if ((*schedule)->replicas > 1)
        continue;
      for (bool cut : {false, true}) { // its own partition, and the stack's
        ParallelLayout layout = plan.layout;
        if (!cut) {
          layout.stageLayers.clear();
          if (!layout.stageRecomputedLayers.empty())
            continue;
        }
        StepCost one = llvm::cantFail(estimator.estimate(problem.model, problem.job, whole, layout, problem.stack));
        layout.stageGroups.assign(size_t(layout.pp), 0);
        for (int64_t stage = 1 + random.pick({0, 1, 2}) % (layout.pp - 1); stage < layout.pp; ++stage)
          layout.stageGroups[stage] = 1;
        ASSERT_EQ(messageOfSearch(verifyStageGroups(groups, layout)), "") << toString(layout);
        StepCost two = llvm::cantFail(estimator.estimate(problem.model, problem.job, groups, layout, problem.stack));
        EXPECT_NEAR(one.stepTime.value, two.stepTime.value, 1e-12 * one.stepTime.value)
            << "problem " << i << ": " << toString(layout);
        EXPECT_NEAR(one.mfu, two.mfu, 1e-12);
        EXPECT_EQ(one.fits, two.fits);
        ASSERT_EQ(one.stages.size(), two.stages.size());
        for (size_t stage = 0; stage < one.stages.size(); ++stage)
          EXPECT_NEAR(one.stages[stage].memory.total().value, two.stages[stage].memory.total().value, 1)
              << toString(layout);
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, 40);
}

/// Every partition of the layers, one by one.
double bestCut(llvm::ArrayRef<llvm::ArrayRef<double>> ends, llvm::ArrayRef<double> extra, llvm::ArrayRef<int64_t> most,
               size_t chunk, int64_t begin) {
  int64_t layers = int64_t(ends.front().size()) - 1;
  double best = std::numeric_limits<double>::infinity();
  auto timeOf = [&](int64_t end) { return ends[chunk][end] - ends[chunk][begin] + extra[chunk]; };
  bool isLast = chunk + 1 == ends.size();
  for (int64_t end = isLast ? layers : begin + 1; end <= layers; ++end)
    if (end > begin && (most.empty() || end - begin <= most[chunk]))
      best = std::min(best, isLast ? timeOf(end) : std::max(timeOf(end), bestCut(ends, extra, most, chunk + 1, end)));
  return best;
}

TEST(GroupSearch, PartitionsLayersWithTheFastestSlowestStage) {
  RandomProblems random(32);
  int cuts = 0;
  for (int i = 0; i < 400; ++i) {
    size_t chunks = size_t(random.pick({1, 2, 3, 4})), layers = size_t(random.pick({4, 5, 7, 9}));
    std::vector<std::vector<double>> times(chunks);
    std::vector<llvm::ArrayRef<double>> ends;
    std::vector<double> extra;
    std::vector<int64_t> most;
    bool capped = random.pick({0, 1});
    for (std::vector<double> &own : times) {
      own.assign(1, 0);
      double pace = double(random.pick({10, 13, 20, 50}));
      for (size_t layer = 0; layer < layers; ++layer)
        own.push_back(own.back() + pace);
      ends.push_back(own);
      extra.push_back(double(random.pick({0, 0, 7, 30})));
      if (capped)
        most.push_back(random.pick({1, 2, 3, 9}));
    }
    double best = bestCut(ends, extra, most, 0, 0);
    std::vector<int64_t> cut = cutByTimes(ends, extra, most);
    if (best == std::numeric_limits<double>::infinity()) {
      EXPECT_TRUE(cut.empty());
      continue;
    }
    ASSERT_EQ(cut.size(), chunks);
    double slowest = 0;
    int64_t begin = 0;
    for (size_t chunk = 0; chunk < chunks; ++chunk) {
      EXPECT_GE(cut[chunk], 1);
      if (capped)
        EXPECT_LE(cut[chunk], most[chunk]);
      slowest = std::max(slowest, ends[chunk][begin + cut[chunk]] - ends[chunk][begin] + extra[chunk]);
      begin += cut[chunk];
    }
    EXPECT_EQ(begin, int64_t(layers));
    EXPECT_NEAR(slowest, best, 1e-9 * best) << "cut " << i;
    ++cuts;
  }
  EXPECT_GE(cuts, 200);
}

/// Time of the fastest that fits, of all layouts of the space over several groups and of each group alone.
double exhaustiveBestOfGroups(const PlanRequest &request, int64_t &layouts) {
  double best = std::numeric_limits<double>::infinity();
  for (size_t group = 0; group < request.cluster.groups.size(); ++group) {
    Cluster cluster = groupAlone(request.cluster, int64_t(group));
    PlanRequest one{request.model,
                    request.job,
                    cluster,
                    request.stack,
                    {},
                    request.constraints,
                    std::min(request.memoryLimit, planMemoryLimit(cluster, request.stack))};
    one.alternatives = false;
    PlanSearchResult found = llvm::cantFail(searchPlan(one));
    if (!found.plans.empty())
      best = std::min(best, found.plans.front().cost.stepTime.value);
  }
  if (!notSearchedOverGroups(request.constraints).empty())
    return best;
  GroupSpace space(request);
  StepEstimator estimator;
  PipelineTimer timer;
  for (const GroupGrid &grid : space.grids())
    for (const auto &stages : space.placements(grid))
      for (Recompute recompute : space.recomputes()) {
        ParallelLayout layout = space.layoutOf(grid);
        layout.stageGroups = stages;
        layout.pp = int64_t(stages.size());
        layout.recompute = recompute;
        for (const ScheduleChoice &choice : space.schedules(layout))
          for (int64_t zero : space.zeros(layout)) {
            layout.schedule = choice.schedule.str();
            layout.vp = choice.vp;
            layout.zero = zero;
            if (brokenConstraint(request.constraints, layout))
              continue;
            ++layouts;
            if (std::optional<Plan> plan = fitOverGroups(request, layout, estimator, timer))
              best = std::min(best, plan->cost.stepTime.value);
            if (recompute != Recompute::Full || choice.vp > 1)
              continue;
            for (const auto &numbers : space.recomputedOnGroups(stages)) {
              ParallelLayout some = layout;
              some.stageRecomputedLayers = numbers;
              if (brokenConstraint(request.constraints, some))
                continue;
              if (std::optional<Plan> plan = fitOverGroups(request, some, estimator, timer))
                best = std::min(best, plan->cost.stepTime.value);
            }
          }
      }
  return best;
}

TEST(GroupSearch, MatchesExhaustiveSearch) {
  RandomProblems random(33);
  int64_t layouts = 0;
  int found = 0, mixed = 0, byGroup = 0;
  for (int i = 0; i < 40; ++i) {
    PlanningProblem problem = random.make();
    problem.cluster = join({"dgx-h100:1", "dgx-a100:1"});
    for (DeviceGroup &group : problem.cluster.groups) {
      group.count = random.pick({1, 2, 3, 4});
      group.levels.front().size = group.count;
      group.device.memory = Bytes(double(random.pick({6, 10, 20, 80})) * 1e9);
    }
    PlanRequest request = problem.request();
    double best = exhaustiveBestOfGroups(request, layouts);
    PlanSearchResult result = llvm::cantFail(searchPlan(request));
    if (best == std::numeric_limits<double>::infinity()) {
      EXPECT_TRUE(result.plans.empty()) << "problem " << i;
      EXPECT_TRUE(result.infeasibility.has_value());
      continue;
    }
    ++found;
    ASSERT_FALSE(result.plans.empty()) << "problem " << i;
    const Plan &plan = result.plans.front();
    EXPECT_NEAR(plan.cost.stepTime.value, best, 1e-12 * best) << "problem " << i << ": " << toString(plan.layout);
    EXPECT_NEAR(result.lowerBound.value, best, 1e-12 * best);
    for (const Plan &each : result.plans) {
      EXPECT_EQ(messageOfSearch(verifyPlan(request, each)), "") << "problem " << i << ": " << toString(each.layout);
      mixed += !llvm::all_equal(each.layout.stageGroups);
      byGroup += !llvm::all_equal(each.layout.stageGroups) && !each.layout.stageRecomputedLayers.empty();
    }
  }
  EXPECT_GE(found, 8);
  EXPECT_GE(mixed, 8);
  EXPECT_GE(byGroup, 1);
  EXPECT_GE(layouts, 2000);
}

TEST(GroupSearch, GivesMoreLayersToTheFasterGroup) {
  ModelShape model = llamaShape(32, 32000);
  Cluster cluster = join({"dgx-a100:2", "dgx-h100:2"});
  Stack stack = llvm::cantFail(findStack("ppc"));
  PlanRequest request{model, {4096, 256}, cluster, stack};
  request.alternatives = false;
  PlanSearchResult result = llvm::cantFail(searchPlan(request));
  ASSERT_FALSE(result.plans.empty());
  const Plan &plan = result.plans.front();
  ASSERT_FALSE(llvm::all_equal(plan.layout.stageGroups)) << toString(plan.layout);
  EXPECT_EQ(messageOfSearch(verifyPlan(request, plan)), "");
  for (int64_t group : {0, 1}) {
    Cluster alone = groupAlone(cluster, group);
    PlanRequest one{model, request.job, alone, stack};
    one.alternatives = false;
    PlanSearchResult best = llvm::cantFail(searchPlan(one));
    EXPECT_LT(plan.cost.stepTime.value, best.plans.front().cost.stepTime.value);
  }
  ParallelLayout layout;
  layout.dp = 4;
  layout.tp = 4;
  layout.pp = 2;
  layout.zero = 1;
  layout.stageGroups = {0, 1};
  StepEstimator estimator;
  StepDetail detail;
  StepCost cost = llvm::cantFail(estimator.estimate(model, request.job, cluster, layout, stack, &detail));
  std::vector<int64_t> layers = layersPerChunk(model, detail.costs.chunks);
  EXPECT_LT(layers[0], layers[1]);
  // An even partition takes longer.
  layout.stageLayers = {16, 16};
  EXPECT_LT(cost.stepTime.value,
            llvm::cantFail(estimator.estimate(model, request.job, cluster, layout, stack)).stepTime.value);
}

TEST(GroupSearch, GivesFewerLayersToTheGroupWithLessMemory) {
  ModelShape model = llamaShape(32, 32000);
  Cluster cluster = join({"dgx-h100:1", "dgx-h100:1"});
  cluster.groups[0].device.memory = Bytes(24e9);
  Stack stack = llvm::cantFail(findStack("ppc"));
  PlanRequest request{model, {4096, 64}, cluster, stack};
  ParallelLayout layout;
  layout.dp = 2;
  layout.tp = 4;
  layout.pp = 2;
  layout.stageGroups = {0, 1};
  StepEstimator estimator;
  PipelineTimer timer;
  StepDetail detail;
  StepCost even = llvm::cantFail(estimator.estimate(model, request.job, cluster, layout, stack, &detail));
  EXPECT_FALSE(even.fits);
  std::vector<int64_t> before = layersPerChunk(model, detail.costs.chunks);
  std::optional<Plan> plan = fitOverGroups(request, layout, estimator, timer);
  ASSERT_TRUE(plan.has_value());
  EXPECT_LT(plan->layout.stageLayers[0], before[0]);
  EXPECT_LE(plan->cost.stages[0].memory.total().value, 24e9);
  EXPECT_EQ(messageOfSearch(verifyPlan(request, *plan)), "");
  // One more layer would not fit.
  ParallelLayout more = plan->layout;
  ++more.stageLayers[0];
  --more.stageLayers[1];
  EXPECT_FALSE(llvm::cantFail(pricePlan(request, more)).cost.fits);
}

/// Layouts at random, possible and not: an error, or a cost that the verifier computes as well.
TEST(GroupSearch, EstimatesOrRefusesAnyLayout) {
  int priced = 0, refused = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    RandomProblems random(seed);
    PlanningProblem problem = random.make();
    problem.constraints = PlanConstraints();
    problem.cluster = join({"dgx-a100:1", "dgx-h100:2", "dgx-v100:1"});
    ParallelLayout layout;
    layout.dp = random.pick({1, 1, 2, 3});
    layout.tp = random.pick({1, 2, 4});
    layout.cp = random.pick({1, 1, 2});
    layout.pp = random.pick({1, 2, 3, 4});
    layout.vp = random.pick({1, 1, 2, 0});
    layout.zero = random.pick({0, 1, 2, 3});
    layout.recompute = Recompute(random.pick({0, 1, 2}));
    layout.offload = Offload(random.pick({0, 0, 1, 2, 3}));
    llvm::ArrayRef<PipelineScheduleKind> kinds = pipelineScheduleKinds();
    layout.schedule = kinds[size_t(random.pick({0, 1, 2, 3, 5, 7, 11, 100})) % kinds.size()].name.str();
    int64_t group = random.pick({0, 1, 2});
    for (int64_t stage = 0; stage < layout.pp + random.pick({0, 0, 0, 0, 0, 1}); ++stage) {
      group = random.pick({0, 0, 1}) ? random.pick({0, 1, 2, 1, 2, 0, 3, -1}) : group;
      layout.stageGroups.push_back(group);
    }
    PlanRequest request = problem.request();
    if (layout.vp > 0 && problem.job.globalBatch >= layout.dp) {
      if (llvm::Expected<StepSchedule> schedule = resolveSchedule(problem.job, layout))
        layout.vp = schedule->shape.chunks; // as searches write it
      else
        llvm::consumeError(schedule.takeError());
    }
    llvm::Expected<Plan> plan = pricePlan(request, layout);
    if (!plan) {
      EXPECT_FALSE(llvm::toString(plan.takeError()).empty());
      ++refused;
      continue;
    }
    ++priced;
    EXPECT_GT(plan->cost.stepTime.value, 0);
    EXPECT_EQ(messageOfSearch(verifyPlan(request, *plan)), "") << "seed " << seed << ": " << toString(layout);
  }
  EXPECT_GE(priced, 100);
  EXPECT_GE(refused, 100);
}

TEST(GroupSearch, RefusesGroupsThatCannotBe) {
  ModelShape model = llamaShape(32, 32000);
  Cluster cluster = join({"dgx-a100:1", "dgx-h100:1"});
  Stack stack = llvm::cantFail(findStack("ppc"));
  StepEstimator estimator;
  auto messageFor = [&](std::initializer_list<int64_t> groups, llvm::StringRef schedule = "1f1b") {
    ParallelLayout layout;
    layout.tp = 4;
    layout.pp = 3;
    layout.schedule = schedule.str();
    layout.stageGroups.assign(groups);
    llvm::Expected<StepCost> cost = estimator.estimate(model, {2048, 12}, cluster, layout, stack);
    return cost ? std::string() : llvm::toString(cost.takeError());
  };
  EXPECT_EQ(messageFor({0, 1, 1}), "");
  EXPECT_NE(messageFor({}).find("stage_groups"), std::string::npos);
  EXPECT_EQ(messageFor({0, 1}), "stage_groups lists 2 stages; pp 3 is asked for");
  EXPECT_NE(messageFor({0, 1, 2}).find("group 2 for stage 2"), std::string::npos);
  EXPECT_NE(messageFor({0, 1, 0}).find("apart from each other"), std::string::npos);
  EXPECT_NE(messageFor({0, 0, 0}).find("3 stages of 4 devices are on group 0"), std::string::npos);
  EXPECT_NE(messageFor({0, 1, -1}).find("group -1"), std::string::npos);
}

} // namespace
