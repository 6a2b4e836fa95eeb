// ppcrt_attention and its gradients against the definition in f64: random shapes, windows, groups and slopes, sizes
// that are no multiples of a tile, one query, more keys than queries, blocks of queries with padding.
#include "runtime/host/Attention.h"
#include "runtime/base/DataType.h"
#include "runtime/host/AttentionRows.h"
#include "runtime/host/PackedProduct.h"
#include "runtime/host/Threads.h"
#include "runtime/include/ppcrt.h"
#include "test/Runtime/Ranks.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace {

struct Shape {
  int64_t batch, queries, keys, heads, groups, keyDim, valueDim, causal, window;
  bool slopes;
  int64_t first = -1; // position of the first query among the keys; -1: the last query is at the last key
  int64_t firstQuery() const { return first < 0 ? keys - queries : first; }
};

std::ostream &operator<<(std::ostream &out, const Shape &s) {
  return out << "batch " << s.batch << ", queries " << s.queries << ", keys " << s.keys << ", heads " << s.heads
             << " x " << s.groups << ", dims " << s.keyDim << " and " << s.valueDim << ", causal " << s.causal
             << ", window " << s.window << ", slopes " << s.slopes << ", first at " << s.firstQuery();
}

struct Result {
  std::vector<double> out, lse, dq, dk, dv;
  double largestDq = 0, largestDk = 0; // of the sums of magnitudes, of the definition alone
};

struct Operands {
  std::vector<double> q, k, v, slopes, dout;
};

Operands draw(const Shape &s, std::mt19937_64 &random) {
  std::normal_distribution<double> normal;
  auto fill = [&](int64_t count) {
    std::vector<double> values(count);
    for (double &value : values) // exactly what a bf16 holds, so that all types begin with the same numbers
      value = ppcrt::bf16ToFloat(ppcrt::floatToBf16(float(normal(random))));
    return values;
  };
  int64_t rows = s.batch * s.queries * s.heads * s.groups, keyRows = s.batch * s.keys * s.heads;
  Operands in{fill(rows * s.keyDim), fill(keyRows * s.keyDim), fill(keyRows * s.valueDim), fill(s.heads * s.groups),
              fill(rows * s.valueDim)};
  for (double &slope : in.slopes) // scores of thousands would have few digits left in f32, however they are computed
    slope /= 64;
  return in;
}

Result definition(const Shape &s, const Operands &in, double scale) {
  int64_t heads = s.heads * s.groups, rows = s.batch * s.queries * heads;
  Result r{std::vector<double>(rows * s.valueDim), std::vector<double>(rows), std::vector<double>(in.q.size()),
           std::vector<double>(in.k.size()), std::vector<double>(in.v.size())};
  std::vector<double> dqSizes(in.q.size()), dkSizes(in.k.size()); // with the magnitudes of what is summed
  for (int64_t row = 0; row < rows; ++row) {
    int64_t head = row % heads, query = row / heads % s.queries, b = row / heads / s.queries,
            own = query + s.firstQuery();
    if (own >= s.keys)
      continue; // padding
    auto keyRow = [&](int64_t j) { return (b * s.keys + j) * s.heads + head / s.groups; };
    auto sees = [&](int64_t j) { return !s.causal || (j <= own && (!s.window || j > own - s.window)); };
    std::vector<double> p(s.keys), dp(s.keys);
    double sum = 0, delta = 0;
    for (int64_t j = 0; j < s.keys; ++j) {
      double dot = 0;
      for (int64_t d = 0; d < s.keyDim; ++d)
        dot += in.q[row * s.keyDim + d] * in.k[keyRow(j) * s.keyDim + d];
      p[j] = sees(j) ? scale * dot + (s.slopes ? in.slopes[head] * double(j - own) : 0) : -HUGE_VAL;
    }
    double largest = *std::max_element(p.begin(), p.end());
    for (double &power : p)
      sum += power = std::exp(power - largest);
    r.lse[row] = largest + std::log(sum);
    for (int64_t j = 0; j < s.keys; ++j) {
      p[j] /= sum;
      for (int64_t d = 0; d < s.valueDim; ++d) {
        r.out[row * s.valueDim + d] += p[j] * in.v[keyRow(j) * s.valueDim + d];
        dp[j] += in.dout[row * s.valueDim + d] * in.v[keyRow(j) * s.valueDim + d];
        r.dv[keyRow(j) * s.valueDim + d] += p[j] * in.dout[row * s.valueDim + d];
      }
      delta += p[j] * dp[j];
    }
    for (int64_t j = 0; j < s.keys; ++j)
      for (int64_t d = 0; d < s.keyDim; ++d) {
        r.dq[row * s.keyDim + d] += scale * p[j] * (dp[j] - delta) * in.k[keyRow(j) * s.keyDim + d];
        r.dk[keyRow(j) * s.keyDim + d] += scale * p[j] * (dp[j] - delta) * in.q[row * s.keyDim + d];
        double size = std::abs(scale) * p[j] * (std::abs(dp[j]) + std::abs(delta));
        dqSizes[row * s.keyDim + d] += size * std::abs(in.k[keyRow(j) * s.keyDim + d]);
        dkSizes[keyRow(j) * s.keyDim + d] += size * std::abs(in.q[row * s.keyDim + d]);
      }
  }
  r.largestDq = *std::max_element(dqSizes.begin(), dqSizes.end());
  r.largestDk = *std::max_element(dkSizes.begin(), dkSizes.end());
  return r;
}

