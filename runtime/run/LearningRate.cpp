// The schedule's formula.
#include "runtime/run/LearningRate.h"

#include <algorithm>
#include <cmath>

namespace ppcrt {

double LearningRate::at(int64_t step) const {
  if (step <= warmup)
    return peak * double(step) / double(warmup);
  if (steps <= warmup)
    return peak;
  double progress = std::min(1.0, double(step - warmup) / double(steps - warmup));
  return minimum + (peak - minimum) * 0.5 * (1 + std::cos(M_PI * progress));
}

} // namespace ppcrt
