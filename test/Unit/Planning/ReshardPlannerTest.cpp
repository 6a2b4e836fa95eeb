// Reshard plans: executed on real numbers, compared with every sequence of up to three steps, and the cases that other
// partitioners get wrong.
#include "../Support/TestSeed.h"
#include "ReshardSimulation.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

using namespace mlir::ppc;
using Kind = ReshardKind;

static const std::vector<LayoutAxis> grid2x2 = {{"a", 2}, {"b", 2}};

static Layout layoutOf(std::vector<std::vector<int>> dims, std::vector<int> partial = {},
                       Combiner combiner = Combiner::Sum) {
  return {std::move(dims), std::move(partial), combiner};
}

static std::string textOfReshard(const std::vector<LayoutAxis> &grid, std::vector<int64_t> shape, Layout from,
                                 Layout to, ReshardCosts costs = {}) {
  llvm::Expected<ReshardPlan> plan = planReshard(grid, shape, 4, from, to, costs);
  if (!plan)
    return llvm::toString(plan.takeError());
  std::string text;
  for (const ReshardStep &step : plan->steps)
    text += toString(step, grid) + "\n";
  return text;
}

//===---- Expected plans ----===//

TEST(ReshardPlanner, SingleSteps) {
  EXPECT_EQ(textOfReshard(grid2x2, {8, 8}, layoutOf({{0}, {1}}), layoutOf({{0}, {1}})), "");
  EXPECT_EQ(textOfReshard(grid2x2, {8, 8}, layoutOf({{}, {}}), layoutOf({{0}, {}})), "slice {a} dim 0 -> [{a}, {}]\n");
  EXPECT_EQ(textOfReshard(grid2x2, {8, 8}, layoutOf({{0, 1}, {}}), layoutOf({{}, {}})),
            "all_gather {a, b} dim 0 -> [{}, {}]\n");
  EXPECT_EQ(textOfReshard(grid2x2, {8, 8}, layoutOf({{}, {}}, {1}), layoutOf({{}, {}})),
            "all_reduce {b} sum -> [{}, {}]\n");
  EXPECT_EQ(textOfReshard(grid2x2, {8, 8}, layoutOf({{0}, {}}, {1}), layoutOf({{0}, {1}})),
            "reduce_scatter {b} dim 1 sum -> [{a}, {b}]\n");
  EXPECT_EQ(textOfReshard(grid2x2, {8, 8}, layoutOf({{0}, {}}), layoutOf({{}, {0}})),
            "all_to_all {a} dim 1 from 0 -> [{}, {a}]\n");
  EXPECT_EQ(textOfReshard(grid2x2, {8}, layoutOf({{}}, {0}, Combiner::LogSumExp), layoutOf({{}})),
            "all_reduce {a} log_sum_exp -> [{}]\n");
}

TEST(ReshardPlanner, BothAxesAtOnce) {
  // One reduction over both, one partial sum kept.
  EXPECT_EQ(textOfReshard(grid2x2, {8, 8}, layoutOf({{}, {}}, {0, 1}), layoutOf({{}, {}})),
            "all_reduce {a, b} sum -> [{}, {}]\n");
  EXPECT_EQ(textOfReshard(grid2x2, {8, 8}, layoutOf({{}, {}}, {0, 1}), layoutOf({{0}, {}}, {1})),
            "reduce_scatter {a} dim 0 sum -> [{a}, {}] partial {b} sum\n");
}

/// MLIR's shard dialect turns the first of these into wrong data and crashes on the second.
TEST(ReshardPlanner, SeveralSteps) {
  EXPECT_EQ(textOfReshard(grid2x2, {8, 8}, layoutOf({{0}, {1}}), layoutOf({{1}, {0}})),
            "all_gather {b} dim 1 -> [{a}, {}]\n"
            "all_to_all {a} dim 1 from 0 -> [{}, {a}]\n"
            "slice {b} dim 0 -> [{b}, {a}]\n");
  // Large enough for bytes to count more than steps: three exchanges of local size.
  EXPECT_EQ(textOfReshard(grid2x2, {1024, 1024}, layoutOf({{0}, {1}}), layoutOf({{1}, {0}})),
            "all_to_all {b} dim 0 from 1 -> [{a, b}, {}]\n"
            "all_to_all {a, b} dim 1 from 0 -> [{}, {a, b}]\n"
            "all_to_all {b} dim 0 from 1 -> [{b}, {a}]\n");
  EXPECT_EQ(textOfReshard(grid2x2, {8}, layoutOf({{0, 1}}), layoutOf({{1, 0}})), "all_gather {a, b} dim 0 -> [{}]\n"
                                                                                 "slice {b, a} dim 0 -> [{b, a}]\n");
  EXPECT_EQ(textOfReshard(grid2x2, {8}, layoutOf({{0, 1}}), layoutOf({{1}})), "all_gather {a, b} dim 0 -> [{}]\n"
                                                                              "slice {b} dim 0 -> [{b}]\n");
}

