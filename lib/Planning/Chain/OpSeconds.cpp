// What an op's kernels take on the rank with most work.
#include "ppc/CostModel/Overlap.h"
#include "ppc/Planning/Chain/TemplateNetwork.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace mlir::ppc {

static double tensorElements(const TemplateValue &value, const DimFactors &dims, llvm::ArrayRef<int64_t> local) {
  double product = 1;
  for (auto [extent, factor] : llvm::zip_equal(value.shape, dims))
    product *= double(factor >= 0 ? local[factor] : extent);
  return product;
}

using ProductTime = LayerProduct::When;

/// A product of matrices and the gradients that flow through it.
static llvm::SmallVector<LayerProduct, 0> matrixProducts(const TemplatePricing &pricing, const OpTemplate &layer,
                                                         const TemplateOp &op, llvm::ArrayRef<int64_t> local) {
  GemmShape shape;
  for (auto [number, size] : llvm::enumerate(local)) {
    bool left = llvm::is_contained(op.operandFactors[0], int(number));
    bool right = llvm::is_contained(op.operandFactors[1], int(number));
    bool result = llvm::is_contained(op.resultFactors[0], int(number));
    int64_t &extent = left && right ? (result ? shape.batch : shape.k) : left ? shape.m : shape.n;
    extent *= size;
  }
  llvm::SmallVector<LayerProduct, 0> products{{ProductTime::Forward, pricing.precision, shape}};
  auto addGradient = [&](int operand, const GemmShape &gradient) {
    const TemplateValue &value = layer.values[op.operands[operand]];
    bool isWeight = value.kind == TemplateValueKind::Parameter;
    if (value.hasGradient)
      products.push_back({isWeight ? ProductTime::WeightGradient : ProductTime::Backward, pricing.precision, gradient});
  };
  addGradient(0, {shape.batch, shape.m, shape.k, shape.n});
  addGradient(1, {shape.batch, shape.n, shape.k, shape.m, /*outerK=*/true});
  return products;
}

/// Fused attention as the products that it computes: of pairs of a query and a key that it sees.
static llvm::SmallVector<LayerProduct, 0> attentionProducts(const TemplatePricing &pricing, const TemplateOp &op,
                                                            llvm::ArrayRef<int64_t> local) {
  const AttentionFactors &roles = op.attention;
  auto size = [&](int factor) { return factor >= 0 ? local[factor] : 1; };
  int64_t batch = size(roles.batch) * size(roles.kvHeads) * size(roles.group), queries = size(roles.queries),
          keys = size(roles.keys), keyWidth = size(roles.headDim),
          valueWidth = roles.valueDim >= 0 ? size(roles.valueDim) : keyWidth, pairs = 0;
  for (int64_t query = 0; query < queries; ++query) {
    int64_t last = roles.causal ? std::clamp<int64_t>(query + 1 + keys - queries, 0, keys) : keys;
    pairs += roles.window ? std::min(last, roles.window) : last;
  }
  llvm::SmallVector<LayerProduct, 0> products;
  auto add = [&](ProductTime when, int64_t width, int64_t calls) {
    products.push_back(
        {when, pricing.precision, {batch, queries, keys, width}, 0, (queries * keys - pairs) * width, calls});
  };
  add(ProductTime::Forward, keyWidth, 1);
  add(ProductTime::Forward, valueWidth, 1);
  add(ProductTime::Backward, keyWidth, 3); // scores again, gradients of queries and of keys
  add(ProductTime::Backward, valueWidth, 2);
  return products;
}

llvm::SmallVector<LayerProduct, 0> productsOf(const TemplatePricing &pricing, const OpTemplate &layer,
                                              const TemplateOp &op, const OpStrategy &strategy) {
  std::vector<int64_t> local = localFactorSizes(op, strategy, pricing.grid);
  if (op.kernel == TemplateKernel::Product)
    return matrixProducts(pricing, layer, op, local);
  if (op.kernel == TemplateKernel::Attention)
    return attentionProducts(pricing, op, local);
  return {};
}

static OpSeconds productSeconds(const TemplatePricing &pricing, const OpTemplate &layer, const TemplateOp &op,
                                llvm::ArrayRef<int64_t> local) {
  OpSeconds seconds;
  for (const LayerProduct &product : matrixProducts(pricing, layer, op, local)) {
    Seconds time = productTime(pricing.cluster.device(), product);
    (product.when == ProductTime::Forward ? seconds.forward : seconds.backward) += time;
    if (product.when == ProductTime::WeightGradient)
      seconds.ofWeights += time;
  }
  return seconds;
}

