// Matrix products through oneDNN. Operands that are row- or column-major go there as they are; others are packed first.
#include "runtime/host/Library.h"
#include "runtime/core/Error.h"
#include "runtime/host/Gemm.h"
#include "runtime/include/ppcrt.h"

#include <algorithm>
#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>
#include <sched.h>
#include <vector>

namespace ppcrt {

int availableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

void setLibraryThreads(int threads) {
  // oneDNN brings its OpenMP library along; the environment was read when that was loaded, so the call is the only way.
  if (auto set = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads")))
    set(threads);
}

namespace {

// One of A, B: base address and strides, as oneDNN can take it after `prepare`.
struct Operand {
  const float *data;
  int64_t row, col;
  bool transposed; // column-major
  int64_t leading;
};

// True when a rows x cols matrix with these strides is row-major (col stride 1), possibly with a longer leading dimension.
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

// C (+)= A B for one turn of the loops; all sizes at least 1, no C stride 0 unless its size is 1.
void multiply(const GemmProblem &p, bool accumulate, const float *a, const float *b, float *c) {
  thread_local std::vector<float> packedA, packedB, packedC;
  int64_t m = p.m, n = p.n;
  Operand left{a, p.aRow, p.aCol, false, 0}, right{b, p.bRow, p.bCol, false, 0};
  int64_t cRow = p.cRow, cCol = p.cCol;
  if (!rowMajor(m, n, cRow, cCol) && rowMajor(n, m, cCol, cRow)) { // C^T = B^T A^T
    std::swap(m, n);
    std::swap(cRow, cCol);
    left = {b, p.bCol, p.bRow, false, 0};
    right = {a, p.aCol, p.aRow, false, 0};
  }
  prepare(left, m, p.k, packedA);
  prepare(right, p.k, n, packedB);
  bool direct = rowMajor(m, n, cRow, cCol);
  if (!direct)
    packedC.resize(m * n);
  dnnl_status_t status =
      dnnl_sgemm(left.transposed ? 'T' : 'N', right.transposed ? 'T' : 'N', m, n, p.k, 1.0f, left.data, left.leading,
                 right.data, right.leading, direct && accumulate ? 1.0f : 0.0f, direct ? c : packedC.data(),
                 direct ? leadingOf(m, n, cRow) : n);
  if (status != dnnl_success)
    fatal("oneDNN refused a %lld x %lld x %lld product (status %d)", (long long)m, (long long)n, (long long)p.k,
          int(status));
  if (direct)
    return;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float &out = c[i * cRow + j * cCol];
      out = (accumulate ? out : 0.0f) + packedC[i * n + j];
    }
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
      c[i * p.cRow + j * p.cCol] = 0;
}

template <typename T> void run(GemmProblem p, const T *a, const T *b, T *c) {
  // An empty sum: only the first turn of the summed loops writes, and it writes zeros.
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
  int64_t index[GemmProblem::maxLoops + 2] = {};
  while (true) {
    bool first = true; // of the summed loops
    for (int i = 0; i < p.loopCount; ++i)
      first &= p.loops[i].c != 0 || index[i] == 0;
    if (!empty)
      multiply(p, p.accumulate || !first, a, b, c);
    else if (first)
      clear(p, c);
    int i = p.loopCount;
    for (; i > 0; --i) {
      const GemmProblem::Loop &loop = p.loops[i - 1];
      a += loop.a, b += loop.b, c += loop.c;
      if (++index[i - 1] < loop.size)
        break;
      a -= loop.a * loop.size, b -= loop.b * loop.size, c -= loop.c * loop.size;
      index[i - 1] = 0;
    }
    if (i == 0)
      return;
  }
}

} // namespace
} // namespace ppcrt

extern "C" void ppcrt_gemm(const int64_t *desc, const void *a, const void *b, void *c) {
  ppcrt::GemmProblem problem(desc);
  if (problem.type == ppcrt::DataType::F32)
    ppcrt::run(problem, static_cast<const float *>(a), static_cast<const float *>(b), static_cast<float *>(c));
  else
    ppcrt::run(problem, static_cast<const double *>(a), static_cast<const double *>(b), static_cast<double *>(c));
}
