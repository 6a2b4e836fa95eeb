// The search over templates: against exhaustive search, folding, memory limits, time.
#include "ppc/Planning/Chain/TemplateSearch.h"
#include "TemplateModels.h"

#include <gtest/gtest.h>

#include <ctime>
#include <random>
#include <set>

using namespace mlir::ppc;
using namespace mlir::ppc::test;

static Cluster searchedCluster(llvm::StringRef spelling) {
  auto found = findCluster(spelling);
  EXPECT_TRUE(bool(found)) << llvm::toString(found.takeError());
  return *found;
}

namespace {
int draw(std::mt19937 &random, int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }

/// A layer of two to three random ops over [a, b] whose last result enters the next layer; `first` has no boundary,
/// `last` no output.
OpTemplate randomLayer(std::mt19937 &random, bool first, bool last) {
  TemplateBuilder b(first ? "first" : last ? "last" : "layer", {{'a', 64}, {'b', 96}, {'c', 32}});
  int x = first ? b.value("data", "ab", TemplateValueKind::Input, false) : b.boundary("x", "ab");
  std::vector<int> values = {x};
  auto pick = [&] { return values[draw(random, 0, int(values.size()) - 1)]; };
  for (int ops = draw(random, 1, 2); ops-- > 0;)
    switch (draw(random, 0, 3)) {
    case 0: {
      int up = b.product("up", "ab,cb->ac", pick(), b.parameter("up.weight", "cb"));
      values.push_back(b.stream("down", {{up, "ac"}, {pick(), "ab"}}, "ab"));
      break;
    }
    case 1:
      values.push_back(b.pointwise("add", "ab", {pick(), pick()}, true));
      break;
    case 2:
      values.push_back(b.pointwise("norm", "ab", {pick()}, false, "b"));
      break;
    case 3:
      values.push_back(
          b.product("square", "ac,bc->ab", b.stream("slice", {{pick(), "ab"}}, "ac"), b.parameter("w", "bc")));
      break;
    }
  if (first || values.size() == 1)
    values.push_back(b.stream("scale", {{values.back(), "ab"}, {b.parameter("s", "b"), "b"}}, "ab"));
  return b.finish(last ? std::vector<int>{} : std::vector<int>{values.back()});
}

/// Least cost of one template by the values of its kept variables, by trying everything; empty when that is too much.
std::map<std::vector<int>, double> tryAll(const TemplateNetwork &layer, double price) {
  const CostNetwork &network = layer.network();
  double count = 1;
  for (int v = 0; v < network.variableCount(); ++v)
    count *= network.valueCount(v);
  std::map<std::vector<int>, double> least;
  if (count > 60000)
    return least;
  std::vector<int> values(network.variableCount(), 0), kept = layer.kept();
  while (true) {
    std::vector<int> key;
    for (int variable : kept)
      key.push_back(values[variable]);
    double cost = network.evaluate(values, price).weigh(price);
    auto [it, isNew] = least.try_emplace(key, cost);
    it->second = std::min(it->second, cost);
    int v = 0;
    while (v < int(values.size()) && ++values[v] == network.valueCount(v))
      values[v++] = 0;
    if (v == int(values.size()))
      return least;
  }
}

/// The best of all sequences of boundary layouts.
double tryChain(llvm::ArrayRef<const std::map<std::vector<int>, double> *> layers, int boundary) {
  if (layers.empty())
    return 0;
  double best = std::numeric_limits<double>::infinity();
  for (auto &[key, cost] : *layers.front()) {
    bool hasInput = boundary >= 0, hasOutput = key.size() > size_t(hasInput);
    if (hasInput && key.front() != boundary)
      continue;
    best = std::min(best, cost + tryChain(layers.drop_front(), hasOutput ? key.back() : -1));
  }
  return best;
}
} // namespace

TEST(TemplateSearch, MatchesExhaustiveSearch) {
  Cluster node = searchedCluster("dgx-a100");
  int compared = 0;
  for (unsigned seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    OpTemplate first = randomLayer(random, true, false), middle = randomLayer(random, false, false);
    OpTemplate last = randomLayer(random, false, true);
    TemplateChain chain = foldLayers({first, middle, middle, middle, last});
    if (llvm::Error error = chain.verify())
      FAIL() << llvm::toString(std::move(error));
    TemplatePricing pricing{node, {{"tp", 4}}};
    pricing.regather = seed % 2;
    TemplateSearch search(pricing, chain);
    std::vector<std::map<std::vector<int>, double>> tables;
    for (size_t t = 0; t < chain.templates.size(); ++t)
      tables.push_back(tryAll(search.network(int(t)), 0));
    if (llvm::any_of(tables, [](const auto &table) { return table.empty(); }))
      continue;
    std::vector<const std::map<std::vector<int>, double> *> layers;
    for (const TemplateChain::Segment &segment : chain.segments)
      layers.insert(layers.end(), segment.count, &tables[segment.index]);
    double best = tryChain(layers, -1);
    auto result = search.run();
    ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
    EXPECT_NEAR(result->time.value, best, 1e-12 * best);
    EXPECT_DOUBLE_EQ(result->lowerBound.value, result->time.value); // sums of the same terms in another order
    ++compared;
  }
  EXPECT_GE(compared, 60);
}