template <typename T> T convert(double value) {
  if constexpr (std::is_same_v<T, uint16_t>)
    return ppcrt::floatToBf16(float(value));
  else
    return T(value);
}

template <typename T> std::vector<T> typed(const std::vector<double> &values) {
  std::vector<T> result;
  for (double value : values)
    result.push_back(convert<T>(value));
  return result;
}

template <typename T> std::vector<double> wide(const std::vector<T> &values) {
  std::vector<double> result;
  for (T value : values)
    if constexpr (std::is_same_v<T, uint16_t>)
      result.push_back(ppcrt::bf16ToFloat(value));
    else
      result.push_back(double(value));
  return result;
}

// T: of operands and results; Row: of logarithms and slopes. `wideProducts`: whether products of bf16 are products of
// f32.
template <typename T, typename Row>
Result call(int32_t type, const Shape &s, const Operands &in, double scale, bool wideProducts = false) {
  const int64_t desc[] = {2,        type,     s.batch,    s.queries, s.keys,  s.heads,
                          s.groups, s.keyDim, s.valueDim, s.causal,  s.window};
  std::vector<T> q = typed<T>(in.q), k = typed<T>(in.k), v = typed<T>(in.v), dout = typed<T>(in.dout);
  std::vector<Row> slopes = typed<Row>(in.slopes);
  const void *slope = s.slopes ? slopes.data() : nullptr;
  T garbage = convert<T>(std::nan(""));
  std::vector<T> out(dout.size(), garbage), dq(q.size(), garbage), dk(k.size(), garbage), dv(v.size(), garbage);
  std::vector<Row> lse(s.batch * s.queries * s.heads * s.groups, Row(NAN));
  for (int64_t row = 0; row < int64_t(lse.size()); ++row) // padding is not looked at
    if (row / (s.heads * s.groups) % s.queries + s.firstQuery() >= s.keys) {
      std::fill_n(q.begin() + row * s.keyDim, s.keyDim, garbage);
      std::fill_n(dout.begin() + row * s.valueDim, s.valueDim, garbage);
    }
  if (wideProducts == ppcrt::hasPackedProducts()) {
    ppcrt_attention(desc, scale, s.firstQuery(), q.data(), k.data(), v.data(), slope, out.data(), lse.data());
    ppcrt_attention_backward(desc, scale, s.firstQuery(), q.data(), k.data(), v.data(), out.data(), lse.data(),
                             dout.data(), slope, dq.data(), dk.data(), dv.data());
  } else {
    ppcrt::AttentionShape shape(desc, scale, s.firstQuery());
    ppcrt::attention(shape, wideProducts, q.data(), k.data(), v.data(), slope, out.data(), lse.data());
    ppcrt::attentionBackward(shape, wideProducts, q.data(), k.data(), v.data(), out.data(), lse.data(), dout.data(),
                             slope, dq.data(), dk.data(), dv.data());
  }
  return {wide(out), wide(lse), wide(dq), wide(dk), wide(dv)};
}

