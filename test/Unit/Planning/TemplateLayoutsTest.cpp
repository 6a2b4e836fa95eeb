// Which layouts the search over templates finds: the known ones where they are best, others where they are not.
#include "TemplateModels.h"
#include "ppc/Planning/Chain/TemplateSearch.h"

#include "llvm/ADT/STLExtras.h"
#include <gtest/gtest.h>

#include <map>

using namespace mlir::ppc;
using namespace mlir::ppc::test;

static Cluster laidOutCluster(llvm::StringRef spelling) {
  auto found = findCluster(spelling);
  EXPECT_TRUE(bool(found)) << llvm::toString(found.takeError());
  return *found;
}

/// All axes together: what one axis of their product could do.
static bool isOneDimensional(const OpStrategy &strategy) { return llvm::all_equal(strategy.axes); }

/// Column- and row-parallel matmuls over all tensor-parallel ranks, their elementwise ops alike, vocabulary-parallel
/// ends, everything else replicated or sharded by sequence.
static bool isMegatronLayout(const OpTemplate &layer, const TemplateOp &op, const OpStrategy &strategy) {
  int choice = strategy.axes.front();
  if (!isOneDimensional(strategy))
    return false;
  if (op.kernel == TemplateKernel::Product)
    return choice >= 0 && llvm::is_contained(op.operandFactors[1], choice);
  if (choice < 0)
    return true;
  return llvm::is_contained({"s", "t", "k", "f", "w", "n", "v"}, op.factors[choice].name);
}

static TemplateSearchResult search(const TemplatePricing &pricing, const TemplateChain &chain, Bytes limit = Bytes(0)) {
  TemplateSearch search(pricing, chain);
  auto result = search.run(limit);
  if (!result) {
    ADD_FAILURE() << llvm::toString(result.takeError());
    return {};
  }
  return *result;
}

/// The most frequent sharding of op `name` in the layers of template `t`.
static OpStrategy strategyOf(const TemplateChain &chain, const TemplateSearchResult &result, int t,
                             llvm::StringRef name) {
  std::map<int, int> counts;
  for (TemplateSearchResult::Layer layer : result.layers)
    if (layer.index == t)
      ++counts[layer.choice];
  int most = counts.begin()->first;
  for (auto [choice, count] : counts)
    if (count > counts[most])
      most = choice;
  for (auto [number, op] : llvm::enumerate(chain.templates[t].ops))
    if (op.name == name)
      return result.choices[t][most].strategies[number];
  ADD_FAILURE() << "no op " << name.str();
  return {};
}

static std::string spell(const TemplateChain &chain, const TemplateSearchResult &result, const TemplatePricing &pricing,
                         llvm::StringRef name) {
  for (const TemplateOp &op : chain.templates[1].ops)
    if (op.name == name)
      return toString(op, strategyOf(chain, result, 1, name), pricing.grid);
  return "";
}

// LLaMA 3 8B on the eight devices of an NVLink node, with just enough memory for column- and row-parallel layers.
TEST(TemplateLayouts, MegatronWithSequenceParallelismOnANode) {
  Cluster node = laidOutCluster("dgx-h100");
  TemplateChain chain = denseChain({});
  TemplatePricing pricing{node, {{"tp", 8}}};
  TemplatePricing menu = pricing;
  menu.allowStrategy = isMegatronLayout;
  Bytes limit(20e9);
  TemplateSearchResult found = search(pricing, chain, limit), best = search(menu, chain, limit);
  EXPECT_LE(found.time.value, best.time.value * (1 + 1e-12));
  EXPECT_LE(found.time.value, found.lowerBound.value * 1.002); // with 32 layers, at most one is sharded in between
  for (llvm::StringRef name : {"q", "k", "v", "attention", "o"})
    EXPECT_EQ(spell(chain, found, pricing, name), "{k: tp}") << name.str();
  for (llvm::StringRef name : {"gate", "up", "silu", "mul", "down"})
    EXPECT_EQ(spell(chain, found, pricing, name), "{f: tp}") << name.str();
  for (llvm::StringRef name : {"norm1", "add1", "norm2", "add2"})
    EXPECT_EQ(spell(chain, found, pricing, name), "{s: tp}") << name.str();
  printf("search %.4f s, menu %.4f s\n", found.time.value, best.time.value);
}

// Two parallel branches of which one is narrow: sharding rows of data and gathering weights is cheaper than column and
// row parallelism, and layers that take the menu's sharding reduce the sums of both branches together.
TEST(TemplateLayouts, TwoBranchesDoNotTakeTheMenusSharding) {
  Cluster node = laidOutCluster("dgx-h100");
  TemplateChain chain = twoTowerChain(16, 4096, 4096, 16384, 512);
  TemplatePricing pricing{node, {{"tp", 8}}};
  pricing.microBatches = 16;
  TemplatePricing menu = pricing;
  menu.allowStrategy = isMegatronLayout;
  TemplateSearchResult found = search(pricing, chain), best = search(menu, chain);
  EXPECT_LT(found.time.value, 0.75 * best.time.value);
  EXPECT_EQ(spell(chain, found, pricing, "up1"), "{t: tp}");
  EXPECT_EQ(spell(chain, best, menu, "towers"), "{pending: tp}");
  Bytes limit(best.memory); // and with no more memory than the menu needs
  TemplateSearchResult small = search(pricing, chain, limit);
  EXPECT_LE(small.time.value, best.time.value);
  printf("search %.4f s, in the menu's memory %.4f s, menu %.4f s\n", found.time.value, small.time.value,
         best.time.value);
}

// 256 devices in a 16 x 16 torus, tensor parallelism along both directions: weights are sharded in both of their
// dimensions.
TEST(TemplateLayouts, TwoDimensionalTensorParallelismOnATorus) {
  auto torus =
      parseCluster("torus", "name: torus\n"
                            "device: { kind: TPU-v5p }\n"
                            "levels:\n"
                            "  - { name: ici, size: 256, topology: torus-2d, extents: [16, 16], bandwidth: 100e9, "
                            "latency: 1e-6, floor: 5e-6, ring: { efficiency: 0.8, ramp: 1e6 } }\n");
  ASSERT_TRUE(bool(torus)) << llvm::toString(torus.takeError());
  DenseModel model;
  model.hidden = 16384, model.ffn = 65536, model.heads = model.kvHeads = 256, model.layers = 8, model.sequence = 2048;
  TemplateChain chain = denseChain(model);
  TemplatePricing pricing{*torus, {{"tp0", 16}, {"tp1", 16}}};
  pricing.microBatches = 32;
  TemplatePricing oneDimensional = pricing;
  oneDimensional.allowStrategy = [](auto &, auto &, const OpStrategy &strategy) { return isOneDimensional(strategy); };
  Bytes limit(5.5e9);
  TemplateSearchResult found = search(pricing, chain, limit), best = search(oneDimensional, chain, limit);
  EXPECT_LT(found.time.value, 0.9 * best.time.value);
  for (llvm::StringRef name : {"q", "k", "v"})
    EXPECT_EQ(spell(chain, found, pricing, name), "{h: tp1, k: tp0}") << name.str();
  EXPECT_EQ(spell(chain, found, pricing, "o"), "{k: tp0, h: tp1}");
  printf("two dimensions %.4f s, one %.4f s\n", found.time.value, best.time.value);
}
