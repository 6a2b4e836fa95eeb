// Descriptor to normal form.
#include "runtime/program/GemmProblem.h"
#include "runtime/base/Error.h"

#include <algorithm>

namespace ppcrt {

// Where the sizes begin: version 2 has the type of C before them.
static const int64_t *sizesOf(const int64_t *desc) {
  if (desc[0] != 1 && desc[0] != 2)
    fatal("ppcrt_gemm: descriptor version %lld, this runtime knows 1 and 2", (long long)desc[0]);
  return desc + (desc[0] == 2 ? 4 : 3);
}

GemmProblem::GemmProblem(const int64_t *desc)
    : type(DataType(desc[1])), result(DataType(desc[0] == 2 ? desc[3] : desc[1])), accumulate(desc[2] != 0) {
  const int64_t *at = sizesOf(desc);
  bool mixed = desc[1] == PPCRT_BF16 && (result == DataType::F32 || result == DataType::BF16);
  if (!mixed && ((desc[1] != PPCRT_F32 && desc[1] != PPCRT_F64) || result != type))
    fatal("ppcrt_gemm: products of type %lld with results of type %lld are not known", (long long)desc[1],
          (long long)result);
  for (int64_t *field : {&m, &n, &k, &aRow, &aCol, &bRow, &bCol, &cRow, &cCol})
    *field = *at++;
  int64_t count = *at++;
  if (m < 0 || n < 0 || k < 0 || count < 0 || count > maxLoops)
    fatal("ppcrt_gemm: sizes %lld x %lld x %lld with %lld loops are not valid", (long long)m, (long long)n,
          (long long)k, (long long)count);
  loopCount = int(count);
  for (int i = 0; i < loopCount; ++i) {
    const int64_t *loop = at + 4 * i;
    loops[i] = {loop[0], loop[1], loop[2], loop[3]};
    if (loop[0] < 0)
      fatal("ppcrt_gemm: loop %d has size %lld", i, (long long)loop[0]);
  }
}

// A loop continues a dimension of size s when its strides are s times the dimension's in both of its operands and 0 in
// the third; a dimension of size 1 takes any such loop.
bool GemmProblem::absorb(const Loop &loop) {
  auto join = [&](int64_t &size, int64_t &first, int64_t firstStride, int64_t &second, int64_t secondStride,
                  int64_t other) {
    if (other != 0)
      return false;
    if (size == 1) {
      first = firstStride;
      second = secondStride;
    } else if (firstStride != size * first || secondStride != size * second) {
      return false;
    }
    size *= loop.size;
    return true;
  };
  if (loop.c == 0)
    return join(k, aCol, loop.a, bRow, loop.b, 0);
  return join(m, aRow, loop.a, cRow, loop.c, loop.b) || join(n, bCol, loop.b, cCol, loop.c, loop.a);
}

void GemmProblem::normalize() {
  if (cRow == 0 && m > 1) {
    loops[loopCount++] = {m, aRow, 0, 0};
    m = 1;
  }
  if (cCol == 0 && n > 1) {
    loops[loopCount++] = {n, 0, bCol, 0};
    n = 1;
  }
  loopCount = int(std::remove_if(loops, loops + loopCount, [](const Loop &loop) { return loop.size == 1; }) - loops);
  for (int i = loopCount - 1; i >= 0; --i) // innermost loops usually continue the matrix
    if (absorb(loops[i])) {
      std::copy(loops + i + 1, loops + loopCount, loops + i);
      --loopCount;
      i = loopCount;
    }
  std::partition(loops, loops + loopCount, [](const Loop &loop) { return loop.c == 0; });
}

int GemmProblem::sumLoops() const {
  return int(std::count_if(loops, loops + loopCount, [](const Loop &loop) { return loop.c == 0; }));
}

GemmProblem GemmProblem::transposed() const {
  GemmProblem result = *this;
  std::swap(result.m, result.n);
  result.aRow = bCol, result.aCol = bRow, result.bRow = aCol, result.bCol = aRow;
  result.cRow = cCol, result.cCol = cRow;
  for (int i = 0; i < loopCount; ++i)
    std::swap(result.loops[i].a, result.loops[i].b);
  return result;
}

} // namespace ppcrt