// The largest difference, relative to the largest value, or to a tenth of the largest sum of magnitudes: where each
// query sees one key (a window of one), the gradients of queries and keys are zero, and rounding is all that is left.
double difference(const std::vector<double> &a, const std::vector<double> &b, double magnitudes = 0) {
  double largest = std::max(1e-300, magnitudes / 10), apart = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(b[i]));
    apart = std::max(apart, std::isnan(a[i]) ? HUGE_VAL : std::abs(a[i] - b[i]));
  }
  return apart / largest;
}

void compare(const Shape &shape, uint64_t seed) {
  std::mt19937_64 random(seed);
  Operands in = draw(shape, random);
  double scale = 1 / std::sqrt(double(shape.keyDim));
  Result expected = definition(shape, in, scale);
  struct {
    const char *name;
    Result result;
    double tolerance;
  } results[] = {{"f32", call<float, float>(PPCRT_F32, shape, in, scale), 1e-5},
                 {"bf16", call<uint16_t, float>(PPCRT_BF16, shape, in, scale), 3e-2},
                 {"wide bf16", call<uint16_t, float>(PPCRT_BF16, shape, in, scale, true), 3e-2},
                 {"f64", call<double, double>(PPCRT_F64, shape, in, scale), 1e-12}};
  for (auto &[name, result, tolerance] : results) {
    EXPECT_LT(difference(result.out, expected.out), tolerance) << name << ", " << shape << ", seed " << seed;
    EXPECT_LT(difference(result.lse, expected.lse), tolerance) << name << ", " << shape << ", seed " << seed;
    EXPECT_LT(difference(result.dq, expected.dq, expected.largestDq), tolerance)
        << name << ", " << shape << ", seed " << seed;
    EXPECT_LT(difference(result.dk, expected.dk, expected.largestDk), tolerance)
        << name << ", " << shape << ", seed " << seed;
    EXPECT_LT(difference(result.dv, expected.dv), tolerance) << name << ", " << shape << ", seed " << seed;
  }
}

TEST(Attention, AgreesWithItsDefinition) {
  const Shape shapes[] = {
      {1, 1, 1, 1, 1, 1, 1, 1, 0, false},
      {2, 64, 64, 2, 1, 16, 16, 1, 0, false}, // whole tiles
      {1, 1, 130, 1, 2, 8, 8, 1, 0, false},   // one query, more keys
      {1, 130, 130, 1, 1, 8, 8, 1, 0, false},
      {2, 65, 65, 2, 3, 5, 7, 1, 0, true}, // one more than a tile
      {1, 200, 200, 1, 1, 16, 16, 1, 3, false},
      {1, 200, 200, 1, 1, 16, 16, 1, 100, true},   // windows in and over a tile
      {1, 50, 90, 2, 2, 16, 16, 1, 1, false},      // one key a query
      {2, 31, 101, 2, 2, 16, 16, 1, 1, false, 89}, // and padding
      {1, 7, 300, 1, 1, 16, 16, 1, 64, false},
      {1, 70, 33, 2, 1, 8, 8, 0, 0, false}, // more queries than keys
      {1, 20, 3000, 1, 1, 8, 8, 1, 0, false},
      {1, 100, 2000, 1, 1, 8, 8, 0, 0, true}, // tiles of fewer queries
  };
  for (const Shape &shape : shapes)
    compare(shape, 1);
}

TEST(Attention, AgreesWithItsDefinitionOnRandomShapes) {
  uint64_t first = ppcrt::test::testSeed();
  for (uint64_t seed = first; seed < first + 12; ++seed) {
    std::mt19937_64 random(seed);
    auto size = [&](int64_t most) { return int64_t(random() % uint64_t(most)) + 1; };
    Shape shape{size(2), size(150),        0, size(3), size(3), size(24), size(24), int64_t(random() % 2),
                0,       random() % 2 == 0};
    shape.keys = shape.queries + size(100) - 1;
    if (shape.causal && random() % 2)
      shape.window = size(shape.keys + 10);
    if (random() % 2) // some of the first blocks, or one that is padding in part or as a whole
      shape.first = size(shape.keys + 5) - 1;
    compare(shape, seed);
  }
}