TEST(ReshardPlanner, UnevenDimensionsGoOverAllAxesAtOnce) {
  // 7 in 4 blocks of 2 is not 7 in 2 blocks of 4 split in two: gathered fully, then sharded again.
  EXPECT_EQ(textOfReshard(grid2x2, {7}, layoutOf({{0, 1}}), layoutOf({{0}})), "all_gather {a, b} dim 0 -> [{}]\n"
                                                                              "slice {a} dim 0 -> [{a}]\n");
  EXPECT_EQ(textOfReshard(grid2x2, {8}, layoutOf({{0, 1}}), layoutOf({{0}})), "all_gather {b} dim 0 -> [{a}]\n");
  EXPECT_EQ(textOfReshard(grid2x2, {7}, layoutOf({{}}, {0, 1}), layoutOf({{0, 1}})),
            "reduce_scatter {a, b} dim 0 sum -> [{a, b}]\n");
}

TEST(ReshardPlanner, AxesOfSizeOneChangeNothing) {
  std::vector<LayoutAxis> grid = {{"a", 1}, {"b", 2}};
  EXPECT_EQ(textOfReshard(grid, {8}, layoutOf({{0, 1}}), layoutOf({{1}})), "");
  EXPECT_EQ(textOfReshard(grid, {8}, layoutOf({{}}, {0}), layoutOf({{}})), "");
  EXPECT_EQ(textOfReshard(grid, {8}, layoutOf({{}}), layoutOf({{}}, {0})), "");
}

TEST(ReshardPlanner, CountsBytes) {
  ReshardPlan plan = llvm::cantFail(planReshard({{"a", 4}}, {8, 6}, 4, layoutOf({{}, {}}, {0}), layoutOf({{}, {0}})));
  ASSERT_EQ(plan.steps.size(), 1u); // 6 columns in 4 blocks of 2: 8 x 8 elements travel
  EXPECT_EQ(plan.bytes, 0.75 * 8 * 8 * 4);
  EXPECT_EQ(plan.cost, plan.bytes + ReshardCosts().bytesPerCollective);
}

TEST(ReshardPlanner, RefusesWithTheReason) {
  EXPECT_EQ(
      textOfReshard(grid2x2, {8}, layoutOf({{}}), layoutOf({{}}, {0})),
      "no reshard from [{}] to [{}] partial {a} sum: a value that is complete over axis \"a\" is never made partial "
      "again");
  EXPECT_EQ(textOfReshard(grid2x2, {8}, layoutOf({{}}, {0}), layoutOf({{}}, {0}, Combiner::Max)),
            "no reshard from [{}] partial {a} sum to [{}] partial {a} max: sum over axis \"a\" cannot become max");
  EXPECT_EQ(textOfReshard(grid2x2, {8}, layoutOf({{0}, {}}), layoutOf({{}})),
            "layout of 2 dimensions for a tensor of 1");
  EXPECT_EQ(textOfReshard(grid2x2, {8, 8}, layoutOf({{0}, {0}}), layoutOf({{}, {}})), "layout uses axis \"a\" twice");
  EXPECT_EQ(textOfReshard(grid2x2, {8}, layoutOf({{2}}), layoutOf({{}})), "layout uses axis 2 of a mesh with 2");
}

/// Four axes on the five dimensions of an attention value: the largest search that a plan of ours asks for.
TEST(ReshardPlanner, LargeSearchesEnd) {
  std::vector<LayoutAxis> grid = {{"dp", 8}, {"cp", 2}, {"tp", 8}, {"ep", 4}};
  ReshardPlan plan = llvm::cantFail(planReshard(grid, {64, 4096, 8, 8, 128}, 2, layoutOf({{0}, {1}, {2}, {}, {}}, {3}),
                                                layoutOf({{0, 3}, {2}, {}, {1}, {}})));
  EXPECT_GE(plan.steps.size(), 2u);
  EXPECT_LE(plan.steps.size(), 4u);
}

