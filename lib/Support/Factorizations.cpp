// Ways to cut N devices into the axes of a grid.
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

} // namespace mlir::ppc