// Queries cut in blocks: the blocks' results are those of the whole, gradients of keys and values add up to them.
TEST(Attention, BlocksOfQueriesMakeTheWhole) {
  const int64_t queries = 150, blocks = 4, local = 38; // the last block has two rows of padding
  for (int64_t window : {0, 50}) {
    Shape shape{2, queries, queries + 3, 2, 2, 8, 6, 1, window, true};
    std::mt19937_64 random(1);
    Operands in = draw(shape, random);
    Result whole = call<double, double>(PPCRT_F64, shape, in, 0.3), sum = whole;
    std::fill(sum.dk.begin(), sum.dk.end(), 0);
    std::fill(sum.dv.begin(), sum.dv.end(), 0);
    int64_t heads = shape.heads * shape.groups;
    for (int64_t block = 0; block < blocks; ++block) {
      Shape part = shape;
      part.queries = local;
      part.first = 3 + block * local;
      auto forRows = [&](auto body) { // rows of the block and of the whole
        for (int64_t b = 0; b < shape.batch; ++b)
          for (int64_t i = 0; i < local && block * local + i < queries; ++i)
            for (int64_t head = 0; head < heads; ++head)
              body((b * local + i) * heads + head, (b * queries + block * local + i) * heads + head);
      };
      int64_t rows = shape.batch * local * heads;
      Operands mine{std::vector<double>(rows * 8), in.k, in.v, in.slopes, std::vector<double>(rows * 6)};
      forRows([&](int64_t to, int64_t from) {
        std::copy_n(in.q.begin() + from * 8, 8, mine.q.begin() + to * 8);
        std::copy_n(in.dout.begin() + from * 6, 6, mine.dout.begin() + to * 6);
      });
      Result got = call<double, double>(PPCRT_F64, part, mine, 0.3);
      forRows([&](int64_t mineAt, int64_t at) {
        std::copy_n(got.out.begin() + mineAt * 6, 6, sum.out.begin() + at * 6);
        std::copy_n(got.dq.begin() + mineAt * 8, 8, sum.dq.begin() + at * 8);
        sum.lse[at] = got.lse[mineAt];
      });
      for (size_t i = 0; i < got.dk.size(); ++i)
        sum.dk[i] += got.dk[i];
      for (size_t i = 0; i < got.dv.size(); ++i)
        sum.dv[i] += got.dv[i];
    }
    for (auto [found, expected] :
         {std::pair(&sum.out, &whole.out), std::pair(&sum.lse, &whole.lse), std::pair(&sum.dq, &whole.dq),
          std::pair(&sum.dk, &whole.dk), std::pair(&sum.dv, &whole.dv)})
      EXPECT_LT(difference(*found, *expected), 1e-12) << shape;
  }
}

void expectSameBits(const Result &a, const Result &b, const char *type, const Shape &shape, int threads) {
  EXPECT_TRUE(a.out == b.out && a.lse == b.lse && a.dq == b.dq && a.dk == b.dk && a.dv == b.dv)
      << type << " with " << threads << " threads, " << shape;
}

