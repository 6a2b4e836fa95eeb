// Matrix products through oneDNN. Operands that are row- or column-major go there as they are; others are packed first.
// Where oneDNN has no fast product of bf16 for the strides or the machine, the same values are multiplied in f32.
#include "runtime/base/Error.h"
#include "runtime/host/BatchedProduct.h"
#include "runtime/host/WidenedProduct.h"
#include "runtime/include/ppcrt.h"
#include "runtime/program/GemmProblem.h"

#include <algorithm>
#include <oneapi/dnnl/dnnl.h>
#include <type_traits>
#include <vector>

namespace ppcrt {
namespace {

// One of A, B: base address and strides, as oneDNN can take it after `prepare`.
struct Operand {
  const float *data;
  int64_t row, col;
  bool transposed; // column-major
  int64_t leading;
};

// True when a rows x cols matrix with these strides is row-major (col stride 1), possibly with a longer leading
// dimension.
bool rowMajor(int64_t rows, int64_t cols, int64_t row, int64_t col) {
  return (col == 1 || cols == 1) && (rows == 1 || row >= std::max<int64_t>(1, cols));
}

int64_t leadingOf(int64_t rows, int64_t cols, int64_t row) { return rows == 1 ? std::max<int64_t>(1, cols) : row; }

// Describes the matrix for oneDNN, copying it into `packed` when its strides are unusual.
void prepare(Operand &operand, int64_t rows, int64_t cols, std::vector<float> &packed) {
  if (rowMajor(rows, cols, operand.row, operand.col)) {
    operand.transposed = false;
    operand.leading = leadingOf(rows, cols, operand.row);
    return;
  }
  if (rowMajor(cols, rows, operand.col, operand.row)) {
    operand.transposed = true;
    operand.leading = leadingOf(cols, rows, operand.col);
    return;
  }
  packed.resize(rows * cols);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j)
      packed[i * cols + j] = operand.data[i * operand.row + j * operand.col];
  operand = {packed.data(), cols, 1, false, cols};
}

// C (+)= A B without loops; all sizes at least 1, no C stride 0 unless its size is 1.
void multiply(const GemmProblem &p, bool accumulate, const float *a, const float *b, float *c) {
  static thread_local std::vector<float> packedA, packedB, packedC;
  if (!rowMajor(p.m, p.n, p.cRow, p.cCol) && rowMajor(p.n, p.m, p.cCol, p.cRow))
    return multiply(p.transposed(), accumulate, b, a, c);
  Operand left{a, p.aRow, p.aCol, false, 0}, right{b, p.bRow, p.bCol, false, 0};
  prepare(left, p.m, p.k, packedA);
  prepare(right, p.k, p.n, packedB);
  bool direct = rowMajor(p.m, p.n, p.cRow, p.cCol);
  if (!direct)
    packedC.resize(p.m * p.n);
  dnnl_status_t status =
      dnnl_sgemm(left.transposed ? 'T' : 'N', right.transposed ? 'T' : 'N', p.m, p.n, p.k, 1.0f, left.data,
                 left.leading, right.data, right.leading, direct && accumulate ? 1.0f : 0.0f,
                 direct ? c : packedC.data(), direct ? leadingOf(p.m, p.n, p.cRow) : p.n);
  if (status != dnnl_success)
    fatal("oneDNN refused a %lld x %lld x %lld product (status %d)", (long long)p.m, (long long)p.n, (long long)p.k,
          int(status));
  if (direct)
    return;
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j) {
      float &out = c[i * p.cRow + j * p.cCol];
      out = (accumulate ? out : 0.0f) + packedC[i * p.n + j];
    }
}

template <typename Out> void multiply(const GemmProblem &p, bool accumulate, const Bf16 *a, const Bf16 *b, Out *c) {
  multiplyWidened(p, accumulate, a, b, c);
}

// f64 serves checks, not speed.
void multiply(const GemmProblem &p, bool accumulate, const double *a, const double *b, double *c) {
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < p.k; ++l)
        sum += a[i * p.aRow + l * p.aCol] * b[l * p.bRow + j * p.bCol];
      double &out = c[i * p.cRow + j * p.cCol];
      out = (accumulate ? out : 0.0) + sum;
    }
}

template <typename T> void clear(const GemmProblem &p, T *c) {
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j)
      c[i * p.cRow + j * p.cCol] = T{};
}