// Attention over boundaries, its own strategies among the others.
TEST(TemplateSearch, MatchesExhaustiveSearchWithAttention) {
  Cluster node = searchedCluster("dgx-a100");
  std::set<int> choices;
  for (auto [heads, sequence] :
       {std::pair(8, 512), std::pair(1, 512), std::pair(1, 16384), std::pair(4, 65536), std::pair(2, 4096)}) {
    TemplateBuilder first("first", {{'b', 1}, {'s', sequence}, {'t', sequence}, {'k', heads}, {'g', 1}, {'d', 128}});
    int q = first.stream("q", {{first.value("queries", "bskgd", TemplateValueKind::Input), "bskgd"}}, "bskgd");
    int k = first.stream("k", {{first.value("keys", "btkd", TemplateValueKind::Input), "btkd"}}, "btkd");
    int v = first.stream("v", {{first.value("values", "btkd", TemplateValueKind::Input), "btkd"}}, "btkd");
    int out = first.attention("attention", q, k, v);
    TemplateChain chain = foldLayers({first.finish({out})});
    TemplatePricing pricing{node, {{"tp", 4}}};
    pricing.regather = false;
    // Streams that shard only the sequence and the heads keep the number of assignments small.
    pricing.allowStrategy = [](const OpTemplate &, const TemplateOp &op, const OpStrategy &strategy) {
      int choice = strategy.axes.front();
      return op.kernel == TemplateKernel::Attention || choice < 0 || op.factors[choice].name == "s" ||
             op.factors[choice].name == "t";
    };
    TemplateSearch search(pricing, chain);
    std::map<std::vector<int>, double> table = tryAll(search.network(0), 0);
    auto result = search.run();
    ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
    choices.insert(result->choices[0].front().strategies.back().axes.front());
    if (table.empty())
      continue;
    double best = std::numeric_limits<double>::infinity();
    for (auto &[key, cost] : table)
      best = std::min(best, cost);
    EXPECT_NEAR(result->time.value, best, 1e-12 * best);
  }
  EXPECT_GT(choices.size(), 1u);
}

TEST(TemplateSearch, LimitsHoldAndBoundsAreBounds) {
  Cluster node = searchedCluster("dgx-a100");
  TemplatePricing pricing{node, {{"tp", 4}}};
  for (unsigned seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    TemplateChain chain = foldLayers({randomLayer(random, true, true)});
    TemplateSearch search(pricing, chain);
    const CostNetwork &network = search.network(0).network();
    auto free = search.run();
    ASSERT_TRUE(bool(free)) << llvm::toString(free.takeError());
    double limit = free->memory.value * draw(random, 30, 99) / 100;
    // Every assignment, each with either way to hold values everywhere: an upper bound of the true optimum.
    double best = std::numeric_limits<double>::infinity(), total = 1;
    for (int v = 0; v < network.variableCount(); ++v)
      total *= network.valueCount(v);
    if (total > 60000)
      continue;
    std::vector<int> values(network.variableCount(), 0);
    for (bool more = true; more;) {
      for (double price : {0.0, 1e3})
        if (TableCost cost = network.evaluate(values, price); cost.memory <= limit)
          best = std::min(best, cost.time);
      int v = 0;
      while (v < int(values.size()) && ++values[v] == network.valueCount(v))
        values[v++] = 0;
      more = v < int(values.size());
    }
    auto limited = search.run(Bytes(limit));
    if (!limited) {
      EXPECT_EQ(best, std::numeric_limits<double>::infinity()) << llvm::toString(limited.takeError());
      llvm::consumeError(limited.takeError());
      continue;
    }
    EXPECT_LE(limited->memory.value, limit);
    EXPECT_LE(limited->lowerBound.value, best * (1 + 1e-12));
    EXPECT_LE(limited->lowerBound, limited->time);
    if (limited->time.value <= limited->lowerBound.value * (1 + 1e-12))
      EXPECT_LE(limited->time.value, best * (1 + 1e-9)); // the certificate says that nothing is better
  }
}

// CPU time of a search; the minimum of several if one takes more than `limit`, as load only adds to it.
static double leastSeconds(double limit, const TemplatePricing &pricing, const TemplateChain &chain) {
  double least = std::numeric_limits<double>::infinity();
  for (int turn = 0; turn < 20 && least > limit; ++turn) {
    clock_t start = clock();
    auto result = TemplateSearch(pricing, chain).run();
    least = std::min(least, double(clock() - start) / CLOCKS_PER_SEC);
    llvm::consumeError(result.takeError());
  }
  return least;
}

