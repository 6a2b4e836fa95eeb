// Work of attention, computed tile by tile: scores never travel to memory.
#include "dialects/ppc/Cost/TensorTraffic.h"

using namespace mlir;
using namespace mlir::ppc;

// Pairs of a query and a key that it attends to, over all batches and heads. With `causal`, query i of Q sees
// i + 1 + K - Q of K keys: Q (K - Q) + Q (Q + 1) / 2 pairs.
static double pairs(RankedTensorType q, RankedTensorType k, bool causal) {
  double queries = q.getDimSize(1), keys = k.getDimSize(1);
  double perHead = causal ? queries * (keys - queries) + queries * (queries + 1) / 2 : queries * keys;
  return perHead * q.getDimSize(0) * q.getDimSize(2) * q.getDimSize(3);
}

// Two products of 2 d flops per pair (q k, p v) and 5 for the softmax.
OpCost AttentionOp::getCost() {
  double headDim = tensorType(getQ()).getDimSize(4);
  return costOf(*this, pairs(tensorType(getQ()), tensorType(getK()), getCausal()) * (4 * headDim + 5), Engine::Matrix);
}

// Five products of 2 d flops per pair (q k again, dout v, p dout, ds k, ds q), 5 for p and ds; 2 d per query for delta.
OpCost AttentionBackwardOp::getCost() {
  double headDim = tensorType(getQ()).getDimSize(4);
  double flops =
      pairs(tensorType(getQ()), tensorType(getK()), getCausal()) * (10 * headDim + 5) + 2.0 * elementsOf(getOut());
  return costOf(*this, flops, Engine::Matrix);
}
