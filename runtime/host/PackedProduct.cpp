// The loops of Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008): a block of B in
// panels of 16 columns, blocks of A in panels of 6 rows that stay in the second cache, and tiles of 6 x 16 sums in
// registers.
#include "runtime/host/PackedProduct.h"
#include "runtime/host/Threads.h"

#include <algorithm>
#include <memory>
#include <type_traits>

#if defined(__x86_64__)
#include <immintrin.h>
#include <oneapi/dnnl/dnnl.h>

#define FOR_AVX2 __attribute__((target("avx2,fma")))
#define INLINE_AVX2 FOR_AVX2 inline __attribute__((always_inline))

namespace ppcrt {
namespace {

constexpr int tileRows = 6, tileColumns = 16, vector = 8;
// Of blocks of f32: 96 x 512 of A are 196 KB in the second cache, and 1,032 x 512 of A and 512 x 1,024 of B 2 MB each
// in the third. Sums of 512 products stay in registers: what is as deep as a narrow model is wide is written once.
constexpr int64_t blockRows = 1032, cachedRows = 96, blockColumns = 1024, blockDepth = 512;

INLINE_AVX2 __m256 fromLower(__m256i pairs) { return _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16)); }

INLINE_AVX2 __m256 fromUpper(__m256i pairs) {
  return _mm256_castsi256_ps(_mm256_and_si256(pairs, _mm256_set1_epi32(int(0xffff0000))));
}

INLINE_AVX2 __m256 widen(const Bf16 *from) {
  return fromLower(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i *>(from))));
}

