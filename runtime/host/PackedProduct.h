// Products of bf16 in f32 for processors with AVX2, which have no products of bf16 and whose f32 products are oneDNN's
// oldest: operands are widened on their way into the panels that the innermost loop reads, which are written for f32
// too.
#pragma once

#include "runtime/base/DataType.h"

#include <cstdint>

namespace ppcrt {

// A matrix by its element (0, 0) and the distances between rows and columns.
struct Bf16Matrix {
  const Bf16 *data;
  int64_t row, col;
};

// Whether this processor has AVX2 and nothing wider, or is told by ONEDNN_MAX_CPU_ISA to use nothing wider.
bool hasPackedProducts();

// C (+)= A B for m x k times k x n, all at least 1; C in rows, `cRow` apart, of f32 or Bf16. Sums are f32, and rounded
// once into C of Bf16, which is not added to: `accumulate` is false there.
template <typename Out>
void multiplyPacked(int64_t m, int64_t n, int64_t k, Bf16Matrix a, Bf16Matrix b, bool accumulate, Out *c, int64_t cRow);

} // namespace ppcrt