TEST(TemplateSearch, EqualLayersAreSearchedOnce) {
  Cluster node = searchedCluster("dgx-h100");
  TemplatePricing pricing{node, {{"tp0", 2}, {"tp1", 4}}};
  std::vector<double> times, seconds;
  std::vector<int64_t> entries;
  for (int64_t layers : {100, 200, 300, 1000}) {
    DenseModel model;
    model.layers = layers;
    TemplateChain chain = denseChain(model);
    EXPECT_EQ(chain.templates.size(), 3u);
    EXPECT_EQ(chain.layerCount(), layers + 2);
    TemplateSearch search(pricing, chain);
    auto result = search.run();
    ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
    double limit = seconds.empty() ? 0 : 2 * seconds.front() + 0.02;
    seconds.push_back(leastSeconds(limit, pricing, chain));
    EXPECT_EQ(int64_t(result->layers.size()), layers + 2);
    times.push_back(result->time.value);
    entries.push_back(result->entries);
  }
  EXPECT_NEAR(times[1] - times[0], times[2] - times[1], 1e-9);
  EXPECT_EQ(entries[0], entries[3]);
  EXPECT_LT(seconds[3], 2 * seconds[0] + 0.02);
  printf("100 layers %.3f s, 1,000 layers %.3f s\n", seconds[0], seconds[3]);
}

TEST(TemplateSearch, ADenseModelOnTwoAxesTakesLittleTime) {
  Cluster node = searchedCluster("dgx-h100");
  TemplatePricing pricing{node, {{"tp0", 2}, {"tp1", 4}}};
  TemplateChain chain = denseChain({});
#if defined(__has_feature) && __has_feature(address_sanitizer)
  constexpr double limit = 3;
#else
  constexpr double limit = 0.3;
#endif
  TemplateSearch search(pricing, chain);
  auto result = search.run();
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  double seconds = leastSeconds(limit, pricing, chain);
  printf("%.3f s, %lld table entries\n", seconds, (long long)result->entries);
  EXPECT_LE(seconds, limit);
}

TEST(TemplateSearch, NamesTheLimitOfTooLargeSearches) {
  Cluster node = searchedCluster("dgx-h100");
  TemplatePricing pricing{node, {{"tp", 8}}};
  TemplateChain chain = denseChain({});
  TemplateSearch search(pricing, chain);
  auto result = search.run(Bytes(1e9));
  ASSERT_FALSE(bool(result));
  EXPECT_NE(llvm::toString(result.takeError()).find("the least memory that any layouts need is"), std::string::npos);
}

TEST(TemplateSearch, ExplainsWithARunnerUpThatIsNotFaster) {
  Cluster node = searchedCluster("dgx-h100");
  TemplatePricing pricing{node, {{"tp", 8}}};
  DenseModel model;
  model.layers = 4;
  TemplateChain chain = denseChain(model);
  TemplateSearch search(pricing, chain);
  auto result = search.run();
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  auto explanations = search.explain(*result);
  ASSERT_TRUE(bool(explanations)) << llvm::toString(explanations.takeError());
  size_t ops = 0;
  for (const OpTemplate &layer : chain.templates)
    ops += layer.ops.size();
  EXPECT_EQ(explanations->size(), ops);
  for (const OpExplanation &explanation : *explanations) {
    if (!explanation.runnerUp)
      continue;
    EXPECT_FALSE(explanation.runnerUp->strategy == explanation.chosen);
    EXPECT_GE(explanation.runnerUp->slower, -1e-15);
  }
}

TEST(OpTemplate, ShardsADimensionEverywhere) {
  DenseModel model;
  model.batch = 8;
  TemplateChain chain = denseChain(model);
  cutDimension(chain, 0, 0, 0, 4); // the batch of the ids
  if (llvm::Error error = chain.verify())
    FAIL() << llvm::toString(std::move(error));
  for (const OpTemplate &layer : chain.templates)
    for (const TemplateOp &op : layer.ops)
      for (const TemplateFactor &factor : op.factors)
        if (factor.name == "b")
          EXPECT_EQ(factor.size, 2);
}

TEST(OpTemplate, RefusesInvalidTemplates) {
  TemplateBuilder b("layer", {{'a', 4}, {'b', 6}});
  int x = b.value("x", "ab", TemplateValueKind::Input);
  int y = b.pointwise("f", "ab", {x}, false);
  OpTemplate layer = b.finish({y});
  layer.values[x].shape = {4, 7};
  llvm::Error error = layer.verify();
  ASSERT_TRUE(bool(error));
  EXPECT_EQ(llvm::toString(std::move(error)),
            "template 'layer', op 'f': a dimension of 'x' has 7 elements, its factor does not");
}
