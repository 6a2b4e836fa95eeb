// The learning rate of a step: linear warm-up to the peak, then half a cosine down to the minimum.
//
//   peak |      .--.
//        |    /      `.
//        |  /           `._
//   min  |/                `-      steps 1 .. warmup .. steps
#pragma once

#include <cstdint>

namespace ppcrt {

struct LearningRate {
  double peak = 3e-4;
  double minimum = 3e-5; // at the last step
  int64_t warmup = 0;    // steps; step `warmup` is the first at the peak
  int64_t steps = 1;

  // step counts from 1.
  double at(int64_t step) const;
};

} // namespace ppcrt
