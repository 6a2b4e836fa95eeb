// Which part of a logical tensor a rank holds. A dimension of extent n cut over axes of product k has local size
// ceil(n/k); block i holds [i*local, min(n, (i+1)*local)), what remains of the local size is padding.
#pragma once

#include "runtime/program/Grid.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ppcrt {

// A cut of one dimension over axes (indices of the grid's axes; coordinates row-major in this order).
struct Cut {
  int64_t dim;
  std::vector<int> axes;
};

struct Block {
  std::vector<int64_t> logicalShape;
  std::vector<int64_t> localShape;
  std::vector<int64_t> start; // logical index of local index 0, per dimension; may lie beyond the extent (all padding)

  Block(const Grid &grid, int64_t rank, std::vector<int64_t> logicalShape, const std::vector<Cut> &cuts);

  int64_t localCount() const;
  int64_t logicalCount() const;

  // Calls visit(local offset, logical offset, length) for the longest runs that are contiguous in both, in increasing
  // order; padding is not visited. Offsets and lengths in elements, row-major.
  void forEachRun(const std::function<void(int64_t, int64_t, int64_t)> &visit) const;
};

// Local shape of a logical shape under cuts.
std::vector<int64_t> localShape(const Grid &grid, std::vector<int64_t> logicalShape, const std::vector<Cut> &cuts);

int64_t elementCount(const std::vector<int64_t> &shape);

// "[2, 3]"
std::string showShape(const std::vector<int64_t> &shape);

} // namespace ppcrt
