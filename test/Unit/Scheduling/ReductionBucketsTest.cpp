// Buckets of gradients against all partitions of random lists of them.
#include "ppc/Scheduling/ReductionBuckets.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <random>

using namespace mlir::ppc;

namespace {

/// End of the last bucket's reduction; a bucket ends after each gradient whose bit is set.
double endOf(const std::vector<ReductionPiece> &pieces, uint32_t cuts, double latency, double perByte) {
  double free = 0, bytes = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    bytes += pieces[i].bytes.value;
    if (i + 1 < pieces.size() && !(cuts >> i & 1))
      continue;
    free = std::max(free, pieces[i].ready.value) + latency + perByte * bytes;
    bytes = 0;
  }
  return free;
}

size_t countOf(uint32_t cuts) { return 1 + __builtin_popcount(cuts); }

} // namespace

TEST(ReductionBuckets, AreTheBestOfAllPartitions) {
  for (uint32_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    auto below = [&](uint32_t most) { return double(std::uniform_int_distribution<uint32_t>(0, most)(random)); };
    std::vector<ReductionPiece> pieces;
    double ready = 0;
    for (size_t i = 0, n = 1 + size_t(below(8)); i < n; ++i) {
      ready += below(20);
      pieces.push_back({Seconds(ready), Bytes(1 + below(30))});
    }
    double latency = below(10), perByte = below(8) / 4, slack = below(3);
    auto time = [&](Bytes bytes) { return Seconds(latency + perByte * bytes.value); };
    std::vector<double> best(pieces.size() + 1, 1e9); // by number of buckets
    for (uint32_t cuts = 0; cuts < 1u << (pieces.size() - 1); ++cuts)
      best[countOf(cuts)] = std::min(best[countOf(cuts)], endOf(pieces, cuts, latency, perByte));
    double least = *std::min_element(best.begin(), best.end());
    ReductionBuckets found = chooseReductionBuckets(pieces, time, Seconds(slack));
    uint32_t cuts = 0;
    for (size_t end : found.ends)
      cuts |= end < pieces.size() ? 1u << (end - 1) : 0;
    EXPECT_NEAR(found.end.value, endOf(pieces, cuts, latency, perByte), 1e-9);
    EXPECT_LE(found.end.value, least + slack + 1e-9);
    for (size_t fewer = 1; fewer < found.ends.size(); ++fewer)
      EXPECT_GT(best[fewer], least + slack);
    size_t asked = 1 + size_t(below(9));
    ReductionBuckets forced = chooseReductionBuckets(pieces, time, Seconds(slack), asked);
    EXPECT_EQ(forced.ends.size(), std::min(asked, pieces.size()));
    EXPECT_NEAR(forced.end.value, best[forced.ends.size()], 1e-9);
  }
}

// The first layers' gradients are hidden; the last bucket is exposed.
TEST(ReductionBuckets, HideAllButTheLast) {
  std::vector<ReductionPiece> pieces;
  for (int layer = 1; layer <= 32; ++layer)
    pieces.push_back({Seconds(layer), Bytes(1)});
  ReductionBuckets found =
      chooseReductionBuckets(pieces, [](Bytes bytes) { return Seconds(0.1 + 0.5 * bytes.value); }, Seconds(0.05));
  EXPECT_NEAR(found.end.value, 32.6, 0.05 + 1e-9);
  EXPECT_LT(found.ends.size(), 8u);
  ReductionBuckets latency = chooseReductionBuckets(pieces, [](Bytes) { return Seconds(100); }, Seconds(0.05));
  EXPECT_EQ(latency.ends.size(), 1u);
}
