// ppcrt_gemm against the definition: random sizes, strides, loops and accumulation.
#include "runtime/host/PackedProduct.h"
#include "runtime/host/WidenedProduct.h"
#include "runtime/program/GemmProblem.h"
#include "test/Runtime/Ranks.h"

#include <cmath>

using namespace ppcrt;
using namespace ppcrt::test;

namespace {

struct Case {
  std::vector<int64_t> desc;
  int64_t aSize, bSize, cSize; // elements that the strides reach
};

// The definition, in f64. A summed loop without turns is an empty sum: one turn with k = 0.
template <typename T>
void multiplyDirectly(std::vector<int64_t> d, const std::vector<T> &a, const std::vector<T> &b,
                      std::vector<double> &c) {
  int64_t loops = d[12], turns = 1;
  for (int64_t i = 0; i < loops; ++i)
    if (d[13 + 4 * i] == 0 && d[16 + 4 * i] == 0)
      d[13 + 4 * i] = 1, d[5] = 0;
  for (int64_t i = 0; i < loops; ++i)
    turns *= d[13 + 4 * i];
  for (int64_t turn = 0; turn < turns; ++turn) {
    int64_t ao = 0, bo = 0, co = 0, rest = turn;
    bool first = true;
    for (int64_t i = loops - 1; i >= 0; --i) {
      const int64_t *loop = &d[13 + 4 * i];
      int64_t index = rest % loop[0];
      rest /= loop[0];
      ao += index * loop[1], bo += index * loop[2], co += index * loop[3];
      first &= loop[3] != 0 || index == 0;
    }
    for (int64_t i = 0; i < d[3]; ++i)
      for (int64_t j = 0; j < d[4]; ++j) {
        double sum = 0;
        for (int64_t l = 0; l < d[5]; ++l)
          sum += double(a[ao + i * d[6] + l * d[7]]) * double(b[bo + l * d[8] + j * d[9]]);
        double &out = c[co + i * d[10] + j * d[11]];
        out = (d[2] || !first ? out : 0) + sum;
      }
  }
}

// Lays out dimensions (sizes, which may be broadcast with stride 0) in random order with random gaps.
std::vector<int64_t> randomStrides(const std::vector<int64_t> &sizes, const std::vector<bool> &broadcast,
                                   std::mt19937_64 &random, int64_t &extent) {
  std::vector<int> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  if (random() % 2)
    std::shuffle(order.begin(), order.end(), random);
  else
    std::reverse(order.begin(), order.end());
  std::vector<int64_t> strides(sizes.size(), 0);
  int64_t stride = random() % 6 == 0 ? 2 : 1;
  extent = 1;
  for (int dim : order) {
    if (broadcast[dim])
      continue;
    strides[dim] = stride;
    extent += (std::max<int64_t>(sizes[dim], 1) - 1) * stride;
    stride = std::max<int64_t>(sizes[dim], 1) * stride + (random() % 4 == 0 ? random() % 3 : 0);
  }
  return strides;
}

Case randomCase(std::mt19937_64 &random, int64_t type) {
  auto size = [&]() -> int64_t { return random() % 25 == 0 ? 0 : random() % 5 == 0 ? 1 : 1 + random() % 20; };
  int64_t loops = random() % 4;
  std::vector<int64_t> m{size()}, loopSizes;
  int64_t n = size(), k = size();
  // Dimension lists: A = m, k, loops; B = k, n, loops; C = m, n, loops.
  std::vector<int64_t> a{m[0], k}, b{k, n}, c{m[0], n};
  std::vector<bool> aCast(2, false), bCast(2, false), cCast(2, false);
  for (int64_t i = 0; i < loops; ++i) {
    loopSizes.push_back(random() % 20 == 0 ? 0 : 1 + random() % 4);
    for (auto *list : {&a, &b, &c})
      list->push_back(loopSizes.back());
    unsigned kind = random() % 4; // a batch, a row or column dimension, or a sum
    aCast.push_back(kind == 1);
    bCast.push_back(kind == 2);
    cCast.push_back(kind == 3);
  }
  if (random() % 10 == 0)
    aCast[random() % 2] = true;
  Case result;
  std::vector<int64_t> as = randomStrides(a, aCast, random, result.aSize);
  std::vector<int64_t> bs = randomStrides(b, bCast, random, result.bSize);
  std::vector<int64_t> cs = randomStrides(c, cCast, random, result.cSize);
  result.desc = {1, type, int64_t(random() % 2), m[0], n, k, as[0], as[1], bs[0], bs[1], cs[0], cs[1], loops};
  for (int64_t i = 0; i < loops; ++i)
    result.desc.insert(result.desc.end(), {loopSizes[i], as[2 + i], bs[2 + i], cs[2 + i]});
  return result;
}

template <typename T> void checkRandomCases(int64_t type, double tolerance, int count) {
  std::mt19937_64 random(testSeed() + type);
  std::uniform_real_distribution<T> uniform(-1, 1);
  for (int i = 0; i < count; ++i) {
    Case test = randomCase(random, type);
    std::vector<T> a(test.aSize), b(test.bSize), c(test.cSize);
    for (auto *values : {&a, &b, &c})
      for (T &value : *values)
        value = uniform(random);
    std::vector<double> expected(c.begin(), c.end());
    multiplyDirectly(test.desc, a, b, expected);
    ppcrt_gemm(test.desc.data(), a.data(), b.data(), c.data());
    std::string text;
    for (int64_t value : test.desc)
      text += std::to_string(value) + " ";
    for (size_t at = 0; at < c.size(); ++at)
      ASSERT_NEAR(c[at], expected[at], tolerance * (1 + std::fabs(expected[at])))
          << "case " << i << ", element " << at << ", descriptor " << text;
  }
}

TEST(GemmTest, RandomF32) { checkRandomCases<float>(PPCRT_F32, 2e-5, 3000); }
// The descriptor of version 2 for operands of bf16.
std::vector<int64_t> mixed(std::vector<int64_t> desc, int64_t result) {
  desc[0] = 2, desc[1] = PPCRT_BF16;
  desc.insert(desc.begin() + 3, result);
  return desc;
}

// The same with a and b in bf16, `toOut` and `fromOut` between f32 and C's type. A bf16 result is rounded once: it is
// off by half of its last place at most, 2^-8 of it, besides what f32 sums lose.
template <typename Out, typename ToOut, typename FromOut>
void checkMixedCases(int64_t result, double tolerance, int count, ToOut toOut, FromOut fromOut) {
  std::mt19937_64 random(testSeed() + 10 + result);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (int i = 0; i < count; ++i) {
    Case test = randomCase(random, PPCRT_F32);
    auto fill = [&](int64_t size) {
      std::vector<uint16_t> values(size);
      for (uint16_t &value : values)
        value = floatToBf16(uniform(random));
      return values;
    };
    std::vector<uint16_t> a = fill(test.aSize), b = fill(test.bSize);
    std::vector<Out> c(test.cSize);
    for (Out &value : c)
      value = toOut(uniform(random));
    std::vector<double> wideA, wideB, expected;
    for (uint16_t value : a)
      wideA.push_back(bf16ToFloat(value));
    for (uint16_t value : b)
      wideB.push_back(bf16ToFloat(value));
    for (Out value : c)
      expected.push_back(fromOut(value));
    multiplyDirectly(test.desc, wideA, wideB, expected);
    std::vector<int64_t> desc = mixed(test.desc, result);
    ppcrt_gemm(desc.data(), a.data(), b.data(), c.data());
    std::string text;
    for (int64_t value : desc)
      text += std::to_string(value) + " ";
    for (size_t at = 0; at < c.size(); ++at)
      ASSERT_NEAR(fromOut(c[at]), expected[at], 2e-5 + tolerance * std::fabs(expected[at]))
          << "case " << i << ", element " << at << ", descriptor " << text;
  }
}

TEST(GemmTest, RandomBf16ToF32) {
  auto same = [](float value) { return value; };
  checkMixedCases<float>(PPCRT_F32, 2e-5, 3000, same, same);
}
TEST(GemmTest, RandomBf16ToBf16) {
  checkMixedCases<uint16_t>(PPCRT_BF16, 1.0 / 256 + 2e-5, 3000, floatToBf16, bf16ToFloat);
}

// Large enough for the fast implementations, whose sums must not be rounded to bf16 on the way: 1 + k/4096 cannot be.
TEST(GemmTest, Bf16SumsAreF32) {
  int64_t m = 130, n = 257, k = 4096;
  for (bool ta : {false, true})
    for (bool tb : {false, true}) {
      std::vector<int64_t> desc =
          mixed({1, 0, 0, m, n, k, ta ? 1 : k, ta ? m : 1, tb ? 1 : n, tb ? k : 1, n, 1, 0}, PPCRT_F32);
      std::vector<uint16_t> a(m * k, floatToBf16(1.0f)), b(k * n, floatToBf16(1.0f / 4096));
      for (int64_t i = 0; i < m; ++i)
        a[i * (ta ? 1 : k)] = floatToBf16(float(i % 100) + 1);
      std::vector<float> c(m * n, NAN);
      ppcrt_gemm(desc.data(), a.data(), b.data(), c.data());
      for (int64_t i = 0; i < m * n; ++i)
        ASSERT_NEAR(c[i], 1 + float(i / n % 100) / 4096, 1e-6);
    }
}

template <typename T, typename Values> T *as(Values &values) { return reinterpret_cast<T *>(values.data()); }

// Operands whose panels are all kept, those of A, of B and of neither.
constexpr std::array<int64_t, 3> packedSizes[] = {
    {70, 1040, 300}, {1040, 200, 520}, {150, 1040, 1029}, {1040, 1040, 530}};

// Sizes beyond those of a piece (WidenedProduct.cpp) and of blocks (PackedProduct.cpp) in each dimension, operands in
// both orders, C in rows, in columns and with gaps. A sample of elements is compared.
template <typename Out, typename ToOut, typename FromOut>
void checkPieces(int64_t result, double tolerance, PieceProduct by, ToOut toOut, FromOut fromOut,
                 std::array<int64_t, 3> sizes = {1040, 517, 1029}) {
  std::mt19937_64 random(testSeed() + 30 + result);
  std::uniform_real_distribution<float> uniform(-1, 1);
  int64_t m = sizes[0], n = sizes[1], k = sizes[2], gap = 3;
  std::vector<uint16_t> a(m * k), b(k * n);
  for (auto *factors : {&a, &b})
    for (uint16_t &value : *factors)
      value = floatToBf16(uniform(random));
  std::vector<Out> values((m + gap) * (n + gap));
  for (Out &value : values)
    value = toOut(uniform(random));
  for (int way = 0; way < 16; ++way) {
    bool ta = way & 1, tb = way & 2, accumulate = way & 4, columns = way & 8;
    int64_t cRow = columns ? 1 : n + gap, cCol = columns ? m + gap : 1;
    std::vector<int64_t> desc =
        mixed({1, 0, accumulate, m, n, k, ta ? 1 : k, ta ? m : 1, tb ? 1 : n, tb ? k : 1, cRow, cCol, 0}, result);
    std::vector<Out> before(values.begin(), values.begin() + (columns ? n * cCol : m * cRow));
    std::vector<Out> c = before;
    multiplyWidened(GemmProblem(desc.data()), accumulate, as<Bf16>(a), as<Bf16>(b),
                    as<std::conditional_t<std::is_same_v<Out, float>, float, Bf16>>(c), by);
    std::vector<char> written(c.size());
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        written[i * cRow + j * cCol] = true;
    for (size_t at = 0; at < c.size(); ++at)
      if (!written[at])
        ASSERT_EQ(fromOut(c[at]), fromOut(before[at])) << "a place between rows, way " << way;
    for (int sample = 0; sample < 300; ++sample) {
      int64_t i = sample < 150 ? int64_t(random() % m) : m - 1 - sample % 8, j = int64_t(random() % n);
      double sum = accumulate ? fromOut(before[i * cRow + j * cCol]) : 0;
      for (int64_t l = 0; l < k; ++l)
        sum += double(bf16ToFloat(a[ta ? l * m + i : i * k + l])) * bf16ToFloat(b[tb ? j * k + l : l * n + j]);
      ASSERT_NEAR(fromOut(c[i * cRow + j * cCol]), sum, 1e-4 + tolerance * std::fabs(sum))
          << "way " << way << ", element " << i << ", " << j;
    }
  }
}

TEST(GemmTest, PiecesOfBf16ToF32) {
  auto same = [](float value) { return value; };
  checkPieces<float>(PPCRT_F32, 0, PieceProduct::OneDnn, same, same);
}
TEST(GemmTest, PiecesOfBf16ToBf16) {
  checkPieces<uint16_t>(PPCRT_BF16, 1.0 / 256, PieceProduct::OneDnn, floatToBf16, bf16ToFloat);
}
TEST(GemmTest, PackedBf16ToF32) {
  if (!hasPackedProducts())
    GTEST_SKIP() << "no processor for them";
  auto same = [](float value) { return value; };
  for (std::array<int64_t, 3> sizes : packedSizes)
    checkPieces<float>(PPCRT_F32, 0, PieceProduct::Packed, same, same, sizes);
}
TEST(GemmTest, PackedBf16ToBf16) {
  if (!hasPackedProducts())
    GTEST_SKIP() << "no processor for them";
  for (std::array<int64_t, 3> sizes : packedSizes)
    checkPieces<uint16_t>(PPCRT_BF16, 1.0 / 256, PieceProduct::Packed, floatToBf16, bf16ToFloat, sizes);
}
// Sums are the same whatever C's type is, and rounded as floatToBf16() rounds, what is no number also.
TEST(GemmTest, PackedBf16RoundsItsSumsOnce) {
  if (!hasPackedProducts())
    GTEST_SKIP() << "no processor for them";
  std::mt19937_64 random(testSeed() + 40);
  for (int64_t k : {40, 512, 513, 1100}) {
    int64_t m = 1 + int64_t(random() % 40), n = 1 + int64_t(random() % 60);
    std::vector<Bf16> a(m * k), b(k * n), c(m * n);
    std::vector<float> sums(m * n);
    for (auto *factors : {&a, &b})
      for (Bf16 &value : *factors)
        value.bits = uint16_t(0x3f80 | (random() & 0x80ff));
    for (uint16_t bits : {0x7f80, 0xff80, 0x7fff, 0xffff, 0x7f81})
      a[random() % a.size()].bits = bits;
    multiplyPacked(m, n, k, {a.data(), k, 1}, {b.data(), n, 1}, false, sums.data(), n);
    multiplyPacked(m, n, k, {a.data(), k, 1}, {b.data(), n, 1}, false, c.data(), n);
    for (int64_t i = 0; i < m * n; ++i)
      ASSERT_EQ(c[i].bits, floatToBf16(sums[i])) << sums[i] << ", " << m << " x " << n << " x " << k;
  }
}

TEST(GemmTest, RandomF64) { checkRandomCases<double>(PPCRT_F64, 1e-12, 1000); }

TEST(GemmTest, LargerSizes) {
  std::mt19937_64 random(testSeed());
  for (bool ta : {false, true})
    for (bool tb : {false, true}) {
      int64_t m = 130, n = 257, k = 96;
      std::vector<int64_t> desc = {1, 0, 0, m, n, k, ta ? 1 : k, ta ? m : 1, tb ? 1 : n, tb ? k : 1, n, 1, 0};
      std::vector<float> a(m * k), b(k * n), c(m * n, NAN); // C = must not read C
      for (auto *values : {&a, &b})
        for (float &value : *values)
          value = float(random() % 1000) / 1000 - 0.5f;
      std::vector<double> expected(m * n);
      multiplyDirectly(desc, a, b, expected);
      ppcrt_gemm(desc.data(), a.data(), b.data(), c.data());
      for (int64_t i = 0; i < m * n; ++i)
        ASSERT_NEAR(c[i], expected[i], 1e-4);
    }
}

// The products of attention with grouped heads on [b,s,k,g,d] and [b,t,k,d], where loops remain after normalization and
// one operand repeats over g.
TEST(GemmTest, AttentionWithGroupedHeads) {
  struct {
    int64_t b, s, t, k, g, d;
  } sizes[] = {{2, 16, 16, 2, 3, 8}, {1, 33, 17, 1, 2, 5}, {3, 8, 8, 4, 1, 16}};
  for (auto [b, s, t, k, g, d] : sizes)
    for (int64_t accumulate : {0, 1}) {
      int64_t qr = k * g * d, kr = k * d;
      std::vector<std::vector<int64_t>> descs = {
          // scores [b,k,g,s,t] = q [b,s,k,g,d] * key [b,t,k,d]
          {1,      0,      accumulate,    s, t,     d, qr,        1, 1, kr, t,    1, 3, b,
           s * qr, t * kr, k * g * s * t, k, g * d, d, g * s * t, g, d, 0,  s * t},
          // out [b,s,k,g,d] = p [b,k,g,s,t] * value [b,t,k,d]
          {1,      0,      accumulate, s,         d, t,     t, 1,     kr, 1, qr, 1, 3, b, k * g * s * t,
           t * kr, s * qr, k,          g * s * t, d, g * d, g, s * t, 0,  d},
          // dvalue [b,t,k,d] = p^T [b,k,g,s,t] * dout [b,s,k,g,d], summed over g
          {1,      0,      accumulate, t,         d,     s, 1, t,     qr, 1, kr, 1, 3, b, k * g * s * t,
           s * qr, t * kr, k,          g * s * t, g * d, d, g, s * t, d,  0},
      };
      for (const std::vector<int64_t> &desc : descs) {
        std::mt19937_64 random(testSeed());
        std::vector<float> x(b * s * std::max(qr, k * g * t)), y(x.size() + b * t * kr), z(x.size() + y.size());
        for (auto *values : {&x, &y, &z})
          for (float &value : *values)
            value = float(random() % 1000) / 1000 - 0.5f;
        std::vector<double> expected(z.begin(), z.end());
        multiplyDirectly(desc, x, y, expected);
        for (int turn = 0; turn < 2; ++turn) { // the second one takes the cached primitive
          std::vector<float> out = z;
          ppcrt_gemm(desc.data(), x.data(), y.data(), out.data());
          for (size_t i = 0; i < out.size(); ++i)
            ASSERT_NEAR(out[i], expected[i], 1e-5) << "s=" << s << " accumulate " << accumulate;
        }
      }
    }
}

TEST(GemmTest, EmptySumWritesZerosEvenOverNaN) {
  std::vector<float> c(6, NAN), none(1);
  int64_t desc[] = {1, 0, 0, 2, 3, 0, 0, 1, 3, 1, 3, 1, 0};
  ppcrt_gemm(desc, none.data(), none.data(), c.data());
  EXPECT_EQ(c, std::vector<float>(6, 0));
}

TEST(GemmTest, NormalFormFoldsABatchIntoRowsAndHeadsIntoColumns) {
  // "bsh,kdh->bskd" with b=2, s=3, h=5, k=4, d=7: one 6 x 28 x 5 product.
  int64_t desc[] = {1, 0, 0, 3, 7, 5, 5, 1, 1, 5, 28, 1, 2, 2, 15, 0, 84, 4, 0, 35, 7};
  GemmProblem problem(desc);
  problem.normalize();
  EXPECT_EQ(problem.loopCount, 0);
  EXPECT_EQ(problem.m, 6);
  EXPECT_EQ(problem.n, 28);
  EXPECT_EQ(problem.k, 5);
}

} // namespace
