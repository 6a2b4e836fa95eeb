// The final estimate of plans that the search and the final estimate see differently.
#include "lib/Planning/FinalEstimate.h"
#include "RandomProblems.h"
#include "gtest/gtest.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir::ppc;

namespace {

bool hasNote(const PlanSearchResult &result, llvm::StringRef text) {
  return llvm::any_of(result.notes, [&](const std::string &note) { return llvm::StringRef(note).contains(text); });
}

/// Searches with several plans and alternatives, replayed.
class FinalEstimate : public testing::Test {
protected:
  void forEachSearch(llvm::function_ref<void(const PlanRequest &, const PlanSearchResult &)> test) {
    RandomProblems random(35);
    int found = 0;
    for (int i = 0; i < 30 && found < 6; ++i) {
      PlanningProblem problem = random.make();
      PlanRequest request = problem.request();
      request.simulate = true;
      request.alternatives = true;
      request.topK = 4;
      PlanSearchResult result = llvm::cantFail(searchPlan(request));
      bool hasAlternative = llvm::any_of(result.alternatives, [](const auto &other) { return other.plan.has_value(); });
      if (result.plans.size() < 3 || !hasAlternative)
        continue;
      ++found;
      test(request, result);
    }
    EXPECT_GT(found, 3);
  }
  static void makeImpossible(Plan &plan) { plan.layout.dp *= 1024; }
};

TEST_F(FinalEstimate, AgreesWithTheSearch) {
  forEachSearch([](const PlanRequest &request, const PlanSearchResult &found) {
    PlanSearchResult result = found;
    llvm::cantFail(compareWithFinalEstimate(request, result));
    EXPECT_EQ(result.notes, found.notes);
    EXPECT_EQ(result.plans.size(), found.plans.size());
  });
}

TEST_F(FinalEstimate, NotesFiguresThatDiffer) {
  forEachSearch([](const PlanRequest &request, const PlanSearchResult &found) {
    PlanSearchResult result = found;
    result.plans[1].cost.stages.front().memory.workspace += Bytes(33e6);
    llvm::cantFail(compareWithFinalEstimate(request, result));
    EXPECT_TRUE(hasNote(result, "the final estimate differs from the search"));
    EXPECT_EQ(result.plans.size(), found.plans.size());
  });
}

TEST_F(FinalEstimate, LeavesOutImpossiblePlans) {
  forEachSearch([](const PlanRequest &request, const PlanSearchResult &found) {
    for (size_t number = 0; number < found.plans.size(); ++number) {
      PlanSearchResult result = found;
      result.ties = result.plans.size();
      result.simplest = result.plans.size() - 1;
      makeImpossible(result.plans[number]);
      llvm::cantFail(compareWithFinalEstimate(request, result));
      EXPECT_TRUE(hasNote(result, "is left out, please report it"));
      ASSERT_EQ(result.plans.size(), found.plans.size() - 1);
      EXPECT_EQ(result.ties, result.plans.size());
      EXPECT_LT(result.simplest, result.ties);
      for (auto [left, plan] : llvm::enumerate(result.plans))
        EXPECT_EQ(toString(plan.layout), toString(found.plans[left + (left >= number)].layout));
    }
  });
}

TEST_F(FinalEstimate, LeavesOutAlternatives) {
  forEachSearch([](const PlanRequest &request, const PlanSearchResult &found) {
    PlanSearchResult result = found;
    auto other = llvm::find_if(result.alternatives, [](const auto &each) { return each.plan.has_value(); });
    makeImpossible(*other->plan);
    llvm::cantFail(compareWithFinalEstimate(request, result));
    EXPECT_FALSE(other->plan.has_value());
    EXPECT_FALSE(other->reason.empty());
    EXPECT_EQ(result.plans.size(), found.plans.size());
  });
}

TEST_F(FinalEstimate, FailsWhereNothingIsLeft) {
  forEachSearch([](const PlanRequest &request, const PlanSearchResult &found) {
    PlanSearchResult result = found;
    llvm::for_each(result.plans, makeImpossible);
    llvm::Error error = compareWithFinalEstimate(request, result);
    EXPECT_TRUE(llvm::StringRef(llvm::toString(std::move(error))).starts_with("internal error"));
  });
}

} // namespace
