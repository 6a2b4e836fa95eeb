#include "lib/Planning/Frontier.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir::ppc;

Bytes mlir::ppc::nextFrontierLimit(Bytes used, Bytes limit, int steps) {
  double below = std::floor(used / limit * steps - 1e-9) * limit.value / steps;
  return Bytes(std::min(used.value * (1 - 1e-6), below));
}

void mlir::ppc::keepFastest(std::vector<Plan> &points) {
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = points.size(); i-- > 0;) {
    double time = points[i].cost.stepTime.value;
    if (time < least)
      least = time;
    else
      points.erase(points.begin() + i);
  }
}