//===---- Random layouts ----===//

namespace {
struct RandomCase {
  std::vector<LayoutAxis> grid;
  std::vector<int64_t> shape;
  Layout from, to;
};

class CaseMaker {
public:
  explicit CaseMaker(unsigned seed) : random(seed) {}
  std::mt19937 random;

  int64_t below(int64_t bound) { return std::uniform_int_distribution<int64_t>(0, bound - 1)(random); }

  RandomCase make(int64_t maxAxes, int64_t maxDims) {
    RandomCase result;
    const char *names[] = {"a", "b", "c"};
    for (int64_t i = 0, count = 1 + below(maxAxes); i < count; ++i)
      result.grid.push_back({names[i], below(6) ? 2 + below(2) : 1});
    for (int64_t i = 0, count = 1 + below(maxDims); i < count; ++i)
      result.shape.push_back(below(2) ? 12 : 1 + below(13));
    Combiner combiner = Combiner(below(3));
    result.from = layout(result, combiner, nullptr);
    result.to = layout(result, combiner, &result.from.partial);
    return result;
  }

private:
  /// Each axis shards a dimension, is partial (only if `allowed` has its combiner), or does nothing.
  Layout layout(const RandomCase &here, Combiner combiner, const std::vector<int> *allowed) {
    Layout result;
    result.combiner = combiner;
    result.dims.resize(here.shape.size());
    std::vector<int> order(here.grid.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    for (int axis : order) {
      int64_t place = below(here.shape.size() + 2);
      if (place < int64_t(here.shape.size()))
        result.dims[place].push_back(axis);
      else if (place == int64_t(here.shape.size()) && (!allowed || llvm::is_contained(*allowed, axis)))
        result.partial.push_back(axis);
    }
    std::sort(result.partial.begin(), result.partial.end());
    return result;
  }
};

std::string describe(const RandomCase &c) {
  std::string text = toString(c.from, c.grid) + " to " + toString(c.to, c.grid) + ", grid";
  for (const LayoutAxis &axis : c.grid)
    text += " " + axis.name + "=" + std::to_string(axis.size);
  text += ", shape";
  for (int64_t extent : c.shape)
    text += " " + std::to_string(extent);
  return text;
}
} // namespace

TEST(ReshardPlanner, ExecutedPlansGiveTheTargetLayout) {
  unsigned seed = testSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  CaseMaker maker(seed);
  size_t longest = 0;
  for (int round = 0; round < 1500; ++round) {
    RandomCase c = maker.make(3, 3);
    SCOPED_TRACE("round " + std::to_string(round) + ": " + describe(c));
    ReshardPlan plan = llvm::cantFail(planReshard(c.grid, c.shape, 4, c.from, c.to, {double(maker.below(200)), 1}));
    ReshardSimulation simulation(c.grid, c.shape);
    simulation.start(c.from, maker.random);
    ASSERT_EQ(simulation.check(c.from), "");
    for (const ReshardStep &step : plan.steps) {
      ASSERT_NEAR(step.bytes, 4 * simulation.elementsSent(step), 1e-9) << toString(step, c.grid);
      simulation.execute(step);
      ASSERT_EQ(simulation.check(step.result), "") << toString(step, c.grid);
    }
    ASSERT_EQ(simulation.check(c.to), "");
    longest = std::max(longest, plan.steps.size());
  }
  EXPECT_GE(longest, 3u);
}

//===---- Optimality ----===//

namespace {
/// Enumerates steps from the rules as the header states them, by trying every combination of fields.
class BruteForce {
public:
  BruteForce(const RandomCase &c, ReshardCosts costs) : c(c), costs(costs) {
    std::vector<int> chosen;
    arrange(chosen);
  }

