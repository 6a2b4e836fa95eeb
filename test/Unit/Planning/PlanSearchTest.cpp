// The search against a loop over every layout of its space, on random small problems.
#include "../Model/LlamaShape.h"
#include "RandomProblems.h"
#include "lib/Planning/Grid/PlanSpace.h"
#include "ppc/Planning/FineTuning.h"
#include "ppc/Planning/PlanVerifier.h"
#include "ppc/Planning/TargetLimits.h"
#include "ppc/Planning/TrainingSoftware.h"
#include "ppc/Simulation/StepBound.h"
#include "gtest/gtest.h"

using namespace mlir::ppc;

namespace {

/// Every layout of the space, one by one, each estimated from scratch. Time of the fastest that fits; infinity: none
/// does.
double exhaustiveBest(const PlanningProblem &problem, const PlanRequest &request, int64_t &layouts) {
  double best = std::numeric_limits<double>::infinity();
  StepEstimator estimator;
  int64_t devices = problem.cluster.deviceCount();
  // Choices of one degree combination; the combinations are enumerated here.
  PlanSpace choices(request, problem.constraints, devices);
  /// Whether the layout is possible, and fits.
  auto visit = [&](const ParallelLayout &layout) {
    if (brokenConstraint(problem.constraints, layout) || (request.refuse && !request.refuse(layout).empty()))
      return false;
    llvm::Expected<StepCost> cost =
        estimator.estimate(problem.model, problem.job, problem.cluster, layout, problem.stack);
    if (!cost) {
      llvm::consumeError(cost.takeError());
      return false;
    }
    ++layouts;
    bool fits = true;
    for (const StageCost &stage : cost->stages)
      fits &= stage.memory.total() <= problem.limit && fitsHost(problem.cluster, stage.memory);
    if (fits)
      best = std::min(best, cost->stepTime.value);
    return fits;
  };
  auto visitGrid = [&](ParallelLayout layout) {
    for (const ScheduleChoice &choice : choices.schedules(layout))
      for (const StateChoice &state : choices.states(layout)) {
        // Needless recomputation is not a choice, unless the schedule is fitted to its durations.
        bool needless = false, isFitted = problem.stack.fittedSchedules &&
                                          llvm::cantFail(findPipelineSchedule(choice.schedule))->fitsDurations();
        for (Recompute recompute : {Recompute::None, Recompute::Selective, Recompute::Full})
          for (int64_t count = -1; count <= (recompute == Recompute::Full ? problem.model.layers : -1); ++count) {
            if (count == 0)
              continue;
            layout.schedule = choice.schedule.str();
            layout.vp = choice.vp;
            layout.recompute = recompute;
            layout.recomputedLayers = count;
            state.setOf(layout);
            if (!needless)
              needless =
                  visit(layout) && recompute == Recompute::None && !offloadsActivations(state.offload) && !isFitted;
          }
      }
  };
  int64_t experts = problem.model.moe ? problem.model.moe.experts : 1;
  for (int64_t tp = 1; tp <= problem.model.heads; ++tp)
    for (int64_t cp = 1; cp <= devices / tp; ++cp)
      for (int64_t pp = 1; pp <= std::min(devices / tp / cp, problem.model.layers); ++pp)
        for (int64_t microBatch = 1; microBatch <= problem.job.globalBatch; ++microBatch)
          for (int64_t ep = 1; ep <= experts; ++ep)
            for (int64_t etp = 1; etp <= (problem.model.moe ? devices : 1); ++etp)
              for (bool sequenceParallel : {false, true})
                for (ContextKind context : {ContextKind::Ring, ContextKind::Ulysses, ContextKind::AllGather}) {
                  int64_t dp = devices / tp / cp / pp;
                  if (dp * tp * cp * pp != devices || (tp == 1 && sequenceParallel) ||
                      (cp == 1 && context != ContextKind::Ring) ||
                      (context == ContextKind::Ulysses && cp * tp > problem.model.heads) || problem.job.sequence % cp ||
                      (sequenceParallel && problem.job.sequence / cp % tp))
                    continue;
                  ParallelLayout layout;
                  layout.dp = dp;
                  layout.tp = tp;
                  layout.pp = pp;
                  layout.cp = cp;
                  layout.ep = ep;
                  layout.etp = etp;
                  layout.microBatch = microBatch;
                  layout.sequenceParallel = sequenceParallel;
                  layout.contextKind = context;
                  for (; layout.tpDepth <= (problem.stack.arena && !sequenceParallel ? tp : 1); ++layout.tpDepth)
                    if (llvm::Error error = verifyLayout(problem.model, problem.job, layout))
                      llvm::consumeError(std::move(error));
                    else if (layout.tpDepth == 1 || (layout.tpDepth < tp && problem.job.sequence / cp % tp))
                      visitGrid(layout);
                }
  return best;
}

TEST(PlanSearch, MatchesExhaustiveSearch) {
  int found = 0, infeasible = 0;
  int64_t layouts = 0;
  RandomProblems fresh(1), once(36001); // the second had a problem whose best layout was missed
  for (int i = 0; i < 22; ++i) {
    PlanningProblem problem = (i < 20 ? fresh : once).make();
    PlanRequest request = problem.request();
    request.topK = 1 + i % 3; // fewer prune more
    double best = exhaustiveBest(problem, request, layouts);
    llvm::Expected<PlanSearchResult> result = searchPlan(request);
    ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
    if (best == std::numeric_limits<double>::infinity()) {
      ++infeasible;
      EXPECT_TRUE(result->plans.empty() || !result->notes.empty()) << "problem " << i;
      continue;
    }
    ++found;
    ASSERT_FALSE(result->plans.empty()) << "problem " << i << ": exhaustive search takes " << best;
    EXPECT_NEAR(result->plans.front().cost.stepTime.value, best, 1e-12 * best)
        << "problem " << i << ": " << toString(result->plans.front().layout);
    EXPECT_TRUE(result->plans.front().cost.fits);
    EXPECT_LE(result->relaxedBound.value, best);
    EXPECT_NEAR(result->lowerBound.value, best, 1e-12 * best);
  }
  EXPECT_GE(found, 12);
  EXPECT_GE(infeasible, 1);
  EXPECT_GE(layouts, 10000);
}

/// The space that a software leaves, and problems whose weights are frozen in part: every bound must hold there, too.
TEST(PlanSearch, MatchesExhaustiveSearchOfSoftwareAndFineTuning) {
  int found = 0;
  int64_t layouts = 0;
  RandomProblems random(17);
  for (int i = 0; i < 10; ++i) {
    PlanningProblem problem = random.make();
    PlanRequest request = problem.request();
    const TrainingSoftware &software = trainingSoftware()[(i / 2) % 5];
    if (i % 2 == 0) {
      limitToSoftware(software, problem.constraints);
      limitToSoftware(software, request.constraints);
      request.refuse = [&](const ParallelLayout &layout) { return lackingPart(software, problem.model, layout); };
    } else {
      FineTuning tuning;
      tuning.adapterRank = i % 4 == 1 ? 16 : 0;
      tuning.baseBits = i % 8 == 1 ? 4 : 16;
      tuning.objective = i % 4 == 3 ? Objective::Dpo : Objective::NextToken;
      problem.stack.arena = false;
      applyTuning(tuning, problem.job, problem.model, problem.stack, problem.constraints);
    }
    double best = exhaustiveBest(problem, request, layouts);
    PlanSearchResult result = llvm::cantFail(searchPlan(request));
    if (best == std::numeric_limits<double>::infinity()) {
      EXPECT_TRUE(result.plans.empty() || !result.notes.empty()) << "problem " << i;
      continue;
    }
    ++found;
    ASSERT_FALSE(result.plans.empty()) << "problem " << i << ": exhaustive search takes " << best;
    const Plan &plan = result.plans.front();
    EXPECT_NEAR(plan.cost.stepTime.value, best, 1e-12 * best) << "problem " << i << ": " << toString(plan.layout);
    if (i % 2 == 0)
      EXPECT_EQ(lackingPart(software, problem.model, plan.layout), "") << software.name.str();
    if (llvm::Error error = verifyPlan(request, plan))
      ADD_FAILURE() << "problem " << i << ": " << llvm::toString(std::move(error));
  }
  EXPECT_GE(found, 5);
}

/// Layouts that programs of a target run, as they run them: state is estimated tensor by tensor, with its shard groups.
TEST(PlanSearch, MatchesExhaustiveSearchOfPrograms) {
  int found = 0, cut = 0;
  int64_t layouts = 0;
  RandomProblems random(19);
  for (int i = 0; i < 16; ++i) {
    PlanningProblem problem = random.make();
    const TargetCapabilities &target = i % 2 ? cudaCapabilities() : hostCapabilities();
    problem.stack = llvm::cantFail(findStack(target.stack));
    limitToTarget(target, problem.constraints);
    if (problem.constraints.isPinned(PlanKey::Offload) && i % 4 < 2)
      problem.constraints.pin(PlanKey::Offload, int64_t(Offload::All));
    PlanRequest request = problem.request();
    request.refuse = [&](const ParallelLayout &layout) { return lackedBy(target, problem.model, layout); };
    double best = exhaustiveBest(problem, request, layouts);
    PlanSearchResult result = llvm::cantFail(searchPlan(request));
    if (best == std::numeric_limits<double>::infinity()) {
      EXPECT_TRUE(result.plans.empty() || !result.notes.empty()) << "problem " << i;
      continue;
    }
    ++found;
    ASSERT_FALSE(result.plans.empty()) << "problem " << i << ": exhaustive search takes " << best;
    const Plan &plan = result.plans.front();
    cut += plan.layout.zero > 0;
    EXPECT_NEAR(plan.cost.stepTime.value, best, 1e-12 * best) << "problem " << i << ": " << toString(plan.layout);
    EXPECT_NEAR(result.lowerBound.value, best, 1e-12 * best) << "problem " << i << ": " << toString(plan.layout);
  }
  EXPECT_GE(found, 8);
  EXPECT_GE(cut, 3);
}

/// Small nodes on slow networks, so that gradients and parameters may lie over the ranks of a node, or over one.
TEST(PlanSearch, MatchesExhaustiveSearchOfShardGroups) {
  int64_t grouped = 0, layouts = 0;
  RandomProblems random(29);
  for (int i = 0; i < 16; ++i) {
    PlanningProblem problem = random.make();
    problem.cluster = llvm::cantFail(findCluster("dgx-a100:2"));
    DeviceGroup &devices = problem.cluster.groups.front();
    devices.levels[0].size = random.pick({2, 4});
    devices.levels[1].size = 8 / devices.levels[0].size;
    devices.levels[1].bandwidth = devices.levels[1].bandwidth / double(random.pick({1, 4, 16}));
    devices.count = 8;
    problem.job.globalBatch = random.pick({8, 16});
    problem.constraints.relax(PlanKey::Zero);
    if (i % 2)
      problem.constraints.pin(PlanKey::Zero, random.pick({2, 3}));
    const TargetCapabilities *target = i % 4 == 3 ? &cudaCapabilities() : nullptr;
    problem.stack = llvm::cantFail(findStack(target ? llvm::StringRef(target->stack) : "ppc"));
    if (target)
      limitToTarget(*target, problem.constraints);
    PlanRequest request = problem.request();
    if (target)
      request.refuse = [&](const ParallelLayout &layout) { return lackedBy(*target, problem.model, layout); };
    double best = exhaustiveBest(problem, request, layouts);
    PlanSearchResult result = llvm::cantFail(searchPlan(request));
    if (best == std::numeric_limits<double>::infinity())
      continue;
    ASSERT_FALSE(result.plans.empty()) << "problem " << i;
    const Plan &plan = result.plans.front();
    grouped += plan.layout.gradientGroup > 0 || plan.layout.parameterGroup > 0;
    EXPECT_NEAR(plan.cost.stepTime.value, best, 1e-12 * best) << "problem " << i << ": " << toString(plan.layout);
  }
  EXPECT_GE(grouped, 2);
}

TEST(PlanSearch, AToleranceFindsTheLeastMemoryOfTheFrontier) {
  RandomProblems random(31);
  int found = 0, cheaper = 0;
  for (int i = 0; i < 20; ++i) {
    PlanningProblem problem = random.make();
    PlanRequest request = problem.request();
    request.frontier = true;
    PlanSearchResult frontier = llvm::cantFail(searchPlan(request));
    if (frontier.plans.empty())
      continue;
    request.timeTolerance = 0.05;
    PlanSearchResult result = llvm::cantFail(searchPlan(request));
    ASSERT_FALSE(result.plans.empty()) << "problem " << i;
    ++found;
    const StepCost &fastest = frontier.frontier.front().cost, &chosen = result.plans.front().cost;
    EXPECT_LE(chosen.stepTime.value, fastest.stepTime.value * 1.05 * (1 + 1e-12)) << "problem " << i;
    // The steps of the frontier have a minimal distance, so it may lack the smallest plan. Nothing is recomputed for
    // it.
    for (const PlanSearchResult *other : {&frontier, &result})
      for (const std::vector<Plan> *list : {&other->frontier, &other->plans})
        for (const Plan &plan : *list)
          if (plan.cost.stepTime.value <= fastest.stepTime.value * 1.05 && plan.layout.recompute == Recompute::None)
            EXPECT_LE(chosen.peakMemory.value, plan.cost.peakMemory.value)
                << "problem " << i << ": " << toString(plan.layout);
    EXPECT_EQ(frontier.frontier.size(), result.frontier.size()) << "problem " << i;
    cheaper += chosen.peakMemory < fastest.peakMemory;
  }
  EXPECT_GE(found, 12);
  EXPECT_GE(cheaper, 3);
}

TEST(PlanSearch, EstimatedLayoutsCanBeEstimatedAgain) {
  RandomProblems random(3);
  int several = 0;
  for (const PipelineScheduleKind &kind : pipelineScheduleKinds()) {
    PlanningProblem problem = random.make();
    problem.model.layers = 16;
    problem.job = {512, 8};
    problem.cluster = llvm::cantFail(restrictCluster(llvm::cantFail(findCluster("dgx-h100:1")), 4));
    ParallelLayout layout;
    layout.pp = 4;
    layout.schedule = kind.name.str(); // one chunk per device is fewer than some have
    PlanRequest request = problem.request();
    Plan plan = llvm::cantFail(pricePlan(request, layout));
    EXPECT_FALSE(bool(verifyLayout(problem.model, problem.job, plan.layout))) << kind.name.str();
    EXPECT_EQ(int64_t(plan.layout.stageLayers.size()), plan.layout.pp * plan.layout.vp) << kind.name.str();
    Plan again = llvm::cantFail(pricePlan(request, plan.layout));
    EXPECT_EQ(again.cost.stepTime.value, plan.cost.stepTime.value) << kind.name.str();
    several += plan.layout.vp > 1;
  }
  EXPECT_GE(several, 5);
}

TEST(PlanSearch, AlternativesAreTheBestWithoutTheChosenValue) {
  RandomProblems fresh(5), once(21005), twice(63005); // the others had problems whose best alternative was missed
  int compared = 0;
  for (int i = 0; i < 18; ++i) {
    PlanningProblem problem = (i < 12 ? fresh : i < 17 ? once : twice).make();
    PlanRequest request = problem.request();
    request.alternatives = true;
    PlanSearchResult result = llvm::cantFail(searchPlan(request));
    for (const PlanAlternative &alternative : result.alternatives) {
      if (alternative.reason == "pinned" || alternative.key == PlanKey::Schedule ||
          alternative.key == PlanKey::Context || alternative.key == PlanKey::Vp ||
          alternative.key == PlanKey::SequenceParallel || alternative.key == PlanKey::ShardGroup)
        continue; // these also ask for a layout where the key means something
      PlanRequest other = problem.request();
      ASSERT_FALSE(bool(other.constraints.forbid(toString(alternative.key), alternative.chosen)));
      PlanSearchResult expected = llvm::cantFail(searchPlan(other));
      if (!expected.notes.empty())
        continue; // fewer devices
      ASSERT_EQ(expected.plans.empty(), !alternative.plan) << toString(alternative.key).str() << " of problem " << i;
      if (alternative.plan) {
        ++compared;
        EXPECT_EQ(toString(expected.plans.front().layout), toString(alternative.plan->layout))
            << toString(alternative.key).str() << " of problem " << i << ": "
            << expected.plans.front().cost.stepTime.value << " s and " << alternative.plan->cost.stepTime.value << " s";
      }
    }
  }
  EXPECT_GE(compared, 30);
}

TEST(PlanSearch, ReplaysNoMoreThanItMust) {
  RandomProblems random(23);
  PipelineTimer timer;
  StepEstimator estimator;
  int bounded = 0, left = 0, stopped = 0;
  double tightest = 0;
  for (int i = 0; i < 40; ++i) {
    PlanningProblem problem = random.make();
    PlanRequest request = problem.request();
    request.simulate = true;
    request.topK = 5;
    PlanSearchResult all = llvm::cantFail(searchPlan(request));
    if (all.plans.empty())
      continue;
    request.topK = 1;
    PlanSearchResult first = llvm::cantFail(searchPlan(request));
    ASSERT_EQ(first.plans.size(), 1u);
    EXPECT_EQ(toString(first.plans.front().layout), toString(all.plans.front().layout)) << "problem " << i;
    double fastest = all.plans.front().simulated->stepTime.value;
    EXPECT_EQ(first.plans.front().simulated->stepTime.value, fastest);
    for (const Plan &plan : all.plans) {
      StepDetail detail;
      StepCost cost = llvm::cantFail(
          estimator.estimate(problem.model, problem.job, problem.cluster, plan.layout, problem.stack, &detail));
      double bound = llvm::cantFail(boundSimulatedStep(problem.model, problem.job, problem.cluster, plan.layout,
                                                       problem.stack, detail, cost, timer))
                         .value;
      bounded += bound > 0;
      left += bound > fastest;
      tightest = std::max(tightest, bound / plan.simulated->stepTime.value);
      StepSimulationOptions options;
      for (double part : {0.9, 0.999, 1.0, 1.001}) {
        options.latest = part * plan.simulated->stepTime;
        SimulatedStep step = llvm::cantFail(simulateStep(problem.model, problem.job, problem.cluster, plan.layout,
                                                         problem.stack, detail, cost, options));
        stopped += step.stopped;
        EXPECT_TRUE(!step.stopped || part < 1) << "problem " << i << ": " << toString(plan.layout);
        EXPECT_TRUE(step.stopped || step.stepTime == plan.simulated->stepTime);
      }
      EXPECT_LE(bound, plan.simulated->stepTime.value) << "problem " << i << ": " << toString(plan.layout);
    }
  }
  EXPECT_GE(bounded, 40);
  EXPECT_GE(left, 10);
  EXPECT_GE(tightest, 0.99);
  EXPECT_GE(stopped, 40);
}

TEST(PlanSearch, NamesTheBindingLimitAndTheNearestPlan) {
  ModelShape model = llamaShape(32);
  Cluster cluster = llvm::cantFail(findCluster("dgx-h100:1"));
  Stack stack = llvm::cantFail(findStack("ppc"));
  PlanRequest request{model, {8192, 64}, cluster, stack};
  auto reasonOf = [&](std::initializer_list<std::pair<const char *, const char *>> pins) {
    request.constraints = PlanConstraints();
    for (auto [key, value] : pins)
      llvm::cantFail(request.constraints.pin(key, value));
    PlanSearchResult result = llvm::cantFail(searchPlan(request));
    EXPECT_TRUE(result.plans.empty());
    EXPECT_TRUE(result.infeasibility.has_value());
    return result.infeasibility ? *result.infeasibility : Infeasibility();
  };
  // 8.03e9 parameters at 18 bytes each are 144 GB, on 80 GB.
  Infeasibility memory = reasonOf({{"dp", "8"}, {"zero", "0"}, {"offload", "none"}});
  EXPECT_EQ(memory.limit, Infeasibility::Limit::Memory);
  EXPECT_GT(memory.needed.value, 144e9);
  ASSERT_TRUE(memory.closest.has_value());
  EXPECT_EQ(memory.closest->layout.dp, 8);
  ASSERT_FALSE(memory.relaxations.empty());
  for (const PlanRelaxation &relaxation : memory.relaxations)
    EXPECT_TRUE(relaxation.plan.cost.fits && relaxation.from != relaxation.to) << toString(relaxation.key).str();
  Infeasibility heads = reasonOf({{"tp", "64"}});
  EXPECT_EQ(heads.limit, Infeasibility::Limit::Shape);
  EXPECT_EQ(heads.reason, "tp 64 is more than the 32 heads");
  Infeasibility chunks = reasonOf({{"pp", "4"}, {"schedule", "zbv"}, {"vp", "3"}});
  EXPECT_EQ(chunks.reason.substr(0, 29), "no schedule is left, as for d");
  EXPECT_NE(chunks.reason.find("vp 3"), std::string::npos);
  EXPECT_NE(chunks.reason.find("pipeline schedule \"zbv\""), std::string::npos);
  ASSERT_FALSE(chunks.relaxations.empty());
  request.refuse = [](const ParallelLayout &) { return std::string("everything"); };
  Infeasibility refused = reasonOf({});
  EXPECT_EQ(refused.limit, Infeasibility::Limit::Capability);
  EXPECT_EQ(refused.reason.find("no layout can be run on cluster " + request.cluster.name), 0u);
  EXPECT_NE(refused.reason.find(", which lacks everything: "), std::string::npos);
}

TEST(PlanSearch, TradesTimeForMemoryAlongTheFrontier) {
  RandomProblems random(3);
  for (int i = 0; i < 6; ++i) {
    PlanningProblem problem = random.make();
    problem.constraints = PlanConstraints();
    problem.limit = Bytes(60e9);
    PlanRequest request = problem.request();
    request.frontier = true;
    PlanSearchResult result = llvm::cantFail(searchPlan(request));
    ASSERT_FALSE(result.frontier.empty());
    EXPECT_EQ(result.frontier.front().cost.stepTime.value, result.plans.front().cost.stepTime.value);
    for (size_t j = 1; j < result.frontier.size(); ++j) {
      EXPECT_LT(result.frontier[j].cost.peakMemory.value, result.frontier[j - 1].cost.peakMemory.value);
      EXPECT_GE(result.frontier[j].cost.stepTime.value, result.frontier[j - 1].cost.stepTime.value);
    }
  }
}

TEST(PlanSearch, ShardsStateOnlyOverReplicas) {
  RandomProblems random(19);
  int alternatives = 0;
  for (int i = 0; i < 40; ++i) {
    PlanningProblem problem = random.make();
    problem.constraints = PlanConstraints();
    problem.limit = Bytes(1e12);
    problem.job.globalBatch = random.pick({1, 2, 4}); // little for data-parallel ranks
    PlanRequest request = problem.request();
    request.alternatives = true;
    PlanSearchResult result = llvm::cantFail(searchPlan(request));
    std::vector<ParallelLayout> layouts;
    for (const Plan &plan : result.plans)
      layouts.push_back(plan.layout);
    for (const PlanAlternative &alternative : result.alternatives)
      if (alternative.plan) {
        layouts.push_back(alternative.plan->layout);
        ++alternatives;
      }
    for (const ParallelLayout &layout : layouts)
      EXPECT_TRUE(layout.zero == 0 || layout.dataRanks() > 1 || problem.model.moe)
          << "problem " << i << ": " << toString(layout);
  }
  EXPECT_GT(alternatives, 100);
}

TEST(PlanSearch, UsesFewerDevicesWhereThatIsFaster) {
  RandomProblems random(17);
  int fewer = 0;
  for (int i = 0; i < 40; ++i) {
    PlanningProblem problem = random.make();
    problem.constraints = PlanConstraints();
    problem.limit = Bytes(1e12);
    problem.cluster = llvm::cantFail(
        restrictCluster(llvm::cantFail(findCluster("dgx-h100:2")), random.pick({7, 9, 11, 13, 14, 15, 16})));
    PlanRequest request = problem.request();
    PlanSearchResult all = llvm::cantFail(searchPlan(request));
    request.fewerDevices = true;
    PlanSearchResult best = llvm::cantFail(searchPlan(request));
    ASSERT_FALSE(all.plans.empty());
    ASSERT_FALSE(best.plans.empty());
    const Plan &chosen = best.plans.front();
    double before = all.plans.front().cost.stepTime.value;
    EXPECT_LE(chosen.cost.stepTime.value, before) << "problem " << i;
    if (chosen.layout.devices() == all.plans.front().layout.devices()) {
      EXPECT_EQ(toString(chosen.layout), toString(all.plans.front().layout)) << "problem " << i;
      continue;
    }
    ++fewer;
    EXPECT_LT(chosen.cost.stepTime.value, before) << "problem " << i;
    ASSERT_EQ(best.notes.size(), 1u);
    EXPECT_EQ(best.notes.front().rfind("uses " + std::to_string(chosen.layout.devices()) + " of ", 0), 0u)
        << best.notes.front();
    // The search over that many devices finds the same plan.
    request.constraints.pin(PlanKey::Devices, chosen.layout.devices());
    EXPECT_EQ(toString(llvm::cantFail(searchPlan(request)).plans.front().layout), toString(chosen.layout))
        << "problem " << i;
  }
  EXPECT_GT(fewer, 4);
}

TEST(PlanSearch, ProgressOnlyGoesForward) {
  ModelShape model = llamaShape(32);
  Cluster cluster = llvm::cantFail(findCluster("dgx-h100:8"));
  Stack stack = llvm::cantFail(findStack("ppc"));
  PlanRequest request{model, {8192, 128}, cluster, stack};
  request.frontier = request.fewerDevices = true;
  std::vector<SearchProgress> reports;
  std::vector<std::string> stages;
  request.progress = [&](const SearchProgress &progress) {
    reports.push_back(progress);
    stages.push_back(progress.stage.str());
  };
  PlanSearchResult result = llvm::cantFail(searchPlan(request));
  ASSERT_FALSE(result.plans.empty());
  ASSERT_GT(reports.size(), 2u);
  EXPECT_NE(stages.back(), "plans"); // several searches were reported
  for (size_t i = 1; i < reports.size(); ++i) {
    EXPECT_GE(reports[i].allDone, reports[i - 1].allDone) << stages[i] << " after " << stages[i - 1];
    if (reports[i - 1].best.value > 0)
      EXPECT_LE(reports[i].best.value, reports[i - 1].best.value) << stages[i] << " after " << stages[i - 1];
  }
}

TEST(PlanSearch, IsTheSameForAnyNumberOfThreads) {
  RandomProblems random(7);
  for (int i = 0; i < 5; ++i) {
    PlanningProblem problem = random.make();
    PlanRequest one = problem.request(), four = problem.request();
    one.threads = 1;
    four.threads = 4;
    one.alternatives = four.alternatives = true;
    PlanSearchResult a = llvm::cantFail(searchPlan(one)), b = llvm::cantFail(searchPlan(four));
    ASSERT_EQ(a.plans.size(), b.plans.size());
    for (size_t j = 0; j < a.plans.size(); ++j) {
      EXPECT_EQ(toString(a.plans[j].layout), toString(b.plans[j].layout));
      EXPECT_EQ(a.plans[j].cost.stepTime.value, b.plans[j].cost.stepTime.value);
    }
    for (size_t j = 0; j < a.table.size(); ++j)
      EXPECT_EQ(a.table[j].count, b.table[j].count) << a.table[j].name;
    ASSERT_EQ(a.alternatives.size(), b.alternatives.size());
    for (size_t j = 0; j < a.alternatives.size(); ++j)
      EXPECT_EQ(a.alternatives[j].other, b.alternatives[j].other);
  }
}

// The bounds on degree combinations assume whole sequences; schedules that slice sequences must never be cheaper per
// micro-batch.
TEST(PlanSearch, SlicesOfSequencesSaveNoTime) {
  RandomProblems random(11);
  for (int i = 0; i < 60; ++i) {
    PlanningProblem problem = random.make();
    ParallelLayout layout;
    layout.tp = random.pick({1, 2, 4});
    layout.cp = random.pick({1, 2});
    layout.sequenceParallel = layout.tp > 1 && random.pick({0, 1});
    layout.contextKind = ContextKind(random.pick({0, 1, 2}));
    layout.microBatch = random.pick({1, 2, 4});
    auto time = [&](int64_t slices, int kind) {
      PricingContext context(problem.model, problem.job, problem.cluster, layout, problem.stack, slices);
      LayerPrice price = priceLayers(context, buildPrograms(context))(LayerKind(kind), false);
      return (price.forward + price.backward + price.weightGradient).value;
    };
    for (int kind = 0; kind < layerKinds; ++kind)
      EXPECT_GE(time(4, kind), time(1, kind) * (1 - 1e-9)) << layerKindName(kind).str() << " of problem " << i;
  }
}

TEST(PlanConstraints, ReadsKeysAndValues) {
  PlanConstraints constraints;
  EXPECT_FALSE(bool(constraints.pin("micro-batch", "2")));
  EXPECT_FALSE(bool(constraints.pin("schedule", "1F1B")));
  EXPECT_FALSE(bool(constraints.pin("sp", "on")));
  EXPECT_FALSE(bool(constraints.forbid("recompute")));
  EXPECT_FALSE(bool(constraints.forbid("tp", "8")));
  EXPECT_TRUE(constraints.allows(PlanKey::MicroBatch, 2));
  EXPECT_FALSE(constraints.allows(PlanKey::MicroBatch, 4));
  EXPECT_FALSE(constraints.allows(PlanKey::Recompute, int64_t(Recompute::Full)));
  EXPECT_TRUE(constraints.allows(PlanKey::Recompute, int64_t(Recompute::None)));
  EXPECT_FALSE(constraints.allows(PlanKey::Tp, 8));
  auto message = [](llvm::Error error) { return llvm::toString(std::move(error)); };
  EXPECT_EQ(message(constraints.pin("tq", "2")).substr(0, 33), "unknown key 'tq' of a plan; known");
  EXPECT_EQ(message(constraints.pin("zero", "4")), "'4' is not a value of zero; expected 0, 1, 2 or 3");
  EXPECT_EQ(message(constraints.pin("micro_batch", "4")), "micro_batch is pinned to both 2 and 4");
  EXPECT_EQ(message(constraints.pin("tp", "8")), "tp is pinned to 8, which is forbidden as well");
  EXPECT_EQ(message(constraints.forbid("schedule")),
            "cannot forbid schedule as a whole: every plan has one; forbid a value (schedule=...)");
  EXPECT_EQ(message(constraints.forbid("micro_batch", "2")), "micro_batch is pinned to 2, which is forbidden as well");
}

} // namespace
