// Loops over the scores of one query and over rows of results, vectorised for f32 and bf16. T is f32 or f64, the type
// of sums. `Out` is T, and `out` then the scores or gradients themselves; or it is Bf16 where T is f32, and `out` is
// memory beside.
#pragma once

#include "runtime/core/DataType.h"

#include <cstdint>

namespace ppcrt {

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

// Replaces scores by e^(score - shift), 0 for those that are not seen, and rounds those into `out`.
template <typename T, typename Out> void shiftedPowersOfRow(const ScoreRow<T> &row, T shift, Out *out);

// out[j] = powers[j] * (gradients[j] - delta) * scale.
template <typename T, typename Out>
void scoreGradientsOfRow(const T *powers, T *gradients, int64_t length, T delta, T scale, Out *out);

// The sum of a[j] * b[j].
template <typename T, typename In> T dotOfRows(const In *a, const In *b, int64_t length);

// out[j] = x[j] / divisor.
template <typename T, typename Out> void divideRow(const T *x, int64_t length, T divisor, Out *out);

} // namespace ppcrt