  /// Least cost over all sequences of at most `depth` steps; infinite when there is none.
  double best(const Layout &from, int depth) {
    if (normal(from) == normal(c.to))
      return 0;
    double result = std::numeric_limits<double>::infinity();
    if (depth == 0)
      return result;
    for (const std::vector<int> &axes : arrangements)
      for (Kind kind : {Kind::AllReduce, Kind::ReduceScatter, Kind::AllGather, Kind::Slice, Kind::AllToAll})
        for (int64_t dim = 0; dim < int64_t(c.shape.size()); ++dim)
          for (int64_t fromDim = 0; fromDim < (kind == Kind::AllToAll ? int64_t(c.shape.size()) : 1); ++fromDim) {
            ReshardStep step{kind, axes, dim, fromDim, from.combiner, from, 0};
            if (!apply(step))
              continue;
            double price = kind == Kind::Slice ? costs.bytesPerSlice : costs.bytesPerCollective + bytes(from, step);
            result = std::min(result, price + best(step.result, depth - 1));
          }
    return result;
  }

private:
  void arrange(std::vector<int> &chosen) {
    for (int axis = 0; axis < int(c.grid.size()); ++axis)
      if (c.grid[axis].size > 1 && !llvm::is_contained(chosen, axis)) {
        chosen.push_back(axis);
        arrangements.push_back(chosen);
        arrange(chosen);
        chosen.pop_back();
      }
  }

  Layout normal(Layout layout) const {
    auto trivial = [&](int axis) { return c.grid[axis].size == 1; };
    for (auto &axes : layout.dims)
      llvm::erase_if(axes, trivial);
    llvm::erase_if(layout.partial, trivial);
    return layout;
  }

  bool even(const Layout &layout, int64_t dim) const {
    int64_t blocks = 1;
    for (int axis : layout.dims[dim])
      blocks *= c.grid[axis].size;
    return c.shape[dim] % blocks == 0;
  }

  bool removeMinor(Layout &layout, int64_t dim, const std::vector<int> &axes) const {
    std::vector<int> &all = layout.dims[dim];
    bool wasEven = even(layout, dim);
    if (all.size() < axes.size() || !std::equal(axes.begin(), axes.end(), all.end() - axes.size()))
      return false;
    all.resize(all.size() - axes.size());
    return wasEven || all.empty();
  }

  bool addMinor(Layout &layout, int64_t dim, const std::vector<int> &axes) const {
    bool wasWhole = layout.dims[dim].empty();
    layout.dims[dim].insert(layout.dims[dim].end(), axes.begin(), axes.end());
    return wasWhole || even(layout, dim);
  }

  bool apply(ReshardStep &step) const {
    Layout layout = step.result = normal(step.result);
    bool reduces = step.kind == Kind::AllReduce || step.kind == Kind::ReduceScatter;
    for (int axis : step.axes) {
      bool used = llvm::is_contained(layout.partial, axis);
      if (reduces && !used)
        return false;
      for (const auto &axes : layout.dims)
        used |= llvm::is_contained(axes, axis);
      if (step.kind == Kind::Slice && used)
        return false;
    }
    if (reduces)
      llvm::erase_if(layout.partial, [&](int axis) { return llvm::is_contained(step.axes, axis); });
    bool legal = true;
    if (step.kind == Kind::AllGather)
      legal = removeMinor(layout, step.dim, step.axes);
    if (step.kind == Kind::AllToAll)
      legal = step.dim != step.fromDim && removeMinor(layout, step.fromDim, step.axes);
    if (step.kind == Kind::ReduceScatter)
      legal = step.combiner != Combiner::LogSumExp;
    if (legal && (step.kind == Kind::Slice || step.kind == Kind::ReduceScatter || step.kind == Kind::AllToAll))
      legal = addMinor(layout, step.dim, step.axes);
    step.result = layout;
    return legal;
  }

  double bytes(const Layout &from, const ReshardStep &step) {
    ReshardSimulation simulation(c.grid, c.shape);
    std::mt19937 random;
    simulation.start(normal(from), random);
    return 4 * simulation.elementsSent(step);
  }

  const RandomCase &c;
  ReshardCosts costs;
  std::vector<std::vector<int>> arrangements;
};
} // namespace

TEST(ReshardPlanner, NoShorterSequenceIsCheaper) {
  unsigned seed = testSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  CaseMaker maker(seed);
  int compared = 0;
  for (int round = 0; round < 150; ++round) {
    RandomCase c = maker.make(2, 2);
    SCOPED_TRACE("round " + std::to_string(round) + ": " + describe(c));
    ReshardCosts costs{double(maker.below(100)), 1};
    ReshardPlan plan = llvm::cantFail(planReshard(c.grid, c.shape, 4, c.from, c.to, costs));
    double best = BruteForce(c, costs).best(c.from, 3);
    ASSERT_LE(plan.cost, best + 1e-9);
    if (plan.steps.size() <= 3) {
      ASSERT_NEAR(plan.cost, best, 1e-9);
      ++compared;
    }
  }
  EXPECT_GT(compared, 100);
}
