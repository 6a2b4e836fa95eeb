// Loops over the scores of one query, vectorised for f32.
#pragma once

#include <cstdint>

namespace ppcrt {

// Scores [0, length) of a row, of which the query sees [begin, end). Their product with `scale` is taken here, and
// `slope` times the distance j - own added, where `own` is the query's own place in the row.
template <typename T> struct ScoreRow {
  T *scores;
  int64_t length, begin, end;
  T scale, slope;
  int64_t own;
};

// Replaces scores by e^(score - maximum), 0 for those that are not seen; returns the maximum and the sum.
template <typename T> void powersOfRow(const ScoreRow<T> &row, T &maximum, T &sum);

// Replaces scores by e^(score - shift), 0 for those that are not seen.
template <typename T> void shiftedPowersOfRow(const ScoreRow<T> &row, T shift);

// gradients[j] = powers[j] * (gradients[j] - delta) * scale.
template <typename T> void scoreGradientsOfRow(const T *powers, T *gradients, int64_t length, T delta, T scale);

} // namespace ppcrt
