// Suggestions for misspelled names. Compiled programs include this header, so it uses no part of LLVM.
#ifndef PPC_SUPPORT_NEARESTNAME_H
#define PPC_SUPPORT_NEARESTNAME_H

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace mlir::ppc {

/// Number of characters to replace, insert or remove to turn `a` into `b`; upper and lower case are the same.
inline size_t editDistance(std::string_view a, std::string_view b) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? char(c + ('a' - 'A')) : c; };
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = diagonal + (lower(a[i - 1]) != lower(b[j - 1]));
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

/// Returns `; did you mean "dgx-h100"?` for the one of `names` that is nearest to `given`; empty if none is near.
/// Elements of `names` convert to std::string_view.
template <typename Names> std::string didYouMean(std::string_view given, const Names &names) {
  // Limit of wrong characters in a slip: names that differ more are different names.
  size_t least = std::max<size_t>(1, std::min<size_t>(given.size(), 12) / 4) + 1;
  std::string_view nearest;
  for (std::string_view name : names)
    if (size_t distance = name.size() > 1 && name != given ? editDistance(given, name) : least; distance < least)
      least = distance, nearest = name;
  return nearest.empty() ? "" : "; did you mean \"" + std::string(nearest) + "\"?";
}

} // namespace mlir::ppc

#endif // PPC_SUPPORT_NEARESTNAME_H