static OpSeconds attentionSeconds(const TemplatePricing &pricing, const OpTemplate &layer, const TemplateOp &op,
                                  const OpStrategy &strategy, llvm::ArrayRef<int64_t> local) {
  auto size = [&](int factor) { return factor >= 0 ? local[factor] : 1; };
  const AttentionFactors &roles = op.attention;
  AttentionShape shape;
  shape.batch = size(roles.batch);
  shape.kvHeads = size(roles.kvHeads);
  shape.heads = shape.kvHeads * size(roles.group);
  shape.queries = size(roles.queries);
  shape.keys = size(roles.keys);
  shape.headDim = size(roles.headDim);
  shape.valueDim = roles.valueDim >= 0 ? size(roles.valueDim) : shape.headDim;
  shape.window = roles.window;
  shape.causal = roles.causal;
  const Device &device = pricing.cluster.device();
  int64_t ring = 1, gather = 1, stride = pricing.stride, hop = 1; // ranks, and how far the ring's neighbours are apart
  for (size_t axis = pricing.grid.size(); axis-- > 0; stride *= pricing.grid[axis].size) {
    if (strategy.axes[axis] == OpStrategy::ring) {
      hop = ring == 1 ? stride : hop;
      ring *= pricing.grid[axis].size;
    }
    gather *= strategy.axes[axis] == OpStrategy::gather ? pricing.grid[axis].size : 1;
  }
  OpSeconds seconds;
  auto add = [&](const AttentionShape &piece, double times) {
    seconds.forward += times * attentionForwardTime(device, pricing.attention, pricing.precision, piece);
    seconds.backward += times * attentionBackwardTime(device, pricing.attention, pricing.precision, piece);
  };
  shape.queries *= gather; // an even share of the whole sequence's
  add(shape, 1 / double(gather));
  if (ring == 1)
    return seconds;
  // Causal among its own part; of each other one half of the square, without a mask (arXiv 2310.01889 with balanced
  // parts).
  if (shape.causal)
    shape.keys = std::max<int64_t>(1, shape.keys / 2);
  shape.causal = false;
  add(shape, double(ring - 1) / double(gather));
  double keyValues = tensorElements(layer.values[op.operands[1]], op.operandFactors[1], local) *
                         double(layer.values[op.operands[1]].elementBytes) +
                     tensorElements(layer.values[op.operands[2]], op.operandFactors[2], local) *
                         double(layer.values[op.operands[2]].elementBytes);
  double own = tensorElements(layer.values[op.operands[0]], op.operandFactors[0], local) / 2,
         pieces = 1 + 0.5 * double(ring - 1);
  Seconds step = double(ring - 1) *
                 pointToPointTime(pricing.cluster, Bytes(keyValues), hop, std::min(hop, pricing.cluster.unitSize()));
  double others = double(ring - 1) / double(ring);
  auto exposed = [&](Seconds compute, Seconds messages) { return runTogether(device, compute, messages) - compute; };
  seconds.forward += exposed(others * seconds.forward, step);
  seconds.backward += exposed(others * seconds.backward, 2 * step); // gradients of keys and values go round with them
  // Each part's result is scaled and added to f32 sums.
  seconds.forward += streamTime(device, Bytes((own * 10 * pieces + keyValues * 2) / device.elementwiseShare));
  seconds.backward += streamTime(device, Bytes((own * 6 * pieces + keyValues * 4 * pieces) / device.elementwiseShare));
  return seconds;
}

static OpSeconds streamSeconds(const TemplatePricing &pricing, const OpTemplate &layer, const TemplateOp &op,
                               llvm::ArrayRef<int64_t> local) {
  double forward = 0, backward = 0;
  bool anyGradient = false;
  auto visit = [&](int number, const DimFactors &dims, bool saved, bool isResult) {
    const TemplateValue &value = layer.values[number];
    double bytes = value.elementBytes * tensorElements(value, dims, local);
    forward += bytes;
    backward += saved ? bytes : 0;
    backward += value.hasGradient ? bytes : 0; // read for results, written for operands
    anyGradient |= !isResult && value.hasGradient;
  };
  for (auto [number, dims, saved] : llvm::zip_equal(op.operands, op.operandFactors, op.savedOperands))
    visit(number, dims, saved, false);
  for (auto [number, dims, saved] : llvm::zip_equal(op.results, op.resultFactors, op.savedResults))
    visit(number, dims, saved, true);
  const Device &device = pricing.cluster.device();
  return {streamTime(device, Bytes(forward / device.elementwiseShare)),
          anyGradient ? streamTime(device, Bytes(backward / device.elementwiseShare)) : Seconds(0), Seconds(0)};
}

OpSeconds kernelSeconds(const TemplatePricing &pricing, const OpTemplate &layer, const TemplateOp &op,
                        const OpStrategy &strategy) {
  std::vector<int64_t> local = localFactorSizes(op, strategy, pricing.grid);
  switch (op.kernel) {
  case TemplateKernel::None:
    return {};
  case TemplateKernel::Product:
    return productSeconds(pricing, layer, op, local);
  case TemplateKernel::Attention:
    return attentionSeconds(pricing, layer, op, strategy, local);
  case TemplateKernel::Stream:
    return streamSeconds(pricing, layer, op, local);
  }
  llvm_unreachable("unknown kernel");
}

} // namespace mlir::ppc
