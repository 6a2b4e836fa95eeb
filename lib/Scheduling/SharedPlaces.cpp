// First fit over lifetimes, and the bytes of its slots.
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
  using Ends = std::pair<int64_t, int64_t>; // the last use, the slot
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

double sharedBytes(llvm::ArrayRef<double> bytes, llvm::ArrayRef<size_t> kinds, const MomentLoads &moments) {
  llvm::SmallVector<double, 16> levels(bytes);
  llvm::sort(levels);
  levels.erase(llvm::unique(levels), levels.end());
  llvm::SmallVector<size_t, 16> having; // kinds of the values that reach the level
  double sum = 0, below = 0;
  for (double level : levels) {
    if (level <= 0)
      continue;
    having.clear();
    for (size_t value = 0; value < bytes.size(); ++value)
      if (bytes[value] >= level)
        having.push_back(kinds[value]);
    double most = 0;
    for (size_t moment = 0; moment < moments.momentCount(); ++moment) {
      llvm::ArrayRef<double> loads = moments[moment];
      double load = 0;
      for (size_t kind : having)
        load += loads[kind];
      most = std::max(most, load);
    }
    sum += (level - below) * most;
    below = level;
  }
  return sum;
}

} // namespace mlir::ppc
