// Attention in tiles: a block of queries of one head at a time, with the keys that some of them see and no others.
// Scores and powers of a block are f32 (f64 for f64) and stay in the cache; they are rounded to the type of the
// operands for their products. Where products of f32 are faster than those of bf16, numbers of bf16 go into them as
// f32: keys, values, queries and gradients widened once for the tiles that share them, powers rounded in place.
#pragma once

#include "runtime/base/DataType.h"

#include <cstdint>

namespace ppcrt {

// What ppcrt_attention's descriptor states. Tensors are row-major: q and out [batch, queries, heads, groups, dim], k
// and v [batch, keys, heads, dim], lse [batch, queries, heads, groups], slopes [heads, groups].
struct AttentionShape {
  DataType type; // of q, k, v, out and their gradients: F32, F64, or BF16 with lse and slopes in F32
  int64_t batch, queries, keys, heads, groups, keyDim, valueDim;
  bool causal;
  int64_t window; // 0: none
  double scale;
  int64_t first; // position of the first query among the keys

  // Calls fatal() on a descriptor or a position that is not valid.
  AttentionShape(const int64_t *desc, double scale, int64_t first);

  // Queries behind these are padding.
  int64_t realQueries() const;
  // Query i, which is real, sees the keys [firstKey(i), lastKey(i)).
  int64_t position(int64_t query) const { return first + query; }
  int64_t firstKey(int64_t query) const;
  int64_t lastKey(int64_t query) const;
};

// ppcrt_attention and ppcrt_attention_backward. `wide`: whether products of bf16 are products of f32.
void attention(const AttentionShape &shape, bool wide, const void *q, const void *k, const void *v, const void *slopes,
               void *out, void *lse);
void attentionBackward(const AttentionShape &shape, bool wide, const void *q, const void *k, const void *v,
                       const void *out, const void *lse, const void *dout, const void *slopes, void *dq, void *dk,
                       void *dv);

} // namespace ppcrt
