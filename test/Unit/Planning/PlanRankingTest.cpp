// The order of plans, on random small problems.
#include "lib/Planning/PlanRanking.h"
#include "RandomProblems.h"
#include "gtest/gtest.h"

using namespace mlir::ppc;

namespace {

// The best are replayed and ranked by that, with the best of other decisions; the first depends neither on how many are
// listed nor on whether other decisions are.
TEST(PlanSearch, RanksTheBestByTheirReplay) {
  RandomProblems random(77);
  int reordered = 0, found = 0;
  for (int i = 0; i < 80; ++i) {
    PlanningProblem problem = random.make();
    PlanRequest formulas = problem.request(), replayed = problem.request();
    formulas.alternatives = false;
    formulas.topK = int64_t(replayedPlans);
    replayed.simulate = true;
    replayed.topK = 5;
    PlanSearchResult a = llvm::cantFail(searchPlan(formulas)), b = llvm::cantFail(searchPlan(replayed));
    if (a.plans.empty())
      continue;
    ++found;
    EXPECT_EQ(a.lowerBound.value, b.lowerBound.value);
    EXPECT_EQ(a.gap, b.gap);
    const double first = b.plans.front().simulated->stepTime.value;
    double last = 0;
    for (const Plan &plan : b.plans) {
      ASSERT_TRUE(plan.simulated);
      EXPECT_GE(plan.simulated->stepTime.value, last);
      last = plan.simulated->stepTime.value;
    }
    EXPECT_LT(b.simplest, b.ties);
    for (const PlanAlternative &alternative : b.alternatives)
      if (alternative.plan && alternative.plan->simulated) {
        EXPECT_GE(alternative.plan->simulated->stepTime.value, first) << toString(alternative.key).str();
      }
    reordered += toString(a.plans.front().layout) != toString(b.plans.front().layout);
    for (int64_t listed : {1, 2, 20}) {
      replayed.topK = listed;
      replayed.alternatives = listed == 2;
      PlanSearchResult c = llvm::cantFail(searchPlan(replayed));
      EXPECT_EQ(toString(b.plans.front().layout), toString(c.plans.front().layout)) << listed << " listed";
      EXPECT_EQ(b.plans.front().layout.stageLayers, c.plans.front().layout.stageLayers);
    }
  }
  EXPECT_GT(found, 40);
  EXPECT_GT(reordered, 0);
}

} // namespace
