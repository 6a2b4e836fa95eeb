// Attention over grouped heads, with positions by rotation or by ALiBi.
#include "ModelBuilder.h"

#include <cmath>

namespace mlir::ppc {

Value ModelBuilder::attention(Value x, const std::string &name, int64_t index) {
  if (shape.latent)
    return latentAttention(x, name, index);
  Projections parts =
      names.layout == ProjectionLayout::Separate ? separateProjections(x, name) : fusedProjections(x, name);
  at(name);
  if (shape.position == PositionKind::Rotary) {
    parts.q = rotary(parts.q);
    parts.k = rotary(parts.k);
  }
  return project(attend(parts, 1.0 / std::sqrt(double(shape.headDim)), index), name);
}

/// Query head (k, g) is head k * group + g of the reference: the weights keep their order.
ModelBuilder::Projections ModelBuilder::separateProjections(Value x, const std::string &name) {
  SmallVector<Dimension> keyDims = {{"kv_heads", shape.kvHeads}, {"head_dim", shape.headDim}};
  SmallVector<Dimension> queryDims = {keyDims[0], {"head_group", shape.heads / shape.kvHeads}, keyDims[1]};
  auto projection = [&](const char *which, SmallVector<Dimension> dims, const char *spec) {
    std::string full = name + which;
    if (!names.storedQkv.empty())
      storeQkv(full + ".weight", name + "." + names.storedQkv + ".weight", which);
    SmallVector<Dimension> weightDims = dims;
    weightDims.push_back({"hidden", shape.hidden});
    Value weight = matrix(full + ".weight", weightDims, dims.size());
    Value bias = shape.attentionBias ? vector(full + ".bias", dims, InitKind::Zeros) : Value();
    at(full);
    Value y = matmul(spec, x, weight);
    return bias ? addBias(y, bias) : y;
  };
  Projections parts;
  parts.q = projection(".q_proj", queryDims, "bsh,kgdh->bskgd");
  parts.k = projection(".k_proj", keyDims, "bsh,kdh->bskd");
  parts.v = projection(".v_proj", keyDims, "bsh,kdh->bskd");
  if (shape.queryKeyNorm) {
    parts.q = rmsNorm(parts.q, name + ".q_norm", config.normEpsilon);
    parts.k = rmsNorm(parts.k, name + ".k_norm", config.normEpsilon);
  }
  return parts;
}

void ModelBuilder::storeQkv(const std::string &parameter, const llvm::Twine &tensor, StringRef which) {
  int64_t queries = shape.heads * shape.headDim, keys = shape.kvHeads * shape.headDim;
  int64_t first = which == ".q_proj" ? 0 : which == ".k_proj" ? queries : queries + keys;
  storedInRows(parameter, tensor, queries + 2 * keys, first, which == ".q_proj" ? queries : keys);
}

ModelBuilder::Projections ModelBuilder::fusedProjections(Value x, const std::string &name) {
  std::string full = name + "." + names.qkv.str();
  Dimension hidden{"hidden", shape.hidden}, part{"qkv", 3}, heads{"kv_heads", shape.heads},
      width{"head_dim", shape.headDim};
  bool byPart = names.layout == ProjectionLayout::FusedByPart;
  SmallVector<Dimension> dims =
      byPart ? SmallVector<Dimension>{part, heads, width} : SmallVector<Dimension>{heads, part, width};
  SmallVector<Dimension> weightDims = dims;
  weightDims.insert(byPart ? weightDims.begin() : weightDims.end(), hidden);
  Value weight = matrix(full + ".weight", weightDims, byPart ? 1 : dims.size());
  Value bias = shape.attentionBias ? vector(full + ".bias", dims, InitKind::Zeros) : Value();
  at(full);
  Value y = byPart ? matmul("bsh,hckd->bsckd", x, weight) : matmul("bsh,kcdh->bskcd", x, weight);
  if (bias)
    y = addBias(y, bias);
  SmallVector<Value> parts = split(y, byPart ? 2 : 3, {1, 1, 1});
  SmallVector<int64_t> key = {batch, sequence, shape.heads, shape.headDim};
  return {reshape(parts[0], {batch, sequence, shape.heads, 1, shape.headDim}), reshape(parts[1], key),
          reshape(parts[2], key)};
}

Value ModelBuilder::attend(Projections parts, double scale, int64_t index) {
  Value slopes = shape.position == PositionKind::Alibi ? alibiSlopes() : Value();
  int64_t window = shape.hasWindow(index) && shape.slidingWindow < sequence ? shape.slidingWindow : 0;
  return create<AttentionOp>(parts.q, parts.k, parts.v, scale * rotaryScoreFactor(config), /*causal=*/true, slopes,
                             window)
      .getOut();
}

/// [b, s, k, g, d] back to the residual stream.
Value ModelBuilder::project(Value out, const std::string &name) {
  std::string full = name + "." + names.output.str();
  Dimension hidden{"hidden", shape.hidden};
  ArrayRef<int64_t> sizes = tensorType(out).getShape();
  SmallVector<Dimension> dims = {{"kv_heads", sizes[2]}, {"head_group", sizes[3]}, {"head_dim", sizes[4]}};
  dims.insert(names.transposed ? dims.end() : dims.begin(), hidden);
  Value weight = matrix(full + ".weight", dims, names.transposed ? dims.size() - 1 : 1, residualScale());
  Value bias = shape.outputBias ? vector(full + ".bias", {hidden}, InitKind::Zeros) : Value();
  at(full);
  Value y = matmul(names.transposed ? "bskgd,kgdh->bsh" : "bskgd,hkgd->bsh", out, weight);
  return bias ? addBias(y, bias) : y;
}

Value ModelBuilder::rotary(Value x, int64_t offset, bool interleaved) {
  return create<RotaryOp>(x.getType(), x, builder.getDenseF64ArrayAttr(frequencies), builder.getI64IntegerAttr(offset),
                          interleaved ? builder.getUnitAttr() : UnitAttr(), /*inverse=*/UnitAttr(), BlockAttr(),
                          builder.getI64IntegerAttr(0));
}

/// With n the largest power of two that is not above the number of heads: 2^(-8 i / n) for i = 1, ..., n; further heads
/// take every other slope of 2n heads (Press et al., 2021).
Value ModelBuilder::alibiSlopes() {
  int64_t power = 1;
  while (2 * power <= shape.heads)
    power *= 2;
  SmallVector<float> slopes;
  for (int64_t head = 0; head < shape.heads; ++head) {
    double exponent =
        head < power ? -8.0 * double(head + 1) / double(power) : -4.0 * double(2 * (head - power) + 1) / double(power);
    slopes.push_back(float(std::exp2(exponent)));
  }
  return create<ConstantOp>(
      DenseElementsAttr::get(tensorOf({shape.kvHeads, shape.heads / shape.kvHeads}), ArrayRef<float>(slopes)));
}

} // namespace mlir::ppc
