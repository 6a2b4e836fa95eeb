// First fit over lifetimes, and what it comes to in bytes.
#include "ppc/Scheduling/SharedPlaces.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace mlir::ppc {

SharedPlaces sharePlaces(llvm::ArrayRef<Lifetime> values) {
  SharedPlaces result;
  result.places.assign(values.size(), 0);
  std::vector<size_t> order;
  for (size_t i = 0; i < values.size(); ++i)
    if (!values[i].isEmpty())
      order.push_back(i);
  llvm::stable_sort(order, [&](size_t a, size_t b) { return values[a].first < values[b].first; });
  using Ends = std::pair<int64_t, int64_t>; // the last use, the place
  std::priority_queue<Ends, std::vector<Ends>, std::greater<>> taken;
  std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>> free;
  for (size_t i : order) {
    for (; !taken.empty() && taken.top().first < values[i].first; taken.pop())
      free.push(taken.top().second);
    int64_t place = result.count;
    if (free.empty()) {
      ++result.count;
    } else {
      place = free.top();
      free.pop();
    }
    result.places[i] = place;
    taken.push({values[i].last, place});
  }
  return result;
}

double sharedBytes(llvm::ArrayRef<double> bytes, llvm::ArrayRef<KindLoads> moments) {
  std::vector<double> levels(bytes.begin(), bytes.end());
  llvm::sort(levels);
  levels.erase(llvm::unique(levels), levels.end());
  double sum = 0, below = 0;
  for (double level : levels) {
    if (level <= 0)
      continue;
    double most = 0;
    for (const KindLoads &moment : moments) {
      double load = 0;
      for (size_t kind = 0; kind < bytes.size(); ++kind)
        load += bytes[kind] >= level ? moment[kind] : 0;
      most = std::max(most, load);
    }
    sum += (level - below) * most;
    below = level;
  }
  return sum;
}

} // namespace mlir::ppc
