// The name that was meant where a person wrote one that is nearly right. Compiled programs include it: nothing of LLVM.
#ifndef PPC_SUPPORT_NEARESTNAME_H
#define PPC_SUPPORT_NEARESTNAME_H

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace mlir::ppc {

/// How many letters have to be replaced, inserted, removed or swapped with the next one to make `b` of `a`; upper and
/// lower case are the same.
inline size_t editDistance(std::string_view a, std::string_view b) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? char(c + ('a' - 'A')) : c; };
  auto isSame = [&](size_t i, size_t j) { return lower(a[i - 1]) == lower(b[j - 1]); };
  std::vector<size_t> row(b.size() + 1), before(row), twoBefore(row);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 1; i <= a.size(); ++i) {
    twoBefore.swap(before);
    before.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({before[j - 1] + !isSame(i, j), before[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && isSame(i - 1, j) && isSame(i, j - 1))
        row[j] = std::min(row[j], twoBefore[j - 2] + 1);
    }
  }
  return row[b.size()];
}

/// The one of `names` that is nearest to `given`, which is none of them; empty where none is near. `names` holds what a
/// std::string_view can be made of.
template <typename Names> std::string nearestName(std::string_view given, const Names &names) {
  // As many wrong letters as a slip leaves: other words are other wishes.
  size_t least = std::max<size_t>(1, std::min<size_t>(given.size(), 12) / 4) + 1;
  std::string_view nearest;
  for (std::string_view name : names)
    if (size_t distance = name.size() > 1 && name != given ? editDistance(given, name) : least; distance < least)
      least = distance, nearest = name;
  return std::string(nearest);
}

/// `; did you mean "dgx-h100"?`, or nothing.
template <typename Names> std::string didYouMean(std::string_view given, const Names &names) {
  std::string nearest = nearestName(given, names);
  return nearest.empty() ? "" : "; did you mean \"" + nearest + "\"?";
}

} // namespace mlir::ppc

#endif // PPC_SUPPORT_NEARESTNAME_H
