// The bound of memory, filling and draining against the estimates of layouts.
#include "lib/Planning/Grid/ResidenceBound.h"
#include "RandomProblems.h"
#include "lib/Planning/Grid/GridExpansion.h"
#include "lib/Planning/Grid/PlanSpace.h"
#include "gtest/gtest.h"

#include <iostream>

using namespace mlir::ppc;

namespace {

/// A pipeline of up to 16 devices and 60 layers, of any schedule and recomputation.
ParallelLayout makeLayout(RandomProblems &random, PlanningProblem &problem) {
  problem = random.make();
  problem.constraints = PlanConstraints();
  if (random.pick({0, 0, 1}))
    problem.model.moe = {};
  problem.model.layers = random.pick({7, 16, 33, 60});
  problem.model.vocab = random.pick({512, 8000, 64000});
  ParallelLayout layout;
  layout.pp = random.pick({1, 2, 4, 8, 16});
  layout.dp = random.pick({1, 2});
  layout.schedule = pipelineScheduleKinds()[random.pick({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}) %
                                            pipelineScheduleKinds().size()]
                        .name.str();
  layout.vp = random.pick({1, 2, 4});
  problem.job = {2048, layout.dp * layout.pp * random.pick({1, 2, 4})};
  problem.cluster = llvm::cantFail(findCluster("dgx-h100:4"));
  problem.cluster = llvm::cantFail(restrictCluster(problem.cluster, layout.pp * layout.dp));
  layout.zero = random.pick({0, 1, 3});
  layout.recompute = random.pick({0, 1})   ? Recompute::Full
                     : random.pick({0, 1}) ? Recompute::Selective
                                           : Recompute::None;
  if (layout.recompute == Recompute::Full)
    layout.recomputedLayers = random.pick({-1, 1, 2, 3});
  return layout;
}

TEST(ResidenceBound, HoldsForEveryEstimatedLayout) {
  RandomProblems random(11);
  std::map<std::string, std::pair<int, double>> tightness; // by schedule
  int checked = 0;
  for (int i = 0; i < 3000; ++i) {
    PlanningProblem problem;
    ParallelLayout layout = makeLayout(random, problem);
    PlanRequest request = problem.request();
    llvm::Expected<Plan> plan = pricePlan(request, layout);
    if (!plan) {
      llvm::consumeError(plan.takeError());
      continue;
    }
    // The limit is what the layout needs, so that memory binds.
    double most = 0;
    for (const StageCost &stage : plan->cost.stages)
      most = std::max(most, stage.memory.total().value);
    StepSchedule schedule = llvm::cantFail(resolveSchedule(problem.job, layout));
    ParallelLayout effective = layout;
    effective.vp = schedule.shape.chunks;
    PricingContext context(problem.model, problem.job, problem.cluster, effective, problem.stack,
                           schedule.shape.slices);
    LayerPrograms programs = buildPrograms(context);
    LayerPrices prices = priceLayers(context, programs);
    bool again = layout.recompute == Recompute::Full;
    std::array<ResidenceTerms, 2> terms{sumResidence(request, prices, false, again),
                                        sumResidence(request, prices, true, again)};
    PipelineMessages messages = priceMessages(context);
    ScheduleCache cache;
    PipelineFloor floor = floorOf({request, programs, messages, timeBesideMessages(context), prices, layout.recompute,
                                   problem.stack.stageSplit == StageSplit::Balanced},
                                  schedule, *cache.placement(*schedule.kind, schedule.shape));
    LeastState least = leastState(context, prices, countKinds(problem.model));
    ResidenceRoom room{double(schedule.shape.microBatches), double(schedule.shape.slices), double(layout.pp),
                       most - least.memory};
    double step = plan->cost.stepTime.value, bound = leastStep(terms, floor, room) + least.update;
    ++checked;
    EXPECT_LE(slack * bound, step) << "layout " << i << ": " << toString(layout) << ", " << layout.schedule << ", "
                                   << problem.model.layers << " layers, " << problem.job.globalBatch << " sequences";
    EXPECT_TRUE(mayTake(step / slack - least.update, terms, floor, room)) << "layout " << i;
    auto &[count, sum] = tightness[layout.pp > 1 ? layout.schedule : "one stage"];
    ++count;
    sum += bound / step;
  }
  EXPECT_GE(checked, 1000);
  for (auto &[schedule, each] : tightness)
    std::cout << schedule << ": bound / step " << each.second / each.first << " of " << each.first << "\n";
}

} // namespace
