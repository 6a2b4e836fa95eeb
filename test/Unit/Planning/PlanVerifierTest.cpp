// Plans that were found verify; plans that claim anything else do not.
#include "ppc/Planning/PlanVerifier.h"

#include "RandomProblems.h"
#include "gtest/gtest.h"

#include <functional>

using namespace mlir::ppc;

namespace {

std::string messageOf(llvm::Error error) { return error ? llvm::toString(std::move(error)) : ""; }

TEST(PlanVerifier, AcceptsPlansOfTheSearch) {
  RandomProblems random(21);
  int plans = 0;
  for (int i = 0; i < 40; ++i) {
    PlanningProblem problem = random.make();
    PlanRequest request = problem.request();
    PlanSearchResult result = llvm::cantFail(searchPlan(request));
    for (const Plan &plan : result.plans) {
      EXPECT_EQ(messageOf(verifyPlan(request, plan)), "") << "problem " << i << ": " << toString(plan.layout);
      ++plans;
    }
  }
  EXPECT_GE(plans, 50);
}

// Every kind of schedule, with uneven stages, not only those that win.
TEST(PlanVerifier, AgreesOnEverySchedule) {
  RandomProblems random(22);
  int plans = 0;
  for (const PipelineScheduleKind &kind : pipelineScheduleKinds())
    for (int i = 0; i < 6; ++i) {
      PlanningProblem problem = random.make();
      problem.constraints = PlanConstraints();
      problem.limit = Bytes(1e15);
      llvm::cantFail(problem.constraints.pin("schedule", kind.name));
      problem.constraints.forbid(PlanKey::Pp, 1);
      PlanRequest request = problem.request();
      PlanSearchResult result = llvm::cantFail(searchPlan(request));
      for (const Plan &plan : result.plans) {
        EXPECT_EQ(messageOf(verifyPlan(request, plan)), "") << kind.name.str() << ": " << toString(plan.layout);
        ++plans;
      }
    }
  EXPECT_GE(plans, 100);
}

// Values of one kind share slots in compiled programs, so recomputed values count kind by kind.
TEST(PlanVerifier, AgreesOnRecomputedLayersOfCompiledPrograms) {
  RandomProblems random(25);
  int plans = 0;
  for (int i = 0; i < 40; ++i) {
    PlanningProblem problem = random.make();
    problem.model.family = problem.model.moe ? "mixtral" : "llama";
    problem.model.layers = 16;
    problem.job.globalBatch = 16;
    problem.cluster = llvm::cantFail(findCluster("dgx-h100:1"));
    problem.stack = llvm::cantFail(findStack(i % 2 ? "ppc-cuda" : "ppc-host"));
    problem.constraints = PlanConstraints();
    PlanRequest request = problem.request();
    for (const char *schedule : {"1f1b", "interleaved", "zb1p", "zbv"}) {
      ParallelLayout layout;
      layout.pp = random.pick({2, 4});
      layout.dp = 8 / layout.pp;
      layout.schedule = schedule;
      layout.vp = schedule == llvm::StringRef("interleaved") || schedule == llvm::StringRef("zbv") ? 2 : 1;
      layout.zero = random.pick({0, 1});
      layout.recompute = Recompute::Full;
      layout.recomputedLayers = random.pick({-1, 1, 2});
      Plan plan = llvm::cantFail(pricePlan(request, layout));
      EXPECT_EQ(messageOf(verifyPlan(request, plan)), "") << "problem " << i << ": " << toString(plan.layout);
      ++plans;
    }
  }
  EXPECT_EQ(plans, 160);
}

TEST(PlanVerifier, RefusesWrongClaims) {
  std::pair<const char *, std::function<void(Plan &)>> mutations[] = {
      {"step", [](Plan &plan) { plan.cost.stepTime = plan.cost.stepTime * (1 - 1e-7); }},
      {"pipeline", [](Plan &plan) { plan.cost.pipeline = plan.cost.pipeline * 0.999; }},
      {"peak", [](Plan &plan) { plan.cost.peakMemory = plan.cost.peakMemory * (1 - 1e-7); }},
      {"stage", [](Plan &plan) { plan.cost.stages.back().memory.activations += Bytes(4096); }},
      {"fits", [](Plan &plan) { plan.cost.fits = !plan.cost.fits; }},
      {"utilization", [](Plan &plan) { plan.cost.mfu *= 1.001; }},
      {"stages", [](Plan &plan) { plan.cost.stages.pop_back(); }},
      // Claims of another layout than the one that is written down.
      {"micro-batch", [](Plan &plan) { plan.layout.microBatch *= 2; }},
      {"tp", [](Plan &plan) { plan.layout.tp += 1; }},
      {"dp", [](Plan &plan) { plan.layout.dp *= 2; }},
      {"recompute",
       [](Plan &plan) {
         plan.layout.recompute = plan.layout.recompute == Recompute::Full ? Recompute::None : Recompute::Full;
         plan.layout.recomputedLayers = -1;
       }},
      {"offload",
       [](Plan &plan) {
         plan.layout.offload = plan.layout.offload == Offload::Optimizer ? Offload::None : Offload::Optimizer;
       }},
  };
  RandomProblems random(23);
  int refused = 0;
  for (int i = 0; i < 25; ++i) {
    PlanningProblem problem = random.make();
    PlanRequest request = problem.request();
    PlanSearchResult result = llvm::cantFail(searchPlan(request));
    if (result.plans.empty())
      continue;
    for (auto &[name, mutate] : mutations) {
      Plan plan = result.plans.front();
      mutate(plan);
      EXPECT_NE(messageOf(verifyPlan(request, plan)), "")
          << name << " of problem " << i << ": " << toString(plan.layout);
      ++refused;
    }
  }
  EXPECT_GE(refused, 150);
}

TEST(PlanVerifier, RefusesBrokenPinsAndMovedLayers) {
  RandomProblems random(24);
  int moved = 0;
  for (int i = 0; i < 60; ++i) {
    PlanningProblem problem = random.make();
    problem.constraints = PlanConstraints();
    problem.constraints.forbid(PlanKey::Pp, 1);
    llvm::cantFail(
        problem.constraints.pin("schedule", "1f1b")); // one stage per device, so that moved layers move bytes
    problem.limit = Bytes(60e9);
    PlanRequest request = problem.request();
    PlanSearchResult result = llvm::cantFail(searchPlan(request));
    if (result.plans.empty())
      continue;
    Plan plan = result.plans.front();
    PlanRequest other = problem.request();
    other.constraints = PlanConstraints();
    other.constraints.pin(PlanKey::MicroBatch, plan.layout.microBatch + 1);
    EXPECT_EQ(messageOf(verifyPlan(other, plan)).substr(0, 24), "the plan has micro_batch");
    other.constraints = PlanConstraints();
    other.refuse = [](const ParallelLayout &) { return std::string("pipelines"); };
    EXPECT_EQ(messageOf(verifyPlan(other, plan)), "the plan cannot be run: pipelines");
    if (plan.layout.pp > 1 && plan.layout.stageLayers.back() > 1) {
      ++moved;
      --plan.layout.stageLayers.back();
      ++plan.layout.stageLayers.front();
      EXPECT_NE(messageOf(verifyPlan(request, plan)), "") << toString(plan.layout);
    }
  }
  EXPECT_GE(moved, 3);
}

} // namespace
