// Bucket boundaries by dynamic programming over the number of buckets: the earlier a prefix has been reduced, the
// better for the rest.
#include "ppc/Scheduling/ReductionBuckets.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace mlir::ppc {

ReductionBuckets chooseReductionBuckets(llvm::ArrayRef<ReductionPiece> pieces, llvm::function_ref<Seconds(Bytes)> time,
                                        Seconds slack, std::optional<size_t> count) {
  size_t n = pieces.size(), most = count ? std::clamp<size_t>(*count, 1, n) : n;
  assert(n && "something to reduce");
  std::vector<double> bytesBefore(n + 1, 0);
  for (size_t i = 0; i < n; ++i)
    bytesBefore[i + 1] = bytesBefore[i] + pieces[i].bytes.value;
  std::vector<double> took((n + 1) * (n + 1)); // by first gradient and the one after the last
  for (size_t first = 0; first < n; ++first)
    for (size_t end = first + 1; end <= n; ++end)
      took[first * (n + 1) + end] = time(Bytes(bytesBefore[end] - bytesBefore[first])).value;
  constexpr double never = std::numeric_limits<double>::infinity();
  // By number of buckets and of gradients in them: when the last has been reduced, and where it begins.
  std::vector<std::vector<double>> reduced(1, std::vector<double>(n + 1, never));
  std::vector<std::vector<size_t>> begins(1, std::vector<size_t>(n + 1, 0));
  reduced[0][0] = 0;
  for (size_t buckets = 1; buckets <= most; ++buckets) {
    reduced.emplace_back(n + 1, never);
    begins.emplace_back(n + 1, 0);
    for (size_t end = buckets; end <= n; ++end)
      for (size_t first = buckets - 1; first < end; ++first) {
        double before = buckets == 1 ? pieces[end - 1].ready.value : reduced[buckets - 1][first];
        double at = std::max(before, pieces[end - 1].ready.value) + took[first * (n + 1) + end];
        if (at < reduced[buckets][end])
          reduced[buckets][end] = at, begins[buckets][end] = first;
        if (buckets == 1)
          break; // it begins with the first gradient
      }
  }
  size_t chosen = most;
  if (!count) {
    double best = never;
    for (size_t buckets = 1; buckets <= most; ++buckets)
      best = std::min(best, reduced[buckets][n]);
    chosen = 1;
    while (reduced[chosen][n] > best + slack.value)
      ++chosen;
  }
  ReductionBuckets result{{}, Seconds(reduced[chosen][n])};
  for (size_t buckets = chosen, end = n; buckets > 0; --buckets) {
    result.ends.insert(result.ends.begin(), end);
    end = begins[buckets][end];
  }
  return result;
}

} // namespace mlir::ppc
