// Work of attention, computed tile by tile: scores never travel to memory.
#include "dialects/ppc/Cost/TensorTraffic.h"

using namespace mlir;
using namespace mlir::ppc;

// Pairs of a query and a key that it attends to, over all batches and heads. With `causal`, query i of Q sees n_i =
// i + 1 + K - Q of K keys: Q (K - Q) + Q (Q + 1) / 2 pairs; a window w limits n_i to w and removes n_i - w pairs from
// each query that would see more: r (r + 1) / 2 for r = K - w up to Q, and the remaining pairs of the first queries
// beyond that.
template <typename OpTy> static double pairs(OpTy op) {
  RankedTensorType q = tensorType(op.getQ()), k = tensorType(op.getK());
  double queries = q.getDimSize(1), keys = k.getDimSize(1);
  double perHead = op.getCausal() ? queries * (keys - queries) + queries * (queries + 1) / 2 : queries * keys;
  if (std::optional<int64_t> window = op.getWindow(); window && keys > *window) {
    double most = keys - *window,
           least = std::max(0.0, most - queries); // taken from the last query, and before the first
    perHead -= most * (most + 1) / 2 - least * (least + 1) / 2;
  }
  return perHead * q.getDimSize(0) * q.getDimSize(2) * q.getDimSize(3);
}

template <typename OpTy> static double headDim(OpTy op) { return tensorType(op.getK()).getDimSize(3); }
template <typename OpTy> static double valueDim(OpTy op) { return tensorType(op.getV()).getDimSize(3); }
// Two for the ALiBi term.
template <typename OpTy> static double perPair(OpTy op) { return op.getSlopes() ? 7 : 5; }

// Per pair, 2 d flops for the matmul q k, 2 d_v for p v, and 5 for the softmax.
OpCost AttentionOp::getCost() {
  return costOf(*this, pairs(*this) * (2 * headDim(*this) + 2 * valueDim(*this) + perPair(*this)), Engine::Matrix);
}

// Per pair, three matmuls of 2 d flops (q k again, ds k, ds q), two of 2 d_v (dout v, p dout), 5 for p and ds; 2 d_v
// per query for delta.
OpCost AttentionBackwardOp::getCost() {
  double flops =
      pairs(*this) * (6 * headDim(*this) + 4 * valueDim(*this) + perPair(*this)) + 2.0 * elementsOf(getOut());
  return costOf(*this, flops, Engine::Matrix);
}
