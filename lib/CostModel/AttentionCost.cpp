// Fused attention: blocks of 128 queries against blocks of 128 keys, spread over the multiprocessors.
#include "ppc/CostModel/KernelCost.h"

#include <algorithm>
#include <cmath>

using namespace mlir::ppc;

static constexpr double blockSize = 128;
/// What a pair of blocks on the diagonal costs beyond a full one: its mask.
static constexpr double diagonalShare = 0.25;

const AttentionConstants *mlir::ppc::attentionConstants(const Device &device, AttentionKernel kernel) {
  static constexpr FusedAttention order[5][5] = {
      {FusedAttention::Flash1, FusedAttention::TritonFlash1, FusedAttention::Flash2, FusedAttention::Flash3,
       FusedAttention::Cudnn},
      {FusedAttention::Flash2, FusedAttention::Flash1, FusedAttention::Cudnn, FusedAttention::Flash3,
       FusedAttention::TritonFlash1},
      {FusedAttention::Flash3, FusedAttention::Flash2, FusedAttention::Cudnn, FusedAttention::Flash1,
       FusedAttention::TritonFlash1},
      {FusedAttention::Cudnn, FusedAttention::Flash2, FusedAttention::Flash3, FusedAttention::Flash1,
       FusedAttention::TritonFlash1},
      {FusedAttention::TritonFlash1, FusedAttention::Flash1, FusedAttention::Flash2, FusedAttention::Flash3,
       FusedAttention::Cudnn}};
  int row = kernel == AttentionKernel::Flash1         ? 0
            : kernel == AttentionKernel::Flash3       ? 2
            : kernel == AttentionKernel::Cudnn        ? 3
            : kernel == AttentionKernel::TritonFlash1 ? 4
                                                      : 1;
  for (FusedAttention candidate : order[row]) {
    const AttentionConstants &constants = device.attention[static_cast<int>(candidate)];
    if (constants.forward[0] > 0)
      return &constants;
  }
  return nullptr;
}

/// Between the head dimensions that constants are given for; in proportion below 64, flat above 256.
template <typename Value>
static double atHeadDim(const std::array<Value, 3> &values, double headDim, double (*number)(Value)) {
  if (headDim <= 64)
    return number(values[0]);
  if (headDim <= 128)
    return number(values[0]) + (number(values[1]) - number(values[0])) * (headDim - 64) / 64;
  return number(values[1]) + (number(values[2]) - number(values[1])) * (std::min(headDim, 256.0) - 128) / 128;
}

/// The head dimension that the kernel is compiled for and pads others to.
static double paddedDim(AttentionKernel kernel, int64_t dim) {
  if (kernel == AttentionKernel::Flash1 || kernel == AttentionKernel::TritonFlash1)
    return std::exp2(std::ceil(std::log2(static_cast<double>(std::max<int64_t>(dim, 16)))));
  double padded = std::ceil(static_cast<double>(dim) / 32) * 32;
  return kernel == AttentionKernel::Flash3 ? std::max(padded, 64.0) : padded;
}

namespace {
struct Load {
  double blocks = 0;  // of queries, over batch and heads
  double pairs = 0;   // of query and key blocks that are not wholly masked, over batch and heads
  double longest = 0; // pairs of the longest block
};
} // namespace

static Load countPairs(const AttentionShape &shape) {
  double queryBlocks = std::ceil(static_cast<double>(shape.queries) / blockSize);
  double keyBlocks = std::ceil(static_cast<double>(shape.keys) / (blockSize / 2)) / 2;
  double heads = static_cast<double>(shape.batch) * static_cast<double>(shape.heads);
  double cap = keyBlocks;
  if (shape.window > 0)
    cap = std::min(cap, std::ceil(static_cast<double>(shape.window) / blockSize) + 1);
  Load load;
  load.blocks = heads * queryBlocks;
  if (!shape.causal) {
    load.longest = shape.window > 0 ? std::min(keyBlocks, cap + 1) : cap;
    load.pairs = load.blocks * load.longest;
    return load;
  }
  // The last query sees the last key: block i sees first + i blocks of keys, at most `cap`.
  double first = std::max(keyBlocks - queryBlocks, 0.0) + 1;
  double growing = std::clamp(cap - first, 0.0, queryBlocks); // blocks before the cap is reached
  double perHead = growing * first + growing * (growing - 1) / 2 + (queryBlocks - growing) * cap;
  load.longest = std::min(cap, first + queryBlocks - 1);
  load.pairs = heads * (std::max(perHead, queryBlocks * std::min(1.0, cap)) + diagonalShare * queryBlocks);
  return load;
}

