// Variable elimination against trying everything, on random networks.
#include "ppc/Planning/Chain/CostNetwork.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

using namespace mlir::ppc;

namespace {
struct Drawn {
  CostNetwork network;
  std::vector<int> kept;
};

/// Up to 7 variables of up to 4 values; costs from few numbers, so that ties and dominated values are common.
Drawn drawNetwork(std::mt19937 &random) {
  auto number = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  auto cost = [&] {
    return number(0, 11) == 0 ? TableCost::impossible() : TableCost{double(number(0, 6)), double(number(0, 4))};
  };
  Drawn drawn;
  int count = number(1, 7);
  for (int v = 0; v < count; ++v) {
    int values = number(1, 4);
    drawn.network.addVariable("v" + std::to_string(v), values);
    std::vector<TableCost> costs(values);
    for (TableCost &entry : costs)
      entry = cost();
    drawn.network.addCosts(v, costs);
    if (number(0, 3) == 0)
      drawn.kept.push_back(v);
  }
  for (int a = 0; a < count; ++a)
    for (int b = 0; b < count; ++b)
      if (a != b && number(0, 2) == 0) {
        std::vector<TableCost> costs(drawn.network.valueCount(a) * drawn.network.valueCount(b));
        for (TableCost &entry : costs)
          entry = cost();
        std::vector<TableCost> others;
        if (number(0, 1))
          for (size_t i = 0; i < costs.size(); ++i)
            others.push_back(cost());
        drawn.network.addCosts(a, b, costs, others);
      }
  return drawn;
}

/// Least cost by the values of the kept variables.
std::map<std::vector<int>, double> tryAllAssignments(const Drawn &drawn, double price) {
  std::map<std::vector<int>, double> least;
  std::vector<int> values(drawn.network.variableCount(), 0);
  while (true) {
    TableCost cost = drawn.network.evaluate(values, price);
    double weighed = cost.weigh(price);
    std::vector<int> key;
    for (int variable : drawn.kept)
      key.push_back(values[variable]);
    auto [it, isNew] = least.try_emplace(key, weighed);
    it->second = std::min(it->second, weighed);
    int v = 0;
    while (v < int(values.size()) && ++values[v] == drawn.network.valueCount(v))
      values[v++] = 0;
    if (v == int(values.size()))
      return least;
  }
}
} // namespace

TEST(CostNetwork, EliminationMatchesExhaustiveSearch) {
  for (unsigned seed = 1; seed <= 600; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    Drawn drawn = drawNetwork(random);
    double price = seed % 3 * 0.5;
    auto solution = solve(drawn.network, drawn.kept, price);
    ASSERT_TRUE(bool(solution)) << llvm::toString(solution.takeError());
    for (auto &[key, least] : tryAllAssignments(drawn, price)) {
      int64_t entry = 0;
      for (size_t i = 0; i < key.size(); ++i)
        entry = entry * drawn.network.valueCount(drawn.kept[i]) + key[i];
      ASSERT_EQ(solution->costs[entry], least);
      if (least == std::numeric_limits<double>::infinity())
        continue;
      TableCost reached = drawn.network.evaluate(solution->assignment(key), price);
      ASSERT_EQ(reached.weigh(price), least);
    }
  }
}

TEST(CostNetwork, AForbiddenValueIsNotTaken) {
  CostNetwork network;
  int a = network.addVariable("a", 2), b = network.addVariable("b", 2);
  network.addCosts(a, b, {{0, 0}, {5, 0}, {7, 0}, {3, 0}});
  auto best = solve(network, {}, 0), other = solve(network, {}, 0, {0}, a);
  ASSERT_TRUE(best && other);
  EXPECT_EQ(best->costs[0], 0);
  EXPECT_EQ(other->costs[0], 3);
  EXPECT_EQ(other->assignment({}), (std::vector<int>{1, 1}));
}

TEST(CostNetwork, TooWideATableIsAnError) {
  CostNetwork network;
  for (int v = 0; v < 12; ++v)
    network.addVariable("v" + std::to_string(v), 40);
  std::mt19937 random(3);
  for (int a = 0; a < 12; ++a)
    for (int b = 0; b < a; ++b) {
      std::vector<TableCost> costs(1600);
      for (TableCost &cost : costs)
        cost.time = random() % 1000;
      network.addCosts(a, b, costs);
    }
  auto solution = solve(network, {}, 0);
  ASSERT_FALSE(bool(solution));
  EXPECT_NE(llvm::toString(solution.takeError()).find("fewer axes"), std::string::npos);
}
