// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434): queries, and keys with values, pass through low-rank
// bottlenecks; a part of each head carries the position, and all heads share that part of their keys.
#include "ModelBuilder.h"

#include <cmath>

namespace mlir::ppc {

Value ModelBuilder::latentAttention(Value x, const std::string &name, int64_t index) {
  const LatentAttention &latent = shape.latent;
  constexpr double epsilon = 1e-6; // of the norms inside, whatever rms_norm_eps says
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

} // namespace mlir::ppc
