// Random numbers: published vectors, statistics, independence of the layout.
#include "runtime/core/Random.h"
#include "runtime/core/Initialization.h"
#include "test/Runtime/Ranks.h"

#include <cmath>

using namespace ppcrt;
using namespace ppcrt::test;

namespace {

// The known-answer vectors of the authors' Random123 distribution (kat_vectors, philox4x32-10).
TEST(RandomTest, PhiloxKnownAnswers) {
  using Words = std::array<uint32_t, 4>;
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomTest, NormalMoments) {
  constexpr int count = 1 << 18;
  std::vector<double> values(count);
  RandomStream(7, "model.embed_tokens.weight").normal(0, count, values.data());
  double moments[5] = {};
  for (double value : values)
    for (int power = 1; power <= 4; ++power)
      moments[power] += std::pow(value, power) / count;
  EXPECT_NEAR(moments[1], 0, 0.01);
  EXPECT_NEAR(moments[2], 1, 0.015);
  EXPECT_NEAR(moments[3], 0, 0.04);
  EXPECT_NEAR(moments[4], 3, 0.1);
}

TEST(RandomTest, AnyPartOfASequenceIsTheSame) {
  RandomStream random(3, "x");
  std::vector<double> all(100), part(100);
  random.normal(0, 100, all.data());
  for (int first = 0; first < 20; ++first)
    for (int count : {1, 2, 3, 4, 5, 31}) {
      random.normal(first, count, part.data());
      for (int i = 0; i < count; ++i)
        ASSERT_EQ(part[i], all[first + i]);
    }
}

TEST(RandomTest, SeedAndNameMatter) {
  EXPECT_NE(RandomStream(0, "a").word(0), RandomStream(0, "b").word(0));
  EXPECT_NE(RandomStream(0, "a").word(0), RandomStream(1, "a").word(0));
  EXPECT_NE(RandomStream(0, "a").word(0), RandomStream(0, "a").word(1));
}

// Random shapes and cuts: every rank's block holds the logical values, its padding zeros, and the blocks cover the
// tensor.
TEST(InitializationTest, DoesNotDependOnTheLayout) {
  std::mt19937_64 random(testSeed());
  for (int turn = 0; turn < 100; ++turn) {
    Grid grid({{"dp", 1 + int64_t(random() % 3)}, {"tp", 1 + int64_t(random() % 4)}});
    Parameter parameter{"w", DataType::F32, {}, InitKind::Normal, 0.02, turn % 2 ? int64_t(random() % 2) : -1};
    int64_t dims = 1 + random() % 4;
    for (int64_t d = 0; d < dims; ++d)
      parameter.shape.push_back(1 + random() % 7);
    std::vector<Cut> cuts;
    int64_t first = random() % dims, second = random() % dims;
    if (random() % 2)
      cuts.push_back({first, {0, 1}});
    else if (first != second)
      cuts = {{first, {1}}, {second, {0}}};
    std::vector<double> logical(elementCount(parameter.shape));
    RandomStream(5, "w").normal(0, int64_t(logical.size()), logical.data());
    std::vector<int> covered(logical.size());
    for (int64_t rank = 0; rank < grid.rankCount(); ++rank) {
      Block block(grid, rank, parameter.shape, cuts);
      Buffer buffer{Role::Parameter, "w", "", 0, DataType::F32, block.localShape, cuts, block.localCount() * 4};
      std::vector<float> data(block.localCount(), NAN);
      initialize(reinterpret_cast<std::byte *>(data.data()), buffer, parameter, block, 5);
      for (int64_t i = 0; i < block.localCount(); ++i) {
        int64_t rest = i, index = 0, stride = 1;
        bool padding = false;
        for (int64_t d = dims - 1; d >= 0; --d) {
          int64_t at = block.start[d] + rest % block.localShape[d];
          rest /= block.localShape[d];
          padding |= at >= parameter.shape[d];
          index += at * stride;
          stride *= parameter.shape[d];
        }
        bool isZero = padding || index / (int64_t(logical.size()) / parameter.shape[0]) == parameter.zeroRow;
        ASSERT_EQ(data[i], isZero ? 0.0f : float(logical[index] * 0.02)) << "seed " << testSeed() << " turn " << turn;
        if (!padding)
          covered[index] = 1;
      }
    }
    ASSERT_EQ(std::accumulate(covered.begin(), covered.end(), 0), int(covered.size()));
  }
}

} // namespace
