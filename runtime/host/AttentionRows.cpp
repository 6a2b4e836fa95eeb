// Sixteen lanes at a time, each with its own maximum and sum, so that the order of additions does not depend on the machine.
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

namespace ppcrt {
namespace {

constexpr int lanes = 16;

// e^x for x <= 88, within 2 units in the last place; 0 below -87. The remainder of x / ln 2 goes through a polynomial (Cody and
// Waite's two parts of ln 2, Cephes' coefficients), the quotient into the exponent.
inline __attribute__((always_inline)) float exponential(float x) {
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
  int32_t bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  int32_t scaleBits = (bits << 23) + 0x3f800000; // the quotient is in the low bits of the sum
  float scale;
  std::memcpy(&scale, &scaleBits, sizeof scale);
  return x < -87.0f ? 0.0f : p * scale;
}

FOR_EACH_PROCESSOR void powers(const ScoreRow<float> &row, float &maximum, float &sum) {
  float *s = row.scores;
  const float infinity = std::numeric_limits<float>::infinity(), scale = row.scale, slope = row.slope;
  const auto begin = int32_t(row.begin), end = int32_t(row.end), length = int32_t(row.length), own = int32_t(row.own);
  float largest[lanes], total[lanes];
  for (int l = 0; l < lanes; ++l)
    largest[l] = -infinity, total[l] = 0;
  for (int32_t j = 0; j < length; j += lanes)
    for (int l = 0; l < lanes; ++l) {
      float x = s[j + l] * scale + slope * float(j + l - own);
      x = (j + l >= begin) & (j + l < end) ? x : -infinity;
      s[j + l] = x;
      largest[l] = x > largest[l] ? x : largest[l];
    }
  float top = *std::max_element(largest, largest + lanes);
  for (int32_t j = 0; j < length; j += lanes)
    for (int l = 0; l < lanes; ++l) {
      float e = exponential(s[j + l] - top);
      s[j + l] = e;
      total[l] += e;
    }
  for (int step = lanes / 2; step > 0; step /= 2)
    for (int l = 0; l < step; ++l)
      total[l] += total[l + step];
  maximum = top;
  sum = total[0];
}

FOR_EACH_PROCESSOR void shiftedPowers(const ScoreRow<float> &row, float shift) {
  float *s = row.scores;
  const float scale = row.scale, slope = row.slope;
  const auto begin = int32_t(row.begin), end = int32_t(row.end), length = int32_t(row.length), own = int32_t(row.own);
  for (int32_t j = 0; j < length; ++j) {
    float e = exponential(s[j] * scale + slope * float(j - own) - shift);
    s[j] = (j >= begin) & (j < end) ? e : 0.0f;
  }
}

FOR_EACH_PROCESSOR void scoreGradients(const float *powers, float *gradients, int64_t length, float delta, float scale) {
  for (int64_t j = 0; j < length; ++j)
    gradients[j] = powers[j] * (gradients[j] - delta) * scale;
}

double score(const ScoreRow<double> &row, int64_t j) {
  return row.scores[j] * row.scale + row.slope * double(j - row.own);
}

} // namespace

template <> void powersOfRow<float>(const ScoreRow<float> &row, float &maximum, float &sum) { powers(row, maximum, sum); }

template <> void shiftedPowersOfRow<float>(const ScoreRow<float> &row, float shift) { shiftedPowers(row, shift); }

template <>
void scoreGradientsOfRow<float>(const float *powers, float *gradients, int64_t length, float delta, float scale) {
  scoreGradients(powers, gradients, length, delta, scale);
}

// f64 serves checks, not speed.
template <> void powersOfRow<double>(const ScoreRow<double> &row, double &maximum, double &sum) {
  maximum = -std::numeric_limits<double>::infinity(), sum = 0;
  for (int64_t j = row.begin; j < row.end; ++j)
    maximum = std::max(maximum, row.scores[j] = score(row, j));
  for (int64_t j = 0; j < row.length; ++j)
    sum += row.scores[j] = j >= row.begin && j < row.end ? std::exp(row.scores[j] - maximum) : 0;
}

template <> void shiftedPowersOfRow<double>(const ScoreRow<double> &row, double shift) {
  for (int64_t j = 0; j < row.length; ++j)
    row.scores[j] = j >= row.begin && j < row.end ? std::exp(score(row, j) - shift) : 0;
}

template <>
void scoreGradientsOfRow<double>(const double *powers, double *gradients, int64_t length, double delta, double scale) {
  for (int64_t j = 0; j < length; ++j)
    gradients[j] = powers[j] * (gradients[j] - delta) * scale;
}

} // namespace ppcrt