// The same bits from every number of threads, and again: heads are computed side by side, in no fixed order.
TEST(Attention, DoesNotDependOnTheNumberOfThreads) {
  int before = ppcrt::libraryThreads();
  const Shape shapes[] = {{2, 200, 200, 3, 2, 32, 24, 1, 0, true},
                          {1, 150, 190, 1, 5, 64, 64, 1, 70, false},
                          {3, 64, 100, 2, 1, 16, 16, 0, 0, false}};
  for (const Shape &shape : shapes) {
    std::mt19937_64 random(1);
    Operands in = draw(shape, random);
    ppcrt::setLibraryThreads(1);
    Result f32 = call<float, float>(PPCRT_F32, shape, in, 0.125),
           bf16 = call<uint16_t, float>(PPCRT_BF16, shape, in, 0.125),
           wide = call<uint16_t, float>(PPCRT_BF16, shape, in, 0.125, true);
    for (int threads : {2, 3, 5, 2}) {
      ppcrt::setLibraryThreads(threads);
      expectSameBits(call<float, float>(PPCRT_F32, shape, in, 0.125), f32, "f32", shape, threads);
      expectSameBits(call<uint16_t, float>(PPCRT_BF16, shape, in, 0.125), bf16, "bf16", shape, threads);
      expectSameBits(call<uint16_t, float>(PPCRT_BF16, shape, in, 0.125, true), wide, "wide bf16", shape, threads);
    }
  }
  ppcrt::setLibraryThreads(before);
}

// Each index once, whatever the number of threads and of indices; library calls within have one thread.
// What products of f32 read is what products of bf16 read, also where it is no number (AttentionRows.cpp).
TEST(Attention, WideRowsHoldTheSameNumbers) {
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  for (int64_t length : {16, 64, 208}) {
    std::vector<float> scores(length), gradients(length);
    for (auto *values : {&scores, &gradients})
      for (float &value : *values)
        value = normal(random);
    gradients[3] = NAN, gradients[5] = INFINITY;
    auto rowOf = [&](std::vector<float> &values) {
      return ppcrt::ScoreRow<float>{values.data(), length, 1, length - 2, 0.5f, 0.1f, length / 2};
    };
    std::vector<ppcrt::Bf16> powers(length), out(length);
    std::vector<float> s = scores, wide = scores, g = gradients, wideOut = gradients;
    auto inPlace = [](std::vector<float> &values) { return reinterpret_cast<ppcrt::WideBf16 *>(values.data()); };
    float maximum, sum, wideMaximum, wideSum;
    powersOfRow(rowOf(s), powers.data(), maximum, sum);
    powersOfRow(rowOf(wide), inPlace(wide), wideMaximum, wideSum);
    EXPECT_EQ(maximum, wideMaximum);
    EXPECT_EQ(sum, wideSum);
    auto expectSame = [&](const std::vector<ppcrt::Bf16> &narrow, const std::vector<float> &wide) {
      for (int64_t j = 0; j < length; ++j) {
        float expected = ppcrt::bf16ToFloat(narrow[j].bits);
        EXPECT_TRUE(expected == wide[j] || (std::isnan(expected) && std::isnan(wide[j]))) << wide[j] << " at " << j;
      }
    };
    expectSame(powers, wide);
    s = wide = scores;
    scoreGradientsOfRow(rowOf(s), 0.25f, powers.data(), g.data(), 0.5f, out.data());
    scoreGradientsOfRow(rowOf(wide), 0.25f, inPlace(wide), wideOut.data(), 0.5f, inPlace(wideOut));
    expectSame(powers, wide);
    expectSame(out, wideOut);
    std::vector<ppcrt::WideBf16> widened(length);
    widenRow(out.data(), length, widened.data());
    for (int64_t j = 0; j < length; ++j)
      EXPECT_EQ(std::isnan(wideOut[j]) ? 0 : wideOut[j], std::isnan(widened[j].value) ? 0 : widened[j].value);
  }
}

TEST(Threads, TakeEachTurnOnce) {
  int before = ppcrt::libraryThreads();
  for (int threads : {1, 2, 4})
    for (int64_t count : {0, 1, 2, 3, 100}) {
      ppcrt::setLibraryThreads(threads);
      std::vector<int> turns(count), inside(count);
      ppcrt::forEachOnThreads(count, [&](int64_t i) {
        ++turns[i];
        inside[i] = ppcrt::libraryThreads();
      });
      EXPECT_EQ(turns, std::vector<int>(count, 1)) << threads << " threads";
      EXPECT_EQ(inside, std::vector<int>(count, 1)) << threads << " threads";
      EXPECT_EQ(ppcrt::libraryThreads(), threads);
    }
  ppcrt::setLibraryThreads(before);
}

} // namespace
