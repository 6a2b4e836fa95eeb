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

/// Gives all tasks that still can the same part of their missing rate, until one resource after the other is used up.
/// So the order of tasks does not matter.
static void shareRest(llvm::MutableArrayRef<RateClaim> claims, llvm::ArrayRef<double> capacities,
                      llvm::SmallVectorImpl<double> &left) {
  constexpr double nothing = 1e-12; // share of a capacity or a cap
  llvm::SmallVector<double, 8> asked(left.size());
  for (size_t round = 0; round <= left.size(); ++round) {
    auto grows = [&](const RateClaim &claim) {
      return claim.cap - claim.rate > nothing * claim.cap &&
             llvm::all_of(claim.uses, [&](const std::pair<int32_t, double> &use) {
               return use.second <= 0 || left[use.first] > nothing * capacities[use.first];
             });
    };
    llvm::SmallVector<RateClaim *, 8> growing;
    asked.assign(left.size(), 0.0);
    for (RateClaim &claim : claims)
      if (grows(claim)) {
        growing.push_back(&claim);
        for (auto [resource, amount] : claim.uses)
          asked[resource] += (claim.cap - claim.rate) * amount;
      }
    if (growing.empty())
      return;
    double part = 1;
    size_t full = left.size();
    for (size_t resource = 0; resource < left.size(); ++resource)
      if (asked[resource] > 0 && left[resource] / asked[resource] < part) {
        part = left[resource] / asked[resource];
        full = resource;
      }
    for (RateClaim *claim : growing) {
      double more = part * (claim->cap - claim->rate);
      claim->rate += more;
      for (auto [resource, amount] : claim->uses)
        left[resource] -= more * amount;
    }
    if (full < left.size())
      left[full] = 0;
  }
}

void mlir::ppc::shareFairly(llvm::MutableArrayRef<RateClaim> claims, llvm::ArrayRef<double> capacities) {
  llvm::SmallVector<double, 8> left(capacities.begin(), capacities.end()), levels(capacities.size()), demands;
  llvm::SmallVector<bool, 8> fixed(claims.size(), false);
  // The task that its resources limit most gets the rate that they leave it; then the others share the rest.
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
  // If a resource's share was reserved for a task that another resource then limited further, some capacity is left.
  shareRest(claims, capacities, left);
}