// Eight pairs of neighbours from `at` on of each of 8 rows, as 16 columns of f32 that lie `toStride` apart. Pairs are
// exchanged as they are, half as many as numbers.
INLINE_AVX2 void transpose(const Bf16 *const *rows, int64_t at, float *to, int64_t toStride) {
  __m256 r[vector], pairs[vector], quads[vector];
  for (int i = 0; i < vector; ++i)
    r[i] = _mm256_loadu_ps(reinterpret_cast<const float *>(rows[i] + at));
  for (int i = 0; i < vector; i += 2) {
    pairs[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    pairs[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < vector; i += 4)
    for (int part = 0; part < 2; ++part) {
      quads[i + 2 * part] = _mm256_shuffle_ps(pairs[i + part], pairs[i + 2 + part], 0x44);
      quads[i + 2 * part + 1] = _mm256_shuffle_ps(pairs[i + part], pairs[i + 2 + part], 0xee);
    }
  for (int i = 0; i < vector; ++i) { // in order: what a narrow panel has no place for is written over
    __m256 low = quads[i % 4], high = quads[i % 4 + 4];
    __m256i column =
        _mm256_castps_si256(i < 4 ? _mm256_permute2f128_ps(low, high, 0x20) : _mm256_permute2f128_ps(low, high, 0x31));
    _mm256_storeu_ps(to + 2 * i * toStride, fromLower(column));
    _mm256_storeu_ps(to + (2 * i + 1) * toStride, fromUpper(column));
  }
}

// Numbers from one panel of a block to the next: packPanel() writes behind those of a width that is no multiple of a
// vector's, which other threads pack.
template <int width> constexpr int64_t pitch(int64_t depth) { return width * depth + (width % vector ? vector : 0); }

// A panel: for each of `depth` summed elements `width` numbers side by side, of which the first `valid` are the
// operand's and others any. `across`, `along`: distances in the operand from one number, one summed element, to the
// next. `room`: numbers from `from` on that exist across.
template <int width>
FOR_AVX2 void packPanel(const Bf16 *from, int64_t across, int64_t along, int64_t valid, int64_t room, int64_t depth,
                        float *to) {
  constexpr int groups = (width + vector - 1) / vector;
  int64_t l = 0;
  if (along == 1) {
    const Bf16 *rows[groups * vector];
    for (int i = 0; i < groups * vector; ++i)
      rows[i] = from + std::min<int64_t>(i, valid - 1) * across;
    for (; l + 2 * vector <= depth; l += 2 * vector)
      for (int group = 0; group < groups; ++group)
        transpose(rows + group * vector, l, to + l * width + group * vector, width);
  } else if (across == 1 && room >= groups * vector) {
    for (; l < depth; ++l)
      for (int group = 0; group < groups; ++group)
        _mm256_storeu_ps(to + l * width + group * vector, widen(from + l * along + group * vector));
  }
  for (; l < depth; ++l)
    for (int i = 0; i < width; ++i)
      to[l * width + i] = bf16ToFloat(from[std::min<int64_t>(i, valid - 1) * across + l * along].bits);
}

// Two vectors of sums, which neighbour in C, rounded as floatToBf16() does.
INLINE_AVX2 __m256i upperHalf(__m256 sum) {
  __m256i bits = _mm256_castps_si256(sum), odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
  __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
  __m256 isNaN = _mm256_cmp_ps(sum, sum, _CMP_UNORD_Q);
  return _mm256_srli_epi32(
      _mm256_castps_si256(_mm256_blendv_ps(_mm256_castsi256_ps(rounded), _mm256_castsi256_ps(quiet), isNaN)), 16);
}
INLINE_AVX2 void store(__m256 left, __m256 right, float *to) {
  _mm256_storeu_ps(to, left);
  _mm256_storeu_ps(to + vector, right);
}
INLINE_AVX2 void store(__m256 left, __m256 right, Bf16 *to) {
  __m256i halves = _mm256_packus_epi32(upperHalf(left), upperHalf(right)); // within each lane of 128 bits
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(to), _mm256_permute4x64_epi64(halves, 0xd8));
}
void store(float sum, float *to) { *to = sum; }
void store(float sum, Bf16 *to) { to->bits = floatToBf16(sum); }

// Rows of C, and those of sums that are added to them before, if there are any.
template <typename Out> struct Sums {
  Out *to;
  int64_t row;
  const float *before;
  int64_t beforeRow;
  Sums at(int64_t i, int64_t j) const {
    return {to + i * row + j, row, before ? before + i * beforeRow + j : nullptr, beforeRow};
  }
};

// A tile, from panels.
template <typename Out> FOR_AVX2 void multiplyTile(int64_t depth, const float *a, const float *b, Sums<Out> c) {
  __m256 sums[tileRows][2];
  for (auto &row : sums)
    row[0] = row[1] = _mm256_setzero_ps();
  for (int i = 0; i < tileRows; ++i) { // its last line is in the cache by the time that it is written
    __builtin_prefetch(c.to + i * c.row, 1);
    __builtin_prefetch(c.to + i * c.row + tileColumns - 1, 1);
  }
#pragma GCC unroll 4
  for (int64_t l = 0; l < depth; ++l) {
    __m256 left = _mm256_loadu_ps(b + l * tileColumns), right = _mm256_loadu_ps(b + l * tileColumns + vector);
    for (int i = 0; i < tileRows; ++i) {
      __m256 factor = _mm256_broadcast_ss(a + l * tileRows + i);
      sums[i][0] = _mm256_fmadd_ps(factor, left, sums[i][0]);
      sums[i][1] = _mm256_fmadd_ps(factor, right, sums[i][1]);
    }
  }
  for (int i = 0; i < tileRows; ++i) {
    if (c.before) {
      sums[i][0] = _mm256_add_ps(_mm256_loadu_ps(c.before + i * c.beforeRow), sums[i][0]);
      sums[i][1] = _mm256_add_ps(_mm256_loadu_ps(c.before + i * c.beforeRow + vector), sums[i][1]);
    }
    store(sums[i][0], sums[i][1], c.to + i * c.row);
  }
}

// Memory of a thread that is kept from call to call, in whole cache lines: a vector of a panel lies in one.
float *scratch(int index, int64_t count) {
  struct alignas(64) Line {
    float elements[16];
  };
  static thread_local std::unique_ptr<Line[]> memory[3];
  if (!memory[index])
    memory[index].reset(new Line[(count + 15) / 16]);
  return memory[index][0].elements;
}

// `rows` of A's panels times `columns` of B's.
template <typename Out>
void multiplyBlock(int64_t rows, int64_t columns, int64_t depth, const float *a, const float *b, Sums<Out> c) {
  for (int64_t j = 0; j < columns; j += tileColumns)
    for (int64_t i = 0; i < rows; i += tileRows) {
      const float *left = a + i / tileRows * pitch<tileRows>(depth);
      const float *right = b + j / tileColumns * pitch<tileColumns>(depth);
      Sums<Out> out = c.at(i, j);
      int64_t validRows = std::min<int64_t>(tileRows, rows - i),
              validColumns = std::min<int64_t>(tileColumns, columns - j);
      if (validRows == tileRows && validColumns == tileColumns) {
        multiplyTile(depth, left, right, out);
        continue;
      }
      float sums[tileRows * tileColumns];
      multiplyTile(depth, left, right, Sums<float>{sums, tileColumns, nullptr, 0});
      for (int64_t r = 0; r < validRows; ++r)
        for (int64_t s = 0; s < validColumns; ++s)
          store((out.before ? out.before[r * out.beforeRow + s] : 0.0f) + sums[r * tileColumns + s],
                out.to + r * out.row + s);
    }
}

// body(i) for each i of [0, count), on threads where each is worth its start.
template <typename Body> void forEach(int64_t count, double work, const Body &body) {
  if (work > 1e6)
    return forEachOnThreads(count, body);
  for (int64_t i = 0; i < count; ++i)
    body(i);
}

int64_t piecesOf(int64_t size, int64_t piece) { return (size + piece - 1) / piece; }

// Panels of `width` numbers of one operand, block after block: of all blocks where they fit into the memory of one, and
// packed once then; else of the block that was asked for last.
template <int width> class Panels {
public:
  Panels(Bf16Matrix operand, int64_t size, int64_t depth, int index, int64_t blockSize)
      : operand(operand), size(size), depth(depth) {
    int64_t capacity = blockSize / width * pitch<width>(blockDepth);
    fits = piecesOf(size, width) * allDepth() <= capacity;
    memory = scratch(index, capacity);
  }

  // Those of numbers [first, first + count) and summed elements [l, l + deep); `again`: they were asked for before.
  const float *get(int64_t first, int64_t count, int64_t l, int64_t deep, bool again, double work) {
    int64_t panels = piecesOf(count, width);
    float *to = memory;
    if (fits)
      to += first / width * allDepth() + panels * (l / blockDepth) * pitch<width>(blockDepth);
    if (fits ? again : first == heldFirst && l == heldSum)
      return to;
    heldFirst = first, heldSum = l;
    forEach(panels, work, [&](int64_t i) {
      int64_t at = first + i * width, room = size - at;
      packPanel<width>(operand.data + at * operand.row + l * operand.col, operand.row, operand.col,
                       std::min<int64_t>(width, room), room, deep, to + i * pitch<width>(deep));
    });
    return to;
  }

private:
  // Numbers of the panels of all blocks along the summed dimension.
  int64_t allDepth() const {
    int64_t whole = depth / blockDepth, rest = depth % blockDepth;
    return whole * pitch<width>(blockDepth) + (rest ? pitch<width>(rest) : 0);
  }

  Bf16Matrix operand; // its rows lie side by side in panels
  int64_t size, depth;
  bool fits;
  float *memory;
  int64_t heldFirst = -1, heldSum = -1; // of the block that was packed last
};

// By ONEDNN_MAX_CPU_ISA: a wider processor then computes as one with AVX2 does.
bool oneDnnIsHeldToAvx2() {
  return (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) != dnnl_cpu_isa_avx512_core;
}

} // namespace

