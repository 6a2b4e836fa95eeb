// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434): queries, and keys with values, pass through low-rank
// bottlenecks; a part of each head carries the position, and all heads share that part of their keys.
#include "ModelBuilder.h"

#include <cmath>

namespace mlir::ppc {

Value ModelBuilder::latentAttention(Value x, const std::string &name, int64_t index) {
  const LatentAttention &latent = shape.latent;
  constexpr double epsilon = 1e-6; // epsilon of the norms inside, whatever the value of rms_norm_eps
  Dimension hidden{"hidden", shape.hidden}, heads{"kv_heads", shape.heads};
  auto down = [&](const char *which, StringRef dim, int64_t rank) {
    Value weight = matrix(name + which + ".weight", {{dim, rank}, hidden});
    at(name + which);
    return matmul("bsh,rh->bsr", x, weight);
  };
  auto up = [&](const char *which, Value from, Dimension in, int64_t width) {
    Value weight = matrix(name + which + ".weight", {heads, {"head_dim", width}, in}, 2);
    at(name + which);
    return matmul("bsr,kdr->bskd", from, weight);
  };

  Value q;
  if (latent.queryRank) {
    Value bottleneck = rmsNorm(down(".q_a_proj", "query_rank", latent.queryRank), name + ".q_a_layernorm", epsilon);
    q = up(".q_b_proj", bottleneck, {"query_rank", latent.queryRank}, shape.queryHeadDim());
  } else {
    q = up(".q_proj", x, hidden, shape.queryHeadDim());
  }
  Value compressed = down(".kv_a_proj_with_mqa", "key_value_rank", latent.keyValueRank + latent.ropeHeadDim);
  SmallVector<Value> parts = split(compressed, 2, {latent.keyValueRank, latent.ropeHeadDim});
  Value bottleneck = rmsNorm(parts[0], name + ".kv_a_layernorm", epsilon);
  Value keyValue =
      up(".kv_b_proj", bottleneck, {"key_value_rank", latent.keyValueRank}, latent.nopeHeadDim + latent.valueHeadDim);

  if (shape.hasIndex(index)) {
    Value carried = carryIndex(name + ".indexer");
    at(name + ".indexer");
    parts[1] = add(parts[1], repeat(carried, tensorType(parts[1]).getShape(), {0, 1, 2}));
  }
  at(name);
  SmallVector<Value> perHead = split(keyValue, 3, {latent.nopeHeadDim, latent.valueHeadDim});
  SmallVector<int64_t> ropeShape = {batch, sequence, shape.heads, latent.ropeHeadDim};
  Value sharedKey = repeat(rotary(parts[1], 0, /*interleaved=*/true), ropeShape, {2});
  SmallVector<int64_t> keyShape = {batch, sequence, shape.heads, shape.queryHeadDim()};
  Projections projections;
  projections.q = reshape(rotary(q, latent.nopeHeadDim, /*interleaved=*/true),
                          {batch, sequence, shape.heads, 1, shape.queryHeadDim()});
  projections.k = create<ConcatOp>(tensorOf(keyShape), ValueRange{perHead[0], sharedKey}, builder.getI64IntegerAttr(3));
  projections.v = perHead[1];
  return project(attend(projections, 1.0 / std::sqrt(double(shape.queryHeadDim())), index), name);
}

/// The branch chooses all keys of sequences up to index_topk, so nothing computes with it: its parameters are loaded,
/// kept and saved. Returns zero times their sum, by which they are parameters of this layer whose gradient is zero.
Value ModelBuilder::carryIndex(const std::string &name) {
  const SparseIndex &index = shape.index;
  Dimension hidden{"hidden", shape.hidden}, width{"normed", index.headDim};
  Value parameters[] = {
      frozenMatrix(name + ".wq_b.weight",
                   {{"index_width", index.heads * index.headDim}, {"query_rank", shape.latent.queryRank}}),
      frozenMatrix(name + ".wk.weight", {width, hidden}),
      vector(name + ".k_norm.weight", {width}, InitKind::Ones),
      vector(name + ".k_norm.bias", {width}, InitKind::Zeros),
      frozenMatrix(name + ".weights_proj.weight", {{"index_heads", index.heads}, hidden}),
  };
  at(name);
  auto combiner = CombinerAttr::get(builder.getContext(), Combiner::Sum);
  Value all;
  for (Value parameter : parameters) {
    auto dims = llvm::to_vector(llvm::seq<int64_t>(0, tensorType(parameter).getRank()));
    Value sum = create<ReduceOp>(tensorOf({}), combiner, parameter, builder.getDenseI64ArrayAttr(dims));
    all = all ? add(all, sum) : sum;
  }
  return create<ScaleOp>(tensorOf({}), all, builder.getF64FloatAttr(0));
}

} // namespace mlir::ppc
