// Loops over the scores of one query and over rows of results, vectorised for f32 and bf16. T is f32 or f64, the type
// of sums. `Out` is what products read: T, or where T is f32 Bf16 or WideBf16. Bf16 goes into memory beside, the others
// in place: `out` is then the scores or gradients themselves.
#pragma once

#include "runtime/base/DataType.h"

#include <cstdint>

namespace ppcrt {

// A number of bf16 as an f32, for products of f32.
struct WideBf16 {
  float value;
};

// Scores [0, length) of a row, of which the query sees [begin, end). Their product with `scale` is taken here, and
// `slope` times the distance j - own added, where `own` is the query's own place in the row. `length` is a multiple
// of 16.
template <typename T> struct ScoreRow {
  T *scores;
  int64_t length, begin, end;
  T scale, slope;
  int64_t own;
};

// out[j] = e^(score - maximum), 0 for those that are not seen; returns the maximum and the sum before rounding. Scores
// are lost.
template <typename T, typename Out> void powersOfRow(const ScoreRow<T> &row, Out *out, T &maximum, T &sum);

// powers[j] = p = e^(score - shift), 0 for scores that are not seen, and out[j] = p * (gradients[j] - delta) * scale,
// with p as it was before rounding. Scores and gradients are lost.
template <typename T, typename Out>
void scoreGradientsOfRow(const ScoreRow<T> &row, T shift, Out *powers, T *gradients, T delta, Out *out);

// The sum of a[j] * b[j].
template <typename T, typename In> T dotOfRows(const In *a, const In *b, int64_t length);

// out[j] = x[j] / divisor.
template <typename T, typename Out> void divideRow(const T *x, int64_t length, T divisor, Out *out);

// out[j] = x[j].
void widenRow(const Bf16 *x, int64_t length, WideBf16 *out);

} // namespace ppcrt