// Calls body(turn is the first, a, b, c) for every turn of the loops [from, to).
template <typename In, typename Out, typename Body>
void forEachTurn(const GemmProblem &p, int from, int to, const In *a, const In *b, Out *c, const Body &body) {
  int64_t index[GemmProblem::maxLoops + 2] = {};
  for (bool first = true;; first = false) {
    body(first, a, b, c);
    int i = to;
    for (; i > from; --i) {
      const GemmProblem::Loop &loop = p.loops[i - 1];
      a += loop.a, b += loop.b, c += loop.c;
      if (++index[i - 1] < loop.size)
        break;
      a -= loop.a * loop.size, b -= loop.b * loop.size, c -= loop.c * loop.size;
      index[i - 1] = 0;
    }
    if (i == from)
      return;
  }
}

// All products of the loops from `from` on, none of which sums.
template <typename In, typename Out>
void runLoops(const GemmProblem &p, int from, bool accumulate, const In *a, const In *b, Out *c) {
  if constexpr (!std::is_same_v<In, double>)
    if (from < p.loopCount || std::is_same_v<In, Bf16>) {
      GemmProblem batch = p;
      std::copy(p.loops + from, p.loops + p.loopCount, batch.loops);
      batch.loopCount = p.loopCount - from;
      bool exchange = p.cCol != 1 && p.cRow == 1;
      if (exchange ? runBatched(batch.transposed(), accumulate, b, a, c) : runBatched(batch, accumulate, a, b, c))
        return;
    }
  forEachTurn(p, from, p.loopCount, a, b, c,
              [&](bool, const In *a, const In *b, Out *c) { multiply(p, accumulate, a, b, c); });
}

// Sums over loops, added up in f32 and rounded once.
void runRounded(const GemmProblem &p, int sums, const Bf16 *a, const Bf16 *b, Bf16 *c) {
  static thread_local std::vector<float> total;
  GemmProblem wide = p, copy = p;
  wide.result = DataType::F32;
  wide.cRow = p.n, wide.cCol = 1;
  int64_t size = p.m * p.n;
  for (int i = p.loopCount; i-- > sums; size *= p.loops[i].size) {
    copy.loops[i].a = wide.loops[i].c = size;
    copy.loops[i].b = 0;
  }
  total.resize(size);
  forEachTurn(wide, 0, sums, a, b, total.data(),
              [&](bool first, const Bf16 *a, const Bf16 *b, float *c) { runLoops(wide, sums, !first, a, b, c); });
  const float *none = nullptr;
  forEachTurn(copy, sums, p.loopCount, static_cast<const float *>(total.data()), none, c,
              [&](bool, const float *sum, const float *, Bf16 *c) {
                for (int64_t i = 0; i < p.m; ++i)
                  for (int64_t j = 0; j < p.n; ++j) {
                    Bf16 &out = c[i * p.cRow + j * p.cCol];
                    out.bits = floatToBf16((p.accumulate ? bf16ToFloat(out.bits) : 0.0f) + sum[i * p.n + j]);
                  }
              });
}

template <typename In, typename Out> void run(GemmProblem p, const In *a, const In *b, Out *c) {
  // An empty sum is 0: as one turn with nothing to add.
  bool empty = p.k == 0;
  for (int i = 0; i < p.loopCount; ++i) {
    if (p.loops[i].size == 0 && p.loops[i].c != 0)
      return;
    if (p.loops[i].size == 0) {
      p.loops[i].size = 1;
      empty = true;
    }
  }
  if (p.m == 0 || p.n == 0 || (empty && p.accumulate))
    return;
  p.normalize();
  int sums = p.sumLoops();
  if (empty)
    return forEachTurn(p, sums, p.loopCount, a, b, c, [&](bool, const In *, const In *, Out *c) { clear(p, c); });
  if constexpr (std::is_same_v<Out, Bf16>)
    if (sums > 0)
      return runRounded(p, sums, a, b, c);
  forEachTurn(p, 0, sums, a, b, c, [&](bool first, const In *a, const In *b, Out *c) {
    runLoops(p, sums, p.accumulate || !first, a, b, c);
  });
}

template <typename In, typename Out> void runTyped(const GemmProblem &p, const void *a, const void *b, void *c) {
  run(p, static_cast<const In *>(a), static_cast<const In *>(b), static_cast<Out *>(c));
}

} // namespace
} // namespace ppcrt

extern "C" void ppcrt_gemm(const int64_t *desc, const void *a, const void *b, void *c) {
  using namespace ppcrt;
  GemmProblem problem(desc);
  if (problem.type == DataType::F32)
    runTyped<float, float>(problem, a, b, c);
  else if (problem.type == DataType::F64)
    runTyped<double, double>(problem, a, b, c);
  else if (problem.result == DataType::F32)
    runTyped<Bf16, float>(problem, a, b, c);
  else
    runTyped<Bf16, Bf16>(problem, a, b, c);
}