bool hasPackedProducts() {
  static const bool known = [] {
    bool isWider = __builtin_cpu_supports("avx512f") && !oneDnnIsHeldToAvx2();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && !isWider;
  }();
  return known;
}

template <typename Out>
void multiplyPacked(int64_t m, int64_t n, int64_t k, Bf16Matrix a, Bf16Matrix b, bool accumulate, Out *c,
                    int64_t cRow) {
  Panels<tileRows> left(a, m, k, 0, blockRows);
  Panels<tileColumns> right({b.data, b.col, b.row}, n, k, 1, blockColumns);
  for (int64_t i = 0; i < m; i += blockRows)
    for (int64_t j = 0; j < n; j += blockColumns)
      for (int64_t l = 0; l < k; l += blockDepth) {
        int64_t rows = std::min(blockRows, m - i), columns = std::min(blockColumns, n - j),
                depth = std::min(blockDepth, k - l);
        double work = double(rows) * double(columns) * double(depth);
        const float *panelsOfA = left.get(i, rows, l, depth, j > 0, work);
        const float *panelsOfB = right.get(j, columns, l, depth, i > 0, work);
        auto multiply = [&](auto sums) {
          forEach(piecesOf(rows, cachedRows), work, [&](int64_t piece) {
            int64_t first = piece * cachedRows;
            multiplyBlock(std::min(cachedRows, rows - first), columns, depth,
                          panelsOfA + first / tileRows * pitch<tileRows>(depth), panelsOfB, sums.at(first, 0));
          });
        };
        Out *out = c + i * cRow + j;
        if constexpr (std::is_same_v<Out, float>) {
          multiply(Sums<float>{out, cRow, accumulate || l > 0 ? out : nullptr, cRow});
        } else { // sums of blocks are rounded with those of the last
          float *sums = k > blockDepth ? scratch(2, blockRows * blockColumns) : nullptr;
          const float *before = l > 0 ? sums : nullptr;
          if (l + blockDepth < k)
            multiply(Sums<float>{sums, blockColumns, before, blockColumns});
          else
            multiply(Sums<Bf16>{out, cRow, before, blockColumns});
        }
      }
}

template void multiplyPacked(int64_t, int64_t, int64_t, Bf16Matrix, Bf16Matrix, bool, float *, int64_t);
template void multiplyPacked(int64_t, int64_t, int64_t, Bf16Matrix, Bf16Matrix, bool, Bf16 *, int64_t);

} // namespace ppcrt

#else // other processors

namespace ppcrt {
bool hasPackedProducts() { return false; }
template <typename Out> void multiplyPacked(int64_t, int64_t, int64_t, Bf16Matrix, Bf16Matrix, bool, Out *, int64_t) {}
template void multiplyPacked(int64_t, int64_t, int64_t, Bf16Matrix, Bf16Matrix, bool, float *, int64_t);
template void multiplyPacked(int64_t, int64_t, int64_t, Bf16Matrix, Bf16Matrix, bool, Bf16 *, int64_t);
} // namespace ppcrt

#endif
