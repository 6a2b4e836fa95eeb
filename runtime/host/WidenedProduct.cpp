// Pieces keep the order of their operand's elements, row- or column-major, so that widening reads and writes memory in
// order. B's piece is widened once for each block of rows of C, A's once for each block of columns, or once where the
// summed dimension is one piece: each element serves hundreds of multiplications.
#include "runtime/host/WidenedProduct.h"
#include "runtime/base/Error.h"
#include "runtime/host/PackedProduct.h"
#include "runtime/host/Threads.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <oneapi/dnnl/dnnl.h>
#include <type_traits>

// The function is compiled several times, and the processor decides which one runs.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define FOR_EACH_PROCESSOR __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif

namespace ppcrt {
namespace {

// Rows, columns and summed elements of a piece: 4 MB of A, 2 MB of B and 2 MB of sums at most.
constexpr int64_t pieceRows = 1024, pieceColumns = 512, pieceSums = 1024;

// Elements that are worth the start of another thread.
constexpr int64_t elementsOfThread = 1 << 15;

FOR_EACH_PROCESSOR void widenRow(const Bf16 *__restrict from, int64_t count, float *__restrict to) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = bf16ToFloat(from[i].bits);
}

FOR_EACH_PROCESSOR void roundRow(const float *__restrict from, int64_t count, Bf16 *__restrict to) {
  for (int64_t i = 0; i < count; ++i)
    to[i].bits = floatToBf16(from[i]);
}

// Memory of a thread that is kept from call to call, for A, B and sums.
float *scratch(int index, int64_t count) {
  constexpr size_t alignment = 64;
  struct Free {
    void operator()(float *memory) const { std::free(memory); }
  };
  static thread_local std::unique_ptr<float, Free> memory[3];
  static thread_local int64_t sizes[3];
  if (sizes[index] < count) {
    size_t bytes = (size_t(count) * sizeof(float) + alignment - 1) / alignment * alignment;
    memory[index].reset(static_cast<float *>(std::aligned_alloc(alignment, bytes)));
    if (!memory[index])
      fatal("no memory for %lld bytes of a product", (long long)bytes);
    sizes[index] = count;
  }
  return memory[index].get();
}

// body(from, to) over [0, rows), on several threads where that is worth their start.
template <typename Body> void forRows(int64_t rows, int64_t columns, const Body &body) {
  int64_t chunks = std::min({int64_t(libraryThreads()), rows, rows * columns / elementsOfThread});
  if (chunks <= 1)
    return body(0, rows);
  forEachOnThreads(chunks, [&](int64_t i) { body(rows * i / chunks, rows * (i + 1) / chunks); });
}

// One of A, B as pieces of f32. `transposed`: its columns are contiguous, and so are those of its pieces.
class Operand {
public:
  Operand(const Bf16 *data, int64_t row, int64_t col, int index)
      : data(data), row(row), col(col), index(index), transposed(col != 1 && row == 1) {
    if (transposed)
      std::swap(this->row, this->col);
  }

  // The piece from (firstRow, firstCol) on, unless it is the one that is there.
  void widen(int64_t firstRow, int64_t firstCol, int64_t rows, int64_t cols) {
    if (transposed)
      std::swap(firstRow, firstCol), std::swap(rows, cols);
    if (piece && firstRow == this->firstRow && firstCol == this->firstCol)
      return;
    this->firstRow = firstRow, this->firstCol = firstCol, leading = cols;
    piece = scratch(index, rows * cols);
    forRows(rows, cols, [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) {
        const Bf16 *first = data + (firstRow + i) * row + firstCol * col;
        float *out = piece + i * cols;
        if (col == 1)
          widenRow(first, cols, out);
        else
          for (int64_t j = 0; j < cols; ++j)
            out[j] = bf16ToFloat(first[j * col].bits);
      }
    });
  }

  char order() const { return transposed ? 'T' : 'N'; }
  const float *get() const { return piece; }
  int64_t leadingDimension() const { return leading; }

private:
  const Bf16 *data;
  int64_t row, col; // elements between rows and columns, exchanged where it is transposed
  int index;
  bool transposed;
  float *piece = nullptr;
  int64_t firstRow = 0, firstCol = 0, leading = 1;
};