static double fusedTime(const Device &device, const Load &load, bool uniform, double flopsPerPair, double rate,
                        double block) {
  double units = static_cast<double>(device.multiprocessors);
  double perPair = flopsPerPair * units / rate;
  if (load.blocks <= units)
    return block + load.longest * perPair;
  double even = std::ceil(load.blocks / units) * (block + load.longest * perPair);
  if (uniform)
    return even;
  // Blocks of different length: an even share each, and on average half of the longest block at the end.
  double share =
      (load.blocks / units + 0.5) * block + std::max(load.longest, load.pairs / units + 0.5 * load.longest) * perPair;
  return std::min(even, share);
}

static Seconds attentionTime(const Device &device, AttentionKernel kernel, Precision asked, const AttentionShape &shape,
                             bool backward) {
  const AttentionConstants *constants = attentionConstants(device, kernel);
  Precision precision = productPrecision(device, asked);
  if (elementBytes(precision) < 2 && backward) // gradients are taken in 16 bits
    precision = productPrecision(device, Precision::Bf16);
  AttentionConstants none;
  none.forward = {0.4, 0.4, 0.4};
  none.backward = {0.35, 0.35, 0.35};
  none.forwardBlock.fill(device.launchFloor);
  none.backwardBlock.fill(device.launchFloor);
  if (!constants)
    constants = &none;

  double headDim = paddedDim(kernel, shape.headDim), valueDim = paddedDim(kernel, shape.valueDim);
  double mean = (headDim + valueDim) / 2;
  auto plain = [](double value) { return value; };
  auto seconds = [](Seconds value) { return value.value; };
  double share = atHeadDim<double>(backward ? constants->backward : constants->forward, mean, plain);
  double block = atHeadDim<Seconds>(backward ? constants->backwardBlock : constants->forwardBlock, mean, seconds);
  if (mean < 64)
    share *= std::max(mean, 8.0) / 64;
  // Scores and weighted values; backward: scores again, gradients of the weights, of queries and keys, of values.
  double flopsPerPair = 2 * blockSize * blockSize * (backward ? 3 * headDim + 2 * valueDim : headDim + valueDim);
  Load load = countPairs(shape);
  double compute = fusedTime(device, load, !shape.causal, flopsPerPair, device.peakOf(precision).value * share, block);

  double element = elementBytes(precision);
  double tokensQ =
      static_cast<double>(shape.batch) * static_cast<double>(shape.queries) * static_cast<double>(shape.heads);
  double tokensK =
      static_cast<double>(shape.batch) * static_cast<double>(shape.keys) * static_cast<double>(shape.kvHeads);
  double queryDims = static_cast<double>(shape.headDim), valueDims = static_cast<double>(shape.valueDim);
  double traffic = (tokensQ + tokensK) * (queryDims + valueDims) * element;
  if (backward) // operands again, their gradients, and the f32 sums of the query gradients
    traffic = traffic * 2 + tokensQ * (valueDims * element + queryDims * 8);
  double memory = traffic / (device.memoryBandwidth.value * device.memoryEfficiency);
  return device.productFloor + Seconds(std::max(compute, memory));
}

Seconds mlir::ppc::attentionForwardTime(const Device &device, AttentionKernel kernel, Precision precision,
                                        const AttentionShape &shape) {
  return attentionTime(device, kernel, precision, shape, false);
}

Seconds mlir::ppc::attentionBackwardTime(const Device &device, AttentionKernel kernel, Precision precision,
                                         const AttentionShape &shape) {
  // Two small kernels besides: the row sums before, the sum of the query gradients after.
  return attentionTime(device, kernel, precision, shape, true) + device.launchFloor * 2;
}
