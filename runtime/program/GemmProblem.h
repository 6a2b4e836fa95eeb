// A matrix product with loops around it, as ppcrt_gemm's descriptor states it, and its normal form.
#pragma once

#include "runtime/base/DataType.h"

#include <cstdint>

namespace ppcrt {

struct GemmProblem {
  struct Loop {
    int64_t size, a, b, c; // strides in elements
  };
  static constexpr int maxLoops = 8;

  DataType type;   // of A and B
  DataType result; // of C
  bool accumulate;
  int64_t m, n, k;
  int64_t aRow, aCol, bRow, bCol, cRow, cCol; // strides in elements
  int loopCount;
  Loop loops[maxLoops + 3]; // dimensions may become loops

  // Calls fatal() on a descriptor that is not valid.
  explicit GemmProblem(const int64_t *desc);

  // Rewrites the problem to an equal one with fewer loops and larger matrices: loops of one turn disappear, and a loop
  // that continues m, n or k becomes part of it (a batch folded into rows, say). Summed rows or columns of C become
  // loops. The loops that sum (C stride 0) come first.
  void normalize();

  int sumLoops() const;
  // The problem with A and B exchanged and C transposed.
  GemmProblem transposed() const;

private:
  bool absorb(const Loop &loop);
};

} // namespace ppcrt
