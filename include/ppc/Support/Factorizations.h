// Factorizations of N devices into the axes of a mesh.
#ifndef PPC_SUPPORT_FACTORIZATIONS_H
#define PPC_SUPPORT_FACTORIZATIONS_H

#include <cstdint>
#include <vector>

namespace mlir::ppc {

/// Returns every ordered list of `count` factors >= 1 that multiply to `product`, in lexicographic order. For 4 and
/// count 2: {1, 4}, {2, 2}, {4, 1}. `product` < 1 or `count` < 1 gives an empty list.
std::vector<std::vector<int64_t>> orderedFactorizations(int64_t product, int count);

/// Returns the divisors of `value`, ascending, in time O(sqrt(value)). `value` < 1 gives an empty list.
std::vector<int64_t> divisors(int64_t value);

} // namespace mlir::ppc

#endif // PPC_SUPPORT_FACTORIZATIONS_H
