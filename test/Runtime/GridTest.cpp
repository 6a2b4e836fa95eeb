// Ranks, groups and the learning-rate schedule.
#include "runtime/program/Grid.h"
#include "runtime/run/LearningRate.h"

#include <gtest/gtest.h>

using namespace ppcrt;

namespace {

const Grid grid({{"pp", 2}, {"dp", 2}, {"tp", 3}});

TEST(GridTest, RanksAreRowMajor) {
  EXPECT_EQ(grid.rankCount(), 12);
  EXPECT_EQ(grid.stageCount(), 2);
  EXPECT_EQ(grid.stageOf(7), 1);
  EXPECT_EQ(grid.rankAtStage(7, 0), 1);
  EXPECT_EQ(grid.describe(7), "rank 7 (pp=1 dp=0 tp=1)");
  EXPECT_EQ(Grid({{"tp", 2}}).stageCount(), 1);
}

TEST(GridTest, GroupsDifferInTheirAxesOnly) {
  EXPECT_EQ(groupMembers(grid, {{2}, {}}, 4), (std::vector<int>{3, 4, 5}));
  EXPECT_EQ(groupMembers(grid, {{1}, {}}, 4), (std::vector<int>{1, 4}));
  EXPECT_EQ(groupMembers(grid, {{0}, {}}, 4), (std::vector<int>{4, 10}));
}

TEST(GridTest, GroupOrderFollowsTheListedAxes) {
  EXPECT_EQ(groupMembers(grid, {{1, 2}, {}}, 0), (std::vector<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(groupMembers(grid, {{2, 1}, {}}, 0), (std::vector<int>{0, 3, 1, 4, 2, 5}));
}

TEST(GridTest, StagesRestrictAGroup) {
  Grid deep({{"pp", 4}, {"tp", 2}});
  EXPECT_EQ(groupMembers(deep, {{0}, {0, 3}}, 1), (std::vector<int>{1, 7}));
  EXPECT_TRUE(groupMembers(deep, {{0}, {0, 3}}, 2).empty());
}

TEST(LearningRateTest, WarmsUpThenFallsToTheMinimum) {
  LearningRate rate{1.0, 0.1, 4, 12};
  EXPECT_DOUBLE_EQ(rate.at(1), 0.25);
  EXPECT_DOUBLE_EQ(rate.at(4), 1.0);
  EXPECT_NEAR(rate.at(8), 0.55, 1e-12);
  EXPECT_NEAR(rate.at(12), 0.1, 1e-12);
  for (int step = 5; step <= 12; ++step)
    EXPECT_LT(rate.at(step), rate.at(step - 1));
}

TEST(LearningRateTest, DegenerateSchedules) {
  EXPECT_NEAR((LearningRate{1.0, 0.1, 0, 1}.at(1)), 0.1, 1e-12);
  EXPECT_DOUBLE_EQ((LearningRate{1.0, 0.1, 5, 5}.at(5)), 1.0);
  EXPECT_DOUBLE_EQ((LearningRate{1.0, 0.1, 10, 5}.at(5)), 0.5);
}

} // namespace
