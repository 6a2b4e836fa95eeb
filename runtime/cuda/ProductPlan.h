// A product of ppcrt.h as calls of cuBLASLt: which of its loops are a strided batch of one call, and which repeat it.
#pragma once

#include "runtime/program/GemmProblem.h"

#include <string>
#include <vector>

namespace ppcrt::cuda {

// A matrix in memory whose columns lie `leading` elements apart, and whether it is read transposed.
struct ColumnMatrix {
  int64_t rows = 0, columns = 0, leading = 0;
  bool transposed = false;
  int64_t batchStride = 0; // elements
};

// D = left * right (+ D), with the loops around it. Results of cuBLASLt lie in columns: D is C, or C transposed.
struct ProductPlan {
  // Whether A and B of the descriptor have changed places.
  bool exchanged = false;
  bool accumulates = false; // also in the first turn of the sums
  bool isNothing = false;   // no element is computed
  DataType type, result;
  ColumnMatrix left, right, out;
  int64_t batch = 1;
  struct Loop {
    int64_t size, left, right, out; // strides in bytes
  };
  std::vector<Loop> sums;    // outermost, in order: all turns but the first add
  std::vector<Loop> repeats; // inside
  int64_t calls() const;
  // A power of two that divides the addresses of all calls where it divides those that the product is given.
  int64_t leftAlignment, rightAlignment, outAlignment;
};

// Repeated calls that a product may become.
inline constexpr int64_t mostCalls = 4096;

// Throws InputError, which says what of it cannot be said to cuBLASLt.
ProductPlan planProduct(const std::vector<int64_t> &descriptor);

} // namespace ppcrt::cuda
