// The loops of Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008): a block of B in
// panels of 16 columns, blocks of A in panels of 6 rows that stay in the second cache, and tiles of 6 x 16 sums in
// registers.
#include "runtime/host/PackedProduct.h"
#include "runtime/host/Threads.h"

#include <algorithm>
#include <memory>

#if defined(__x86_64__)
#include <immintrin.h>

#define FOR_AVX2 __attribute__((target("avx2,fma")))
#define INLINE_AVX2 FOR_AVX2 inline __attribute__((always_inline))

namespace ppcrt {
namespace {

constexpr int tileRows = 6, tileColumns = 16, vector = 8;
// Of blocks: 144 x 256 of A are 147 KB in the second cache, 256 x 2,048 of B 2 MB. A panel of B and two of A, 28 KB,
// are what the innermost loops go over: they stay in the first cache.
constexpr int64_t blockRows = 144, blockColumns = 2048, blockDepth = 256;

INLINE_AVX2 __m256 widen(const Bf16 *from) {
  __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i *>(from));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}

// Eight elements from `at` on of each of 8 rows, as 8 columns that lie `toStride` apart.
INLINE_AVX2 void transpose(const Bf16 *const *rows, int64_t at, float *to, int64_t toStride) {
  __m256 r[vector], pairs[vector], quads[vector];
  for (int i = 0; i < vector; ++i)
    r[i] = widen(rows[i] + at);
  for (int i = 0; i < vector; i += 2) {
    pairs[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    pairs[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < vector; i += 4)
    for (int part = 0; part < 2; ++part) {
      quads[i + 2 * part] = _mm256_shuffle_ps(pairs[i + part], pairs[i + 2 + part], 0x44);
      quads[i + 2 * part + 1] = _mm256_shuffle_ps(pairs[i + part], pairs[i + 2 + part], 0xee);
    }
  for (int i = 0; i < 4; ++i) // in order: what a narrow panel has no place for is written over
    _mm256_storeu_ps(to + i * toStride, _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x20));
  for (int i = 0; i < 4; ++i)
    _mm256_storeu_ps(to + (i + 4) * toStride, _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x31));
}

// A panel: for each of `depth` summed elements `width` numbers side by side, of which the first `valid` are the
// operand's and others any. `across`, `along`: distances in the operand from one number, one summed element, to the
// next. `room`: numbers from `from` on that exist across. Writes up to 2 numbers behind the panel.
template <int width>
FOR_AVX2 void packPanel(const Bf16 *from, int64_t across, int64_t along, int64_t valid, int64_t room, int64_t depth,
                        float *to) {
  constexpr int groups = (width + vector - 1) / vector;
  int64_t l = 0;
  if (along == 1) {
    const Bf16 *rows[groups * vector];
    for (int i = 0; i < groups * vector; ++i)
      rows[i] = from + std::min<int64_t>(i, valid - 1) * across;
    for (; l + vector <= depth; l += vector)
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

// Sums of a tile, from panels.
FOR_AVX2 void multiplyTile(int64_t depth, const float *a, const float *b, bool accumulate, float *c, int64_t cRow) {
  __m256 sums[tileRows][2];
  for (auto &row : sums)
    row[0] = row[1] = _mm256_setzero_ps();
  for (int i = 0; i < tileRows; ++i) { // its last line is in the cache by the time that it is written
    __builtin_prefetch(c + i * cRow, 1);
    __builtin_prefetch(c + i * cRow + tileColumns - 1, 1);
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
  for (int i = 0; i < tileRows; ++i)
    for (int part = 0; part < 2; ++part) {
      float *out = c + i * cRow + part * vector;
      _mm256_storeu_ps(out, accumulate ? _mm256_add_ps(_mm256_loadu_ps(out), sums[i][part]) : sums[i][part]);
    }
}

// Memory of a thread that is kept from call to call.
float *panels(int index, int64_t count) {
  static thread_local std::unique_ptr<float[]> memory[2];
  if (!memory[index])
    memory[index].reset(new float[count]);
  return memory[index].get();
}

struct Block {
  int64_t rows, columns, depth;
  bool accumulate;
};

void multiplyBlock(const Block &block, const float *a, const float *b, float *c, int64_t cRow) {
  for (int64_t j = 0; j < block.columns; j += tileColumns)
    for (int64_t i = 0; i < block.rows; i += tileRows) {
      const float *left = a + i * block.depth, *right = b + j * block.depth;
      float *out = c + i * cRow + j;
      int64_t rows = std::min<int64_t>(tileRows, block.rows - i),
              columns = std::min<int64_t>(tileColumns, block.columns - j);
      if (rows == tileRows && columns == tileColumns) {
        multiplyTile(block.depth, left, right, block.accumulate, out, cRow);
        continue;
      }
      float sums[tileRows * tileColumns];
      multiplyTile(block.depth, left, right, false, sums, tileColumns);
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t s = 0; s < columns; ++s)
          out[r * cRow + s] = (block.accumulate ? out[r * cRow + s] : 0.0f) + sums[r * tileColumns + s];
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

} // namespace

bool hasPackedProducts() {
  static const bool known =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && !__builtin_cpu_supports("avx512f");
  return known;
}

void multiplyPacked(int64_t m, int64_t n, int64_t k, Bf16Matrix a, Bf16Matrix b, bool accumulate, float *c,
                    int64_t cRow) {
  float *packedB = panels(0, blockDepth * blockColumns);
  for (int64_t j = 0; j < n; j += blockColumns)
    for (int64_t l = 0; l < k; l += blockDepth) {
      Block block{0, std::min(blockColumns, n - j), std::min(blockDepth, k - l), accumulate || l > 0};
      double work = double(m) * double(block.columns) * double(block.depth);
      forEach(piecesOf(block.columns, tileColumns), work, [&](int64_t i) {
        int64_t first = i * tileColumns, room = n - j - first;
        packPanel<tileColumns>(b.data + (j + first) * b.col + l * b.row, b.col, b.row,
                               std::min<int64_t>(tileColumns, room), room, block.depth, packedB + first * block.depth);
      });
      forEach(piecesOf(m, blockRows), work, [&](int64_t i) {
        int64_t first = i * blockRows;
        Block part = block;
        part.rows = std::min(blockRows, m - first);
        float *packedA = panels(1, blockRows * blockDepth + vector);
        for (int64_t r = 0; r < part.rows; r += tileRows) {
          int64_t room = m - first - r;
          packPanel<tileRows>(a.data + (first + r) * a.row + l * a.col, a.row, a.col, std::min<int64_t>(tileRows, room),
                              room, block.depth, packedA + r * block.depth);
        }
        multiplyBlock(part, packedA, packedB, c + first * cRow + j, cRow);
      });
    }
}

} // namespace ppcrt

#else // other processors

namespace ppcrt {
bool hasPackedProducts() { return false; }
void multiplyPacked(int64_t, int64_t, int64_t, Bf16Matrix, Bf16Matrix, bool, float *, int64_t) {}
} // namespace ppcrt

#endif
