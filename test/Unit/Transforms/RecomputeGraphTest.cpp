// The recomputed ops are the minimum over all choices of small graphs, and no choice is below the bound.
#include "ppc/Transforms/Recompute/RecomputeGraph.h"
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

using namespace mlir::ppc;

namespace {

RecomputeGraph randomGraph(std::mt19937_64 &random, size_t ops) {
  RecomputeGraph graph;
  auto chance = [&](int percent) { return int64_t(random() % 100) < percent; };
  for (size_t i = 0, inputs = 1 + random() % 2; i < inputs; ++i)
    graph.values.push_back({int64_t(1 + random() % 50), -1, chance(30)});
  for (size_t i = 0; i < ops; ++i) {
    RecomputeGraph::Op &op = graph.ops.emplace_back();
    op.cost = double(1 + random() % 40);
    op.isForced = chance(10);
    for (size_t reads = random() % 3; reads-- > 0;)
      op.reads.push_back(int32_t(random() % graph.values.size()));
    for (size_t results = 1 + chance(15); results-- > 0;)
      graph.values.push_back({int64_t(1 + random() % 50), int32_t(i), chance(50)});
  }
  return graph;
}

/// The least cost for each number of kept bytes that some choice has and no cheaper one is below, of all choices.
std::map<int64_t, double> allOf(const RecomputeGraph &graph) {
  std::map<int64_t, double> least;
  for (uint64_t marks = 0; marks >> graph.ops.size() == 0; ++marks) {
    std::vector<bool> marked(graph.ops.size());
    for (size_t i = 0; i < marked.size(); ++i)
      marked[i] = marks >> i & 1;
    RecomputeChoice choice = evaluateChoice(graph, marked);
    auto [known, isNew] = least.try_emplace(choice.kept, choice.cost);
    known->second = std::min(known->second, choice.cost);
  }
  double best = std::numeric_limits<double>::infinity();
  std::map<int64_t, double> frontier;
  for (auto [kept, cost] : least)
    if (cost < best) {
      best = cost;
      frontier[kept] = cost;
    }
  return frontier;
}

TEST(RecomputeGraph, FrontierIsThatOfAllChoices) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    RecomputeGraph graph = randomGraph(random, 1 + random() % 10);
    RecomputeFrontier frontier = findFrontier(graph, 1 << 20);
    EXPECT_TRUE(frontier.isWhole);
    std::map<int64_t, double> found;
    for (const RecomputeChoice &choice : frontier.choices) {
      RecomputeChoice again = evaluateChoice(graph, choice.again);
      EXPECT_EQ(again.kept, choice.kept);
      EXPECT_EQ(again.cost, choice.cost);
      found[choice.kept] = choice.cost;
    }
    EXPECT_EQ(found, allOf(graph));
    EXPECT_TRUE(std::is_sorted(frontier.choices.begin(), frontier.choices.end(),
                               [](const auto &a, const auto &b) { return a.kept > b.kept; }));
  }
}

TEST(RecomputeGraph, MinimumCutHasLeastWeight) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    RecomputeGraph graph = randomGraph(random, 1 + random() % 10);
    double price = double(random() % 1000) / 200, least = std::numeric_limits<double>::infinity();
    for (auto [kept, cost] : allOf(graph))
      least = std::min(least, cost + price * double(kept));
    std::optional<RecomputeChoice> choice = leastWeight(graph, price, {});
    ASSERT_TRUE(choice);
    EXPECT_NEAR(choice->cost + price * double(choice->kept), least, 1e-9 * least);
  }
}

/// The least that choices of all layers cost which save so much; infinite where none do.
double leastOf(const std::vector<RecomputeGraph> &graphs, int64_t wanted) {
  std::map<int64_t, double> sums{{0, 0}}; // by saved bytes
  for (const RecomputeGraph &graph : graphs) {
    std::map<int64_t, double> all = allOf(graph), next;
    auto [most, first] = *all.rbegin();
    for (auto [saved, cost] : sums)
      for (auto [kept, more] : all) {
        auto [known, isNew] = next.try_emplace(saved + most - kept, cost + more - first);
        known->second = std::min(known->second, cost + more - first);
      }
    sums = std::move(next);
  }
  double least = std::numeric_limits<double>::infinity();
  for (auto [saved, cost] : sums)
    if (saved >= wanted)
      least = std::min(least, cost);
  return least;
}

/// With many states the minimal choice is found; with few ones, or few minimum cuts, the bound still holds.
TEST(RecomputeGraph, StagesTakeTheLeastChoice) {
  for (uint64_t seed = 1; seed <= 80; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    std::vector<RecomputeGraph> graphs;
    for (size_t count = 1 + random() % 4; count-- > 0;)
      graphs.push_back(!graphs.empty() && random() % 2 ? graphs.back() : randomGraph(random, 1 + random() % 8));
    for (bool isShort : {false, true}) {
      std::vector<RecomputeFrontier> frontiers;
      int64_t most = 0;
      for (const RecomputeGraph &graph : graphs) {
        frontiers.push_back(findFrontier(graph, isShort ? 1 : 1 << 20));
        most += frontiers.back().choices.front().kept - frontiers.back().choices.back().kept;
      }
      std::vector<const RecomputeFrontier *> layers;
      for (const RecomputeFrontier &frontier : frontiers)
        layers.push_back(&frontier);
      int64_t wanted = 1 + int64_t(random() % uint64_t(most + 20));
      StageChoice chosen = chooseForStage(layers, wanted, isShort ? 2 : 1 << 20);
      double least = leastOf(graphs, std::min(wanted, most)), cost = 0;
      int64_t saved = 0;
      for (size_t i = 0; i < layers.size(); ++i) {
        const RecomputeChoice &choice = layers[i]->choices[chosen.choices[i]], &first = layers[i]->choices.front();
        cost += choice.cost - first.cost;
        saved += first.kept - choice.kept;
      }
      EXPECT_EQ(saved, chosen.saved);
      EXPECT_NEAR(cost, chosen.cost, 1e-9 * cost);
      EXPECT_GE(chosen.saved, std::min(wanted, most));
      EXPECT_LE(chosen.bound, least * (1 + 1e-9));
      EXPECT_GE(chosen.cost, least * (1 - 1e-9));
      if (!isShort)
        EXPECT_TRUE(chosen.isLeast);
      if (chosen.isLeast)
        EXPECT_NEAR(chosen.cost, least, 1e-9 * least);
    }
  }
}

} // namespace
