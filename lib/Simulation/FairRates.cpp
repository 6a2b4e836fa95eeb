#include "FairRates.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

using namespace mlir::ppc;

/// The level that fills `capacity` when each of `demands` takes the lesser of itself and the level.
static double fillLevel(llvm::SmallVectorImpl<double> &demands, double capacity) {
  llvm::sort(demands);
  for (size_t i = 0; i < demands.size(); ++i) {
    double level = capacity / double(demands.size() - i);
    if (demands[i] >= level)
      return level;
    capacity -= demands[i];
  }
  return std::numeric_limits<double>::infinity();
}

void mlir::ppc::shareFairly(llvm::MutableArrayRef<RateClaim> claims, llvm::ArrayRef<double> capacities) {
  llvm::SmallVector<double, 8> left(capacities.begin(), capacities.end()), levels(capacities.size()), demands;
  llvm::SmallVector<bool, 8> fixed(claims.size(), false);
  // The task that its resources hold back most is given what they leave it; then the rest shares what is left.
  for (size_t round = 0; round < claims.size(); ++round) {
    for (size_t resource = 0; resource < left.size(); ++resource) {
      demands.clear();
      for (size_t i = 0; i < claims.size(); ++i)
        if (!fixed[i])
          for (auto [used, amount] : claims[i].uses)
            if (size_t(used) == resource)
              demands.push_back(claims[i].cap * amount);
      levels[resource] = fillLevel(demands, std::max(0.0, left[resource]));
    }
    size_t least = claims.size();
    double leastRate = 0, leastShare = 0;
    for (size_t i = 0; i < claims.size(); ++i) {
      if (fixed[i])
        continue;
      double rate = claims[i].cap;
      for (auto [resource, amount] : claims[i].uses)
        if (amount > 0)
          rate = std::min(rate, levels[resource] / amount);
      double share = claims[i].cap > 0 ? rate / claims[i].cap : 0;
      if (least == claims.size() || share < leastShare) {
        least = i;
        leastRate = rate;
        leastShare = share;
      }
    }
    fixed[least] = true;
    claims[least].rate = leastRate;
    for (auto [resource, amount] : claims[least].uses)
      left[resource] -= leastRate * amount;
  }
  // Where one resource's share was kept for a task that another resource then held back further, something is left.
  for (RateClaim &claim : claims) {
    double more = claim.cap - claim.rate;
    for (auto [resource, amount] : claim.uses)
      if (amount > 0)
        more = std::min(more, left[resource] / amount);
    if (more <= 0)
      continue;
    claim.rate += more;
    for (auto [resource, amount] : claim.uses)
      left[resource] -= more * amount;
  }
}