// Writes sums of rows x cols into C, one after the other row.
template <typename Out>
void store(const float *sums, int64_t rows, int64_t cols, bool accumulate, Out *c, int64_t cRow, int64_t cCol) {
  auto one = [&](float sum, Out &out) {
    if constexpr (std::is_same_v<Out, Bf16>)
      out.bits = floatToBf16(accumulate ? bf16ToFloat(out.bits) + sum : sum);
    else
      out = accumulate ? out + sum : sum;
  };
  forRows(rows, cols, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) {
      const float *row = sums + i * cols;
      if constexpr (std::is_same_v<Out, Bf16>)
        if (cCol == 1 && !accumulate) {
          roundRow(row, cols, c + i * cRow);
          continue;
        }
      for (int64_t j = 0; j < cols; ++j)
        one(row[j], c[i * cRow + j * cCol]);
    }
  });
}

void multiplyPiece(const Operand &a, const Operand &b, int64_t m, int64_t n, int64_t k, bool accumulate, float *c,
                   int64_t cRow) {
  dnnl_status_t status = dnnl_sgemm(a.order(), b.order(), m, n, k, 1.0f, a.get(), a.leadingDimension(), b.get(),
                                    b.leadingDimension(), accumulate ? 1.0f : 0.0f, c, cRow);
  if (status != dnnl_success)
    fatal("oneDNN refused a %lld x %lld x %lld product (status %d)", (long long)m, (long long)n, (long long)k,
          int(status));
}

} // namespace

PieceProduct fastestPieceProduct() { return hasPackedProducts() ? PieceProduct::Packed : PieceProduct::OneDnn; }

template <typename Out>
void multiplyWidened(const GemmProblem &p, bool accumulate, const Bf16 *a, const Bf16 *b, Out *c, PieceProduct by) {
  if (p.cCol != 1 && p.cRow == 1)
    return multiplyWidened(p.transposed(), accumulate, b, a, c, by);
  bool inRows = (p.cCol == 1 || p.n == 1) && (p.cRow >= p.n || p.m == 1);
  bool direct = std::is_same_v<Out, float> && inRows, packed = by == PieceProduct::Packed;
  int64_t cRow = std::max(p.cRow, p.n);
  if (packed && inRows && (direct || !accumulate))
    return multiplyPacked(p.m, p.n, p.k, {a, p.aRow, p.aCol}, {b, p.bRow, p.bCol}, accumulate, c, cRow);
  Operand left(a, p.aRow, p.aCol, 0), right(b, p.bRow, p.bCol, 1);
  for (int64_t i = 0; i < p.m; i += pieceRows)
    for (int64_t j = 0; j < p.n; j += pieceColumns) {
      int64_t rows = std::min(pieceRows, p.m - i), cols = std::min(pieceColumns, p.n - j);
      Out *out = c + i * p.cRow + j * p.cCol;
      float *sums = direct ? reinterpret_cast<float *>(out) : scratch(2, rows * cols);
      if (packed)
        multiplyPacked(rows, cols, p.k, {a + i * p.aRow, p.aRow, p.aCol}, {b + j * p.bCol, p.bRow, p.bCol}, false, sums,
                       cols);
      for (int64_t l = 0; l < p.k && !packed; l += pieceSums) {
        int64_t depth = std::min(pieceSums, p.k - l);
        left.widen(i, l, rows, depth);
        right.widen(l, j, depth, cols);
        multiplyPiece(left, right, rows, cols, depth, l > 0 || (direct && accumulate), sums, direct ? cRow : cols);
      }
      if (!direct)
        store(sums, rows, cols, accumulate, out, p.cRow, p.cCol);
    }
}

template void multiplyWidened(const GemmProblem &, bool, const Bf16 *, const Bf16 *, float *, PieceProduct);
template void multiplyWidened(const GemmProblem &, bool, const Bf16 *, const Bf16 *, Bf16 *, PieceProduct);

} // namespace ppcrt
