// Sixteen lanes at a time, each with its own maximum and sum, so that the order of additions does not depend on the
// machine.
#include "runtime/host/AttentionRows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

// The function is compiled several times, and the processor decides which one runs.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define FOR_EACH_PROCESSOR __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif

// Into each version of its caller, to be compiled for that processor.
#define INLINE inline __attribute__((always_inline))

namespace ppcrt {
namespace {

constexpr int lanes = 16;

// Where results go: said as one pointer where it is the same memory, so that the loops need no check for overlap.
INLINE float *destination(float *scores, float *) { return scores; }
INLINE WideBf16 *destination(float *scores, WideBf16 *) { return reinterpret_cast<WideBf16 *>(scores); }
INLINE Bf16 *destination(float *, Bf16 *out) { return out; }

INLINE float toSum(Bf16 value) { return bf16ToFloat(value.bits); }
INLINE float toSum(float value) { return value; }
INLINE void store(float value, float &out) { out = value; }
INLINE void store(float value, Bf16 &out) { out.bits = floatToBf16(value); }
INLINE void store(float value, WideBf16 &out) { out.value = bf16ToFloat(floatToBf16(value)); }

// e^x for x <= 88, within 2 units in the last place; 0 below -87. The remainder of x / ln 2 goes through a polynomial
// (Cody and Waite's two parts of ln 2, Cephes' coefficients), the quotient into the exponent.
INLINE float exponential(float x) {
  constexpr float rounding = 12582912.0f; // adding 1.5 * 2^23 leaves no bits for a fraction
  float shifted = x * 1.44269504088896341f + rounding;
  float quotient = shifted - rounding;
  float r = x - quotient * 0.693359375f + quotient * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  uint32_t bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  uint32_t scaleBits = (bits << 23) + 0x3f800000; // the quotient is in the low bits of the sum
  float scale;
  std::memcpy(&scale, &scaleBits, sizeof scale);
  return x < -87.0f ? 0.0f : p * scale;
}

INLINE float sumOfLanes(float *total) {
  for (int step = lanes / 2; step > 0; step /= 2)
    for (int l = 0; l < step; ++l)
      total[l] += total[l + step];
  return total[0];
}

template <typename Out> INLINE void powers(const ScoreRow<float> &row, Out *out, float &maximum, float &sum) {
  float *s = row.scores;
  out = destination(s, out);
  const float infinity = std::numeric_limits<float>::infinity(), scale = row.scale, slope = row.slope;
  const auto begin = int32_t(row.begin), end = int32_t(row.end), length = int32_t(row.length), own = int32_t(row.own);
  float largest[lanes], total[lanes];
  for (int l = 0; l < lanes; ++l)
    largest[l] = -infinity, total[l] = 0;
  for (int32_t j = 0; j < length; j += lanes)
    for (int l = 0; l < lanes; ++l) {
      float x = s[j + l] * scale + slope * float(j + l - own);
      x = ((j + l >= begin) & (j + l < end)) ? x : -infinity;
      s[j + l] = x;
      largest[l] = x > largest[l] ? x : largest[l];
    }
  float top = *std::max_element(largest, largest + lanes);
  for (int32_t j = 0; j < length; j += lanes)
    for (int l = 0; l < lanes; ++l) {
      float e = exponential(s[j + l] - top);
      store(e, out[j + l]);
      total[l] += e;
    }
  maximum = top;
  sum = sumOfLanes(total);
}

template <typename Out>
INLINE void scoreGradients(const ScoreRow<float> &row, float shift, Out *powers, float *gradients, float delta,
                           Out *out) {
  const float *s = row.scores;
  powers = destination(row.scores, powers);
  out = destination(gradients, out);
  const float scale = row.scale, slope = row.slope;
  const auto begin = int32_t(row.begin), end = int32_t(row.end), length = int32_t(row.length), own = int32_t(row.own);
  for (int32_t j = 0; j < length; ++j) {
    float e = exponential(s[j] * scale + slope * float(j - own) - shift);
    e = ((j >= begin) & (j < end)) ? e : 0.0f;
    float gradient = gradients[j];
    store(e, powers[j]);
    store(e * (gradient - delta) * scale, out[j]);
  }
}

template <typename In> INLINE float dot(const In *a, const In *b, int64_t length) {
  float total[lanes] = {};
  int64_t whole = length / lanes * lanes;
  for (int64_t j = 0; j < whole; j += lanes)
    for (int l = 0; l < lanes; ++l)
      total[l] += toSum(a[j + l]) * toSum(b[j + l]);
  for (int64_t j = whole; j < length; ++j)
    total[j - whole] += toSum(a[j]) * toSum(b[j]);
  return sumOfLanes(total);
}

template <typename Out> INLINE void divide(const float *x, int64_t length, float divisor, Out *out) {
  for (int64_t j = 0; j < length; ++j)
    store(x[j] / divisor, out[j]);
}

FOR_EACH_PROCESSOR void powersTo(const ScoreRow<float> &row, float *out, float &maximum, float &sum) {
  powers(row, out, maximum, sum);
}

FOR_EACH_PROCESSOR void scoreGradientsTo(const ScoreRow<float> &row, float shift, float *powers, float *gradients,
                                         float delta, float *out) {
  scoreGradients(row, shift, powers, gradients, delta, out);
}

FOR_EACH_PROCESSOR void powersTo(const ScoreRow<float> &row, Bf16 *out, float &maximum, float &sum) {
  powers(row, out, maximum, sum);
}

FOR_EACH_PROCESSOR void scoreGradientsTo(const ScoreRow<float> &row, float shift, Bf16 *powers, float *gradients,
                                         float delta, Bf16 *out) {
  scoreGradients(row, shift, powers, gradients, delta, out);
}

FOR_EACH_PROCESSOR void powersTo(const ScoreRow<float> &row, WideBf16 *out, float &maximum, float &sum) {
  powers(row, out, maximum, sum);
}

FOR_EACH_PROCESSOR void scoreGradientsTo(const ScoreRow<float> &row, float shift, WideBf16 *powers, float *gradients,
                                         float delta, WideBf16 *out) {
  scoreGradients(row, shift, powers, gradients, delta, out);
}

FOR_EACH_PROCESSOR float dotOf(const float *a, const float *b, int64_t length) { return dot(a, b, length); }

FOR_EACH_PROCESSOR void divideTo(const float *x, int64_t length, float divisor, float *out) {
  divide(x, length, divisor, out);
}

FOR_EACH_PROCESSOR float dotOf(const Bf16 *a, const Bf16 *b, int64_t length) { return dot(a, b, length); }

FOR_EACH_PROCESSOR void divideTo(const float *x, int64_t length, float divisor, Bf16 *out) {
  divide(x, length, divisor, out);
}

FOR_EACH_PROCESSOR void widen(const Bf16 *x, int64_t length, WideBf16 *out) {
  for (int64_t j = 0; j < length; ++j)
    out[j].value = bf16ToFloat(x[j].bits);
}

double score(const ScoreRow<double> &row, int64_t j) {
  return row.scores[j] * row.scale + row.slope * double(j - row.own);
}

} // namespace

template <> void powersOfRow(const ScoreRow<float> &row, float *out, float &maximum, float &sum) {
  powersTo(row, out, maximum, sum);
}

template <>
void scoreGradientsOfRow(const ScoreRow<float> &row, float shift, float *powers, float *gradients, float delta,
                         float *out) {
  scoreGradientsTo(row, shift, powers, gradients, delta, out);
}

template <> void powersOfRow(const ScoreRow<float> &row, Bf16 *out, float &maximum, float &sum) {
  powersTo(row, out, maximum, sum);
}

template <>
void scoreGradientsOfRow(const ScoreRow<float> &row, float shift, Bf16 *powers, float *gradients, float delta,
                         Bf16 *out) {
  scoreGradientsTo(row, shift, powers, gradients, delta, out);
}

template <> void powersOfRow(const ScoreRow<float> &row, WideBf16 *out, float &maximum, float &sum) {
  powersTo(row, out, maximum, sum);
}

template <>
void scoreGradientsOfRow(const ScoreRow<float> &row, float shift, WideBf16 *powers, float *gradients, float delta,
                         WideBf16 *out) {
  scoreGradientsTo(row, shift, powers, gradients, delta, out);
}

template <> float dotOfRows(const float *a, const float *b, int64_t length) { return dotOf(a, b, length); }

template <> void divideRow(const float *x, int64_t length, float divisor, float *out) {
  divideTo(x, length, divisor, out);
}

template <> float dotOfRows(const Bf16 *a, const Bf16 *b, int64_t length) { return dotOf(a, b, length); }

template <> void divideRow(const float *x, int64_t length, float divisor, Bf16 *out) {
  divideTo(x, length, divisor, out);
}

void widenRow(const Bf16 *x, int64_t length, WideBf16 *out) { widen(x, length, out); }

// f64 serves checks, not speed.
template <> void powersOfRow(const ScoreRow<double> &row, double *out, double &maximum, double &sum) {
  maximum = -std::numeric_limits<double>::infinity(), sum = 0;
  for (int64_t j = row.begin; j < row.end; ++j)
    maximum = std::max(maximum, row.scores[j] = score(row, j));
  for (int64_t j = 0; j < row.length; ++j)
    sum += out[j] = j >= row.begin && j < row.end ? std::exp(row.scores[j] - maximum) : 0;
}

template <>
void scoreGradientsOfRow(const ScoreRow<double> &row, double shift, double *powers, double *gradients, double delta,
                         double *out) {
  for (int64_t j = 0; j < row.length; ++j) {
    double p = j >= row.begin && j < row.end ? std::exp(score(row, j) - shift) : 0;
    powers[j] = p;
    out[j] = p * (gradients[j] - delta) * row.scale;
  }
}

template <> double dotOfRows(const double *a, const double *b, int64_t length) {
  double sum = 0;
  for (int64_t j = 0; j < length; ++j)
    sum += a[j] * b[j];
  return sum;
}

template <> void divideRow(const double *x, int64_t length, double divisor, double *out) {
  for (int64_t j = 0; j < length; ++j)
    out[j] = x[j] / divisor;
}

} // namespace ppcrt
