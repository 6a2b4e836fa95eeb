// Ways to cut N devices into the axes of a grid.
#ifndef PPC_SUPPORT_FACTORIZATIONS_H
#define PPC_SUPPORT_FACTORIZATIONS_H

#include <cstdint>
#include <vector>

namespace mlir::ppc {

/// Every ordered way to write `product` as `count` factors >= 1, in lexicographic order.
/// For product 4 and count 2: {1, 4}, {2, 2}, {4, 1}. `product` < 1 or `count` < 1 gives none.
std::vector<std::vector<int64_t>> orderedFactorizations(int64_t product, int count);

/// What divides `value`, ascending, in time that grows with its root. `value` < 1 gives none.
std::vector<int64_t> divisors(int64_t value);

} // namespace mlir::ppc

#endif // PPC_SUPPORT_FACTORIZATIONS_H
