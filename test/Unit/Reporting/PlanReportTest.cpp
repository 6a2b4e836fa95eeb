// Reports of a plan agree with its cost: kinds of time add up, the drawn timeline lasts as long as the predicted step.
#include "ppc/Reporting/PlanReport.h"

#include "gtest/gtest.h"

#include <random>

using namespace mlir::ppc;

namespace {
struct RandomPlans {
  std::mt19937 random{5};
  std::vector<ModelShape> models;
  std::vector<Cluster> clusters;
  std::vector<Stack> stacks;

  RandomPlans() {
    for (const char *name : {"llama-3-8b", "mixtral-8x7b", "gpt3-175b", "mistral-7b", "deepseek-v3"})
      models.push_back(llvm::cantFail(readModelShape(std::string(PPC_TEST_INPUTS) + "/Models/" + name + ".json")));
    for (const char *name : {"dgx-a100:4", "dgx-h100:8"})
      clusters.push_back(llvm::cantFail(findCluster(name)));
    for (const std::string &name : stackNames())
      stacks.push_back(llvm::cantFail(findStack(name)));
  }
  int64_t upTo(int64_t last) { return std::uniform_int_distribution<int64_t>(0, last)(random); }
  template <typename T> const T &pick(const std::vector<T> &from) { return from[upTo(from.size() - 1)]; }

  ParallelLayout layout(const ModelShape &model) {
    ParallelLayout layout;
    for (int64_t *degree : {&layout.dp, &layout.tp, &layout.pp, &layout.cp, &layout.microBatch})
      *degree = int64_t(1) << upTo(2);
    llvm::ArrayRef<PipelineScheduleKind> kinds = pipelineScheduleKinds();
    layout.schedule = kinds[upTo(kinds.size() - 1)].name.str();
    layout.vp = 1 + upTo(2);
    layout.sequenceParallel = layout.tp > 1 && upTo(1);
    layout.zero = upTo(3);
    layout.recompute = Recompute(upTo(2));
    if (layout.recompute == Recompute::Full && upTo(1))
      layout.recomputedLayers = upTo(3);
    layout.contextKind = ContextKind(upTo(2));
    if (model.moe)
      layout.ep = std::min<int64_t>(4, layout.dp * layout.cp);
    return layout;
  }
};
} // namespace

TEST(PlanReport, TimesAddUpAndTimelinesLast) {
  RandomPlans plans;
  StepEstimator estimator;
  int priced = 0;
  for (int i = 0; i < 2000; ++i) {
    const ModelShape &model = plans.pick(plans.models);
    const Cluster &cluster = plans.pick(plans.clusters);
    const Stack &stack = plans.pick(plans.stacks);
    TrainingJob job{2048, 128};
    ParallelLayout layout = plans.layout(model);
    PlanRequest request{model, job, cluster, stack};
    PlanSearchResult search;
    llvm::Expected<StepCost> cost = estimator.estimate(model, job, cluster, layout, stack);
    if (!cost) {
      llvm::consumeError(cost.takeError()); // a schedule that cannot have this shape
      continue;
    }
    ++priced;
    search.plans.push_back({layout, *cost});
    PlanReport report = llvm::cantFail(makeReport(request, std::move(search), hostCapabilities()));
    const ReportedPlan &plan = report.plans[0];
    SCOPED_TRACE(model.name + ", " + stack.name + ": " + toString(layout));
    double step = plan.cost.stepTime.value;
    ASSERT_NEAR(plan.time.total().value, step, 1e-9 * step);
    for (int kind = 0; kind < timeKindCount; ++kind)
      ASSERT_GE(plan.time.parts[kind].value, -1e-9 * step) << toString(static_cast<TimeKind>(kind)).str();
    // Exposed communication is part of the step, on whichever stage it is most.
    double exposed = plan.cost.exposedCommunication.value;
    ASSERT_LE(exposed, step * (1 + 1e-9));
    ASSERT_GE(exposed,
              (plan.time[TimeKind::LayerCommunication] + plan.time[TimeKind::StateExchange]).value - 1e-9 * step);
    if (layout.pp == 1)
      ASSERT_NEAR(exposed,
                  (plan.time[TimeKind::LayerCommunication] + plan.time[TimeKind::StateExchange] +
                   plan.time[TimeKind::GradientReduction] + plan.cost.stages[0].exposedGather)
                      .value,
                  1e-9 * step);
    double compute = 0;
    for (const OpShare &share : opShares(report, plan)) {
      compute += share.kind == OpClass::Communication ? 0 : share.total.value;
      ASSERT_LE(share.computeShare, 1.0) << share.name.str();
      ASSERT_LE(share.bandwidthShare, 1.0 + 1e-9) << share.name.str();
    }
    ASSERT_NEAR(compute,
                (plan.time[TimeKind::Matmul] + plan.time[TimeKind::Attention] + plan.time[TimeKind::Memory]).value,
                1e-6 * step);
    ScheduleTimeline timeline = llvm::cantFail(stepTimeline(plan));
    ASSERT_NEAR(timeline.stepTime.value, plan.cost.pipeline.value, 1e-6 * step);
    int64_t layers = 0;
    for (int64_t count : plan.layout.stageLayers)
      layers += count;
    if (layout.pp > 1)
      ASSERT_EQ(layers, model.layers);
  }
  EXPECT_GT(priced, 100);
}
