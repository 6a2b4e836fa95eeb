#include "runtime/host/Attention.h"
#include "runtime/base/Error.h"
#include "runtime/host/AttentionRows.h"
#include "runtime/host/BatchedProduct.h"
#include "runtime/host/PackedProduct.h"
#include "runtime/host/Threads.h"
#include "runtime/include/ppcrt.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

namespace ppcrt {

AttentionShape::AttentionShape(const int64_t *desc, double scale, int64_t first)
    : type(DataType(desc[1])), batch(desc[2]), queries(desc[3]), keys(desc[4]), heads(desc[5]), groups(desc[6]),
      keyDim(desc[7]), valueDim(desc[8]), causal(desc[9] != 0), window(desc[10]), scale(scale), first(first) {
  if (desc[0] != 2)
    fatal("ppcrt_attention: descriptor version %lld, this runtime knows 2", (long long)desc[0]);
  if (type != DataType::F32 && type != DataType::F64 && type != DataType::BF16)
    fatal("ppcrt_attention: type %lld is none of f32, f64 and bf16", (long long)desc[1]);
  for (int i = 2; i <= 10; ++i)
    if (desc[i] < 0)
      fatal("ppcrt_attention: size %lld is negative", (long long)desc[i]);
  if (causal && first < 0)
    fatal("ppcrt_attention: the first of the causal queries is at position %lld among the keys", (long long)first);
}

int64_t AttentionShape::realQueries() const { return std::clamp<int64_t>(keys - first, 0, queries); }

int64_t AttentionShape::firstKey(int64_t query) const {
  return causal && window ? std::max<int64_t>(0, position(query) - window + 1) : 0;
}

int64_t AttentionShape::lastKey(int64_t query) const { return causal ? position(query) + 1 : keys; }

namespace {

constexpr int64_t keyBlock = 64; // keys of a tile begin and end at multiples of it: few different shapes of products

int64_t roundUp(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

// Rows and columns of a strided matrix.
template <typename T> struct Matrix {
  T *data;
  int64_t row, col;
  Matrix transposed() const { return {data, col, row}; }
};

template <typename T> constexpr DataType typeOf = DataType::BF16;
template <> constexpr DataType typeOf<float> = DataType::F32;
template <> constexpr DataType typeOf<WideBf16> = DataType::F32;
template <> constexpr DataType typeOf<double> = DataType::F64;

// C (+)= A B, A m x k; C in the type of sums.
template <typename T, typename Sum>
void multiply(bool accumulate, int64_t m, int64_t n, int64_t k, Matrix<const T> a, Matrix<const T> b, Matrix<Sum> c) {
  const int64_t desc[] = {
      2, int64_t(typeOf<T>), accumulate, int64_t(typeOf<Sum>), m, n, k, a.row, a.col, b.row, b.col, c.row, c.col, 0};
  if constexpr (!std::is_same_v<T, double>)
    if (m > 0 && n > 0 && k > 0 && runBatched(GemmProblem(desc), accumulate, a.data, b.data, c.data))
      return;
  ppcrt_gemm(desc, a.data, b.data, c.data);
}

// Memory of a thread that is kept from call to call, in whole cache lines. Rows of whole key blocks are read, also
// beyond the last key. Large allocations begin alike within a page: a few lines more for each buffer than for the one
// before keep their rows out of the same sets of the cache.
template <typename T> T *scratch(int index, int64_t size) {
  struct alignas(64) Line {
    T elements[64 / sizeof(T)];
  };
  constexpr int count = 5, apart = 13;
  static thread_local std::vector<Line> buffers[count];
  size_t first = (index + (std::is_same_v<T, WideBf16> ? count : 0)) * apart,
         lines = first + (size * sizeof(T) + sizeof(Line) - 1) / sizeof(Line);
  if (buffers[index].size() < lines)
    buffers[index].resize(lines);
  return reinterpret_cast<T *>(buffers[index].data() + first);
}

// Rows of an operand of type T as products read them: where they are, or as wide numbers beside, each widened once.
template <typename T, typename Factor> class Operand {
public:
  // Rows lie `stride` apart and have `width` elements; `count` are asked for at most. `index`: of the memory beside.
  Operand(const T *data, int64_t stride, int64_t width, int64_t count, int index)
      : data(data), stride(stride), width(width) {
    if constexpr (!std::is_same_v<T, Factor>)
      wide = scratch<Factor>(index, count * width);
  }

  // From row `first` on, up to row `end`. Neither may be less than in the call before, unless all the calls so far are
  // made again.
  Matrix<const Factor> rows(int64_t first, int64_t end) {
    if constexpr (std::is_same_v<T, Factor>) {
      return {data + first * stride, stride, 1};
    } else {
      for (ready = std::max(ready, first); ready < end; ++ready)
        widenRow(data + ready * stride, width, wide + ready * width);
      return {wide + first * width, width, 1};
    }
  }

private:
  const T *data;
  int64_t stride, width;
  Factor *wide = nullptr;
  int64_t ready = 0; // rows before are wide, as far as they were asked for
};

// Both directions, for operands of type T, scores and sums of type Sum, and products of type Factor: T, or WideBf16 for
// Bf16 where products of f32 are faster.
template <typename T, typename Sum, typename Factor> class TiledAttention {
public:
  explicit TiledAttention(const AttentionShape &shape)
      : shape(shape), width(roundUp(shape.keys, keyBlock)), qRow(shape.heads * shape.groups * shape.keyDim),
        kRow(shape.heads * shape.keyDim), vRow(shape.heads * shape.valueDim),
        outRow(shape.heads * shape.groups * shape.valueDim) {
    while (rows > 16 && rows * width > 1 << 16) // a quarter of a megabyte of scores in f32
      rows /= 2;
  }

  // Tiles do not depend on each other. Those of a head follow each other on one thread where they share what is
  // widened, if there are heads for all threads.
  void forward(const T *q, const T *k, const T *v, const Sum *slopes, T *out, Sum *lse) {
    int64_t blocks = (shape.queries + rows - 1) / rows, heads = shape.batch * lseRow();
    int64_t together = std::is_same_v<T, Factor> || heads < libraryThreads() ? 1 : std::max<int64_t>(1, blocks);
    forEach(heads * blocks / together, [&](int64_t i) {
      int64_t first = i * together, b = first / blocks / lseRow(), head = first / blocks % lseRow();
      Keys keys = keysOf(b, head / shape.groups, k, v);
      for (int64_t block = first % blocks; block < first % blocks + together; ++block)
        forwardOfTile(tileOf(b, head, block * rows), q, keys, slopes, out, lse);
    });
  }

  // Gradients of keys and values are sums over the tiles of one key head, always in the same order.
  void backward(const T *q, const T *k, const T *v, const T *out, const Sum *lse, const T *dout, const Sum *slopes,
                T *dq, T *dk, T *dv) {
    forEach(shape.batch * shape.heads, [&](int64_t i) {
      int64_t b = i / shape.heads, keyHead = i % shape.heads, keyDim = shape.keyDim, valueDim = shape.valueDim;
      Sum *keySums = scratch<Sum>(3, shape.keys * keyDim), *valueSums = scratch<Sum>(4, shape.keys * valueDim);
      std::fill(keySums, keySums + shape.keys * keyDim, Sum(0));
      std::fill(valueSums, valueSums + shape.keys * valueDim, Sum(0));
      Keys keys = keysOf(b, keyHead, k, v);
      for (int64_t head = keyHead * shape.groups; head < (keyHead + 1) * shape.groups; ++head)
        for (int64_t query = 0; query < shape.queries; query += rows)
          backwardOfTile(tileOf(b, head, query), q, keys, out, lse, dout, slopes, dq, keySums, valueSums);
      for (int64_t j = 0; j < shape.keys; ++j) {
        divideRow(keySums + j * keyDim, keyDim, Sum(1), dk + (b * shape.keys + j) * kRow + keyHead * keyDim);
        divideRow(valueSums + j * valueDim, valueDim, Sum(1), dv + (b * shape.keys + j) * vRow + keyHead * valueDim);
      }
    });
  }

private:
  static constexpr int64_t maxRows = 64;

  // A block of queries of one head and the keys that any of them sees: offsets of its first elements.
  struct Tile {
    int64_t head, query, rows; // head: of all groups
    int64_t padding;           // rows behind them whose results are zero
    int64_t firstKey, width;   // no more keys than there are
    int64_t q, out, lse;
  };

  // Of one key head.
  struct Keys {
    Operand<T, Factor> keys, values;
  };

  Keys keysOf(int64_t b, int64_t keyHead, const T *k, const T *v) const {
    return {{k + b * shape.keys * kRow + keyHead * shape.keyDim, kRow, shape.keyDim, shape.keys, 0},
            {v + b * shape.keys * vRow + keyHead * shape.valueDim, vRow, shape.valueDim, shape.keys, 1}};
  }

  void forwardOfTile(const Tile &tile, const T *q, Keys &head, const Sum *slopes, T *out, Sum *lse) {
    for (int64_t i = tile.rows; i < tile.rows + tile.padding; ++i) {
      lse[tile.lse + i * lseRow()] = 0;
      std::fill_n(out + tile.out + i * outRow, shape.valueDim, T{});
    }
    if (!tile.rows)
      return;
    int64_t keyDim = shape.keyDim, valueDim = shape.valueDim, endKey = tile.firstKey + tile.width;
    Sum *scores = scratch<Sum>(0, rows * width), *result = scratch<Sum>(2, rows * valueDim), sums[maxRows];
    Operand<T, Factor> queries(q + tile.q, qRow, keyDim, tile.rows, 2);
    multiply<Factor, Sum>(false, tile.rows, tile.width, keyDim, queries.rows(0, tile.rows),
                          head.keys.rows(tile.firstKey, endKey).transposed(), {scores, width, 1});
    Matrix<Factor> powers = operand(3, scores);
    for (int64_t i = 0; i < tile.rows; ++i) {
      Sum maximum;
      powersOfRow(row(tile, i, scores, slopes), powers.data + i * width, maximum, sums[i]);
      lse[tile.lse + i * lseRow()] = maximum + std::log(sums[i]);
    }
    multiply<Factor, Sum>(false, tile.rows, valueDim, tile.width, constant(powers),
                          head.values.rows(tile.firstKey, endKey), {result, valueDim, 1});
    for (int64_t i = 0; i < tile.rows; ++i)
      divideRow(result + i * valueDim, valueDim, sums[i], out + tile.out + i * outRow);
  }

  void backwardOfTile(const Tile &tile, const T *q, Keys &head, const T *out, const Sum *lse, const T *dout,
                      const Sum *slopes, T *dq, Sum *keySums, Sum *valueSums) {
    int64_t keyDim = shape.keyDim, valueDim = shape.valueDim, endKey = tile.firstKey + tile.width;
    for (int64_t i = tile.rows; i < tile.rows + tile.padding; ++i)
      std::fill_n(dq + tile.q + i * qRow, keyDim, T{});
    if (!tile.rows)
      return;
    Sum *scores = scratch<Sum>(0, rows * width), *gradients = scratch<Sum>(1, rows * width),
        *result = scratch<Sum>(2, rows * keyDim);
    Operand<T, Factor> ownQueries(q + tile.q, qRow, keyDim, tile.rows, 2),
        ownDouts(dout + tile.out, outRow, valueDim, tile.rows, 3);
    Matrix<const Factor> queries = ownQueries.rows(0, tile.rows), douts = ownDouts.rows(0, tile.rows),
                         keys = head.keys.rows(tile.firstKey, endKey), values = head.values.rows(tile.firstKey, endKey);
    multiply<Factor, Sum>(false, tile.rows, tile.width, keyDim, queries, keys.transposed(), {scores, width, 1});
    multiply<Factor, Sum>(false, tile.rows, tile.width, valueDim, douts, values.transposed(), {gradients, width, 1});
    Matrix<Factor> p = operand(3, scores), ds = operand(4, gradients);
    for (int64_t i = 0; i < tile.rows; ++i) {
      Sum delta = dotOfRows<Sum>(dout + tile.out + i * outRow, out + tile.out + i * outRow, valueDim);
      scoreGradientsOfRow(row(tile, i, scores, slopes), lse[tile.lse + i * lseRow()], p.data + i * width,
                          gradients + i * width, delta, ds.data + i * width);
    }
    multiply<Factor, Sum>(true, tile.width, valueDim, tile.rows, constant(p.transposed()), douts,
                          {valueSums + tile.firstKey * valueDim, valueDim, 1});
    multiply<Factor, Sum>(false, tile.rows, keyDim, tile.width, constant(ds), keys, {result, keyDim, 1});
    for (int64_t i = 0; i < tile.rows; ++i)
      divideRow(result + i * keyDim, keyDim, Sum(1), dq + tile.q + i * qRow);
    multiply<Factor, Sum>(true, tile.width, keyDim, tile.rows, constant(ds.transposed()), queries,
                          {keySums + tile.firstKey * keyDim, keyDim, 1});
  }

  // body(i) for each i of [0, count), on all threads where that is worth their start.
  template <typename Body> void forEach(int64_t count, const Body &body) const {
    double products =
        double(shape.batch) * double(lseRow()) * double(shape.queries) * double(shape.keys) * double(shape.keyDim);
    if (products > 1e6)
      return forEachOnThreads(count, body);
    OneThread one;
    for (int64_t i = 0; i < count; ++i)
      body(i);
  }

  int64_t lseRow() const { return shape.heads * shape.groups; }

  ScoreRow<Sum> row(const Tile &tile, int64_t i, Sum *scores, const Sum *slopes) const {
    int64_t query = tile.query + i, first = tile.firstKey;
    return {scores + i * width,
            roundUp(tile.width, keyBlock),
            shape.firstKey(query) - first,
            shape.lastKey(query) - first,
            Sum(shape.scale),
            slopes ? slopes[tile.head] : Sum(0),
            shape.position(query) - first};
  }

  // Where scores go as an operand of a product: they stay where they are, or are rounded into memory beside.
  Matrix<Factor> operand(int index, Sum *scores) const {
    if constexpr (sizeof(Factor) == sizeof(Sum))
      return {reinterpret_cast<Factor *>(scores), width, 1};
    else
      return {scratch<Factor>(index, rows * width), width, 1};
  }

  static Matrix<const Factor> constant(Matrix<Factor> m) { return {m.data, m.row, m.col}; }

  Tile tileOf(int64_t b, int64_t head, int64_t query) const {
    Tile tile;
    tile.head = head;
    tile.query = query;
    tile.rows = std::clamp<int64_t>(shape.realQueries() - query, 0, rows);
    tile.padding = std::min(rows, shape.queries - query) - tile.rows;
    tile.firstKey = tile.rows ? shape.firstKey(query) / keyBlock * keyBlock : 0;
    tile.width =
        tile.rows ? std::min(shape.keys, roundUp(shape.lastKey(query + tile.rows - 1), keyBlock)) - tile.firstKey : 0;
    int64_t firstQuery = b * shape.queries + query;
    tile.q = firstQuery * qRow + head * shape.keyDim;
    tile.out = firstQuery * outRow + head * shape.valueDim;
    tile.lse = firstQuery * lseRow() + head;
    return tile;
  }

  const AttentionShape &shape;
  int64_t width; // of a row of scores
  int64_t rows = maxRows;
  int64_t qRow, kRow, vRow, outRow; // elements from one position to the next
};

template <typename T, typename Sum, typename Factor = T>
void forward(const AttentionShape &shape, const void *q, const void *k, const void *v, const void *slopes, void *out,
             void *lse) {
  TiledAttention<T, Sum, Factor>(shape).forward(static_cast<const T *>(q), static_cast<const T *>(k),
                                                static_cast<const T *>(v), static_cast<const Sum *>(slopes),
                                                static_cast<T *>(out), static_cast<Sum *>(lse));
}

template <typename T, typename Sum, typename Factor = T>
void backward(const AttentionShape &shape, const void *q, const void *k, const void *v, const void *out,
              const void *lse, const void *dout, const void *slopes, void *dq, void *dk, void *dv) {
  TiledAttention<T, Sum, Factor>(shape).backward(
      static_cast<const T *>(q), static_cast<const T *>(k), static_cast<const T *>(v), static_cast<const T *>(out),
      static_cast<const Sum *>(lse), static_cast<const T *>(dout), static_cast<const Sum *>(slopes),
      static_cast<T *>(dq), static_cast<T *>(dk), static_cast<T *>(dv));
}

} // namespace

void attention(const AttentionShape &shape, bool wide, const void *q, const void *k, const void *v, const void *slopes,
               void *out, void *lse) {
  (shape.type == DataType::F32   ? forward<float, float>
   : shape.type == DataType::F64 ? forward<double, double>
   : wide                        ? forward<Bf16, float, WideBf16>
                                 : forward<Bf16, float>)(shape, q, k, v, slopes, out, lse);
}

void attentionBackward(const AttentionShape &shape, bool wide, const void *q, const void *k, const void *v,
                       const void *out, const void *lse, const void *dout, const void *slopes, void *dq, void *dk,
                       void *dv) {
  (shape.type == DataType::F32   ? backward<float, float>
   : shape.type == DataType::F64 ? backward<double, double>
   : wide                        ? backward<Bf16, float, WideBf16>
                                 : backward<Bf16, float>)(shape, q, k, v, out, lse, dout, slopes, dq, dk, dv);
}

} // namespace ppcrt

using namespace ppcrt;

extern "C" void ppcrt_attention(const int64_t *desc, double scale, int64_t first, const void *q, const void *k,
                                const void *v, const void *slopes, void *out, void *lse) {
  attention(AttentionShape(desc, scale, first), hasPackedProducts(), q, k, v, slopes, out, lse);
}

extern "C" void ppcrt_attention_backward(const int64_t *desc, double scale, int64_t first, const void *q, const void *k,
                                         const void *v, const void *out, const void *lse, const void *dout,
                                         const void *slopes, void *dq, void *dk, void *dv) {
  attentionBackward(AttentionShape(desc, scale, first), hasPackedProducts(), q, k, v, out, lse, dout, slopes, dq, dk,
                    dv);
}
