// Factorizations of N devices into the axes of a mesh.
#include "ppc/Support/Factorizations.h"

namespace mlir::ppc {

std::vector<std::vector<int64_t>> orderedFactorizations(int64_t product, int count) {
  if (product < 1 || count < 1)
    return {};
  if (count == 1)
    return {{product}};
  std::vector<std::vector<int64_t>> result;
  for (int64_t first = 1; first <= product; ++first) {
    if (product % first)
      continue;
    for (std::vector<int64_t> &rest : orderedFactorizations(product / first, count - 1)) {
      rest.insert(rest.begin(), first);
      result.push_back(std::move(rest));
    }
  }
  return result;
}

std::vector<int64_t> divisors(int64_t value) {
  std::vector<int64_t> small, large;
  for (int64_t i = 1; i * i <= value; ++i)
    if (value % i == 0) {
      small.push_back(i);
      if (i * i != value)
        large.push_back(value / i);
    }
  small.insert(small.end(), large.rbegin(), large.rend());
  return small;
}

} // namespace mlir::ppc
