// Stage partitions against exhaustive search, ties as documented, refusals with their numbers.
#include "ppc/Planning/Chain/StageCutter.h"
#include "../Support/TestSeed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>

using namespace mlir::ppc;

static std::vector<LayerCost> layersOf(std::vector<double> times, double memory = 1) {
  std::vector<LayerCost> layers;
  for (double time : times)
    layers.push_back({Seconds(time), Bytes(memory)});
  return layers;
}

using Best = std::tuple<double, double, std::vector<int64_t>>; // slowest, sum of squares, first layers

static void tryAllCuts(const std::vector<LayerCost> &layers, int64_t stages, std::optional<Bytes> limit,
                       std::vector<int64_t> &first, std::optional<Best> &best) {
  if (int64_t(first.size()) == stages) {
    double slowest = 0, squares = 0;
    for (int64_t s = 0; s < stages; ++s) {
      int64_t end = s + 1 < stages ? first[s + 1] : layers.size();
      double time = 0, memory = 0;
      for (int64_t i = first[s]; i < end; ++i) {
        time += layers[i].time.value;
        memory += layers[i].memory.value;
      }
      if (limit && memory > limit->value)
        return;
      slowest = std::max(slowest, time);
      squares += time * time;
    }
    Best candidate{slowest, squares, first};
    if (!best || candidate < *best)
      best = candidate;
    return;
  }
  for (size_t next = first.back() + 1; next < layers.size(); ++next) {
    first.push_back(next);
    tryAllCuts(layers, stages, limit, first, best);
    first.pop_back();
  }
}

TEST(StageCutter, MatchesExhaustiveSearch) {
  unsigned seed = testSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  auto upTo = [&](int bound) { return std::uniform_int_distribution<int>(1, bound)(random); };
  int refused = 0;
  for (int round = 0; round < 500; ++round) {
    std::vector<LayerCost> layers;
    for (int i = upTo(9); i > 0; --i)
      layers.push_back({Seconds(upTo(6)), Bytes(upTo(6))});
    int64_t stages = upTo(layers.size());
    std::optional<Bytes> limit;
    if (upTo(2) == 1)
      limit = Bytes(upTo(20));
    std::optional<Best> best;
    std::vector<int64_t> first = {0};
    tryAllCuts(layers, stages, limit, first, best);
    llvm::Expected<StageCut> cut = cutStages(layers, stages, limit);
    ASSERT_EQ(bool(cut), best.has_value()) << "round " << round;
    if (!cut) {
      llvm::consumeError(cut.takeError());
      ++refused;
      continue;
    }
    EXPECT_EQ(cut->slowest.value, std::get<0>(*best));
    EXPECT_EQ(cut->firstLayer, std::get<2>(*best));
  }
  EXPECT_GT(refused, 10);
}

TEST(StageCutter, TiesAreEvenThenLightOnEarlyStages) {
  // At most 3 layers a stage either way: 2 2 3 is more even than 1 3 3, and puts the third layer last.
  EXPECT_EQ(llvm::cantFail(cutStages(layersOf({1, 1, 1, 1, 1, 1, 1}), 3)).firstLayer, (std::vector<int64_t>{0, 2, 4}));
  EXPECT_EQ(llvm::cantFail(cutStages(layersOf({1, 1, 1, 1, 1}), 2)).firstLayer, (std::vector<int64_t>{0, 2}));
}

TEST(StageCutter, LargeChains) {
  StageCut cut = llvm::cantFail(cutStages(layersOf(std::vector<double>(128, 1.0)), 16));
  EXPECT_EQ(cut.slowest.value, 8);
  for (int64_t s = 0; s < 16; ++s)
    EXPECT_EQ(cut.firstLayer[s], 8 * s);
}

TEST(StageCutter, RefusesWithTheNumbers) {
  auto message = [](std::vector<LayerCost> layers, int64_t stages, std::optional<Bytes> limit) {
    return llvm::toString(cutStages(layers, stages, limit).takeError());
  };
  EXPECT_EQ(message(layersOf({1, 1, 1}), 4, std::nullopt),
            "cannot partition 3 layers (embedding and LM head count) into 4 pipeline stages; use at most 3");
  EXPECT_EQ(message(layersOf({1}), 0, std::nullopt),
            "cannot partition layers into 0 pipeline stages; at least 1 is needed");
  EXPECT_EQ(message(layersOf({1, 1, 1, 1}, 1024), 2, Bytes(1536)),
            "no partition of 4 layers into 2 pipeline stages keeps every stage within 1.5 KiB; the best needs 2 KiB");
}
