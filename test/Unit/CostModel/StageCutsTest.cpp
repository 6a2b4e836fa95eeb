// Partitions of a chain of layers into stages whose times are as equal as possible.
#include "../Support/TestSeed.h"
#include "ppc/CostModel/MixedStep.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace mlir::ppc;

namespace {

std::vector<int64_t> cutAlike(llvm::ArrayRef<double> times, llvm::ArrayRef<double> extra) {
  std::vector<double> ends(1, 0);
  for (double time : times)
    ends.push_back(ends.back() + time);
  return cutByTimes(std::vector<llvm::ArrayRef<double>>(extra.size(), ends), extra, {});
}

TEST(StageCuts, EqualLayersDifferByOneAndEarlyStagesAreShorter) {
  for (int64_t layers = 1; layers <= 140; ++layers)
    for (int64_t stages = 1; stages <= std::min<int64_t>(layers, 40); ++stages) {
      std::vector<int64_t> cut = cutAlike(std::vector<double>(layers, 0.37), std::vector<double>(stages, 0));
      ASSERT_EQ(std::accumulate(cut.begin(), cut.end(), int64_t(0)), layers);
      ASSERT_TRUE(std::is_sorted(cut.begin(), cut.end())) << layers << " over " << stages;
      ASSERT_LE(cut.back() - cut.front(), 1) << layers << " over " << stages;
    }
}

/// The minimal slowest stage, over all partitions.
double leastSlowest(llvm::ArrayRef<double> times, llvm::ArrayRef<double> extra) {
  size_t layers = times.size(), stages = extra.size();
  std::vector<double> best(layers + 1, 1e300); // minimal slowest stage of the stages so far, by their end
  best[0] = 0;
  for (size_t stage = 0; stage < stages; ++stage) {
    std::vector<double> next(layers + 1, 1e300);
    for (size_t begin = 0; begin < layers; ++begin) {
      double time = extra[stage];
      for (size_t end = begin + 1; end <= layers; ++end) {
        time += times[end - 1];
        next[end] = std::min(next[end], std::max(best[begin], time));
      }
    }
    best = next;
  }
  return best[layers];
}

TEST(StageCuts, NoPartitionHasAFasterSlowestStage) {
  unsigned seed = testSeed();
  SCOPED_TRACE("PPC_TEST_SEED=" + std::to_string(seed));
  std::mt19937 engine(seed);
  auto below = [&](int64_t bound) { return std::uniform_int_distribution<int64_t>(0, bound - 1)(engine); };
  for (int i = 0; i < 2000; ++i) {
    int64_t layers = 1 + below(40), stages = 1 + below(std::min<int64_t>(layers, 12));
    std::vector<double> times(layers, 1), extra(stages, 0);
    if (below(2))
      for (double &time : times)
        time = below(3) ? 1 : 0.2 + 0.01 * double(below(300)); // some layers differ
    extra.front() += 0.1 * double(below(15));
    extra.back() += 0.1 * double(below(40));
    std::vector<int64_t> cut = cutAlike(times, extra);
    ASSERT_EQ(int64_t(cut.size()), stages);
    ASSERT_EQ(std::accumulate(cut.begin(), cut.end(), int64_t(0)), layers);
    double slowest = 0;
    int64_t begin = 0;
    for (int64_t stage = 0; stage < stages; begin += cut[stage++]) {
      ASSERT_GE(cut[stage], 1);
      slowest =
          std::max(slowest, std::accumulate(times.begin() + begin, times.begin() + begin + cut[stage], extra[stage]));
    }
    ASSERT_LE(slowest, leastSlowest(times, extra) * (1 + 1e-9)) << "case " << i;
  }
}

} // namespace
