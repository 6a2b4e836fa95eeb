// Attention as matrix products (ppc.matmul, handed to a library later) and row loops over the scores [b, k, g, s, t]:
// batch, kv head, group, query, key.
#include "LoopNest.h"

#include <limits>

namespace mlir::ppc {
namespace {

/// The scores' type and loops, and the condition under which a query sees a key.
struct Scores {
  RankedTensorType type;
  int64_t firstVisible = 0; // key j is visible to query i when j <= i + firstVisible
  bool causal = false;

  template <typename OpTy>
  Scores(OpTy op) {
    auto q = tensorType(op.getQ()), k = tensorType(op.getK());
    type = withShape(q, {q.getDimSize(0), q.getDimSize(2), q.getDimSize(3), q.getDimSize(1), k.getDimSize(1)});
    firstVisible = k.getDimSize(1) - q.getDimSize(1);
    causal = op.getCausal();
  }
  Value unlessHidden(ScalarBuilder &s, Value value, double hidden) const {
    if (!causal)
      return value;
    Value last = s.addIndex(s.loopIndex(3), s.index(firstVisible));
    Value visible = arith::CmpIOp::create(s, arith::CmpIPredicate::sle, s.loopIndex(4), last);
    return s.select(visible, value, s.number(value.getType(), hidden));
  }
};

/// A value per query, [b, s, k, g], seen from the loops of the scores.
AffineMap perQuery(ScalarBuilder &b) { return someLoops(b, 5, {0, 3, 1, 2}); }

/// Rewrites the scores in place.
Value updateScores(ScalarBuilder &b, Value scores, ArrayRef<Access> ins, function_ref<Value(ScalarBuilder &, ValueRange)> body) {
  return loopNest(b, ins, Access{scores, allLoops(b, 5)}, {},
                  [&](ScalarBuilder &s, ValueRange v) { return SmallVector<Value>{body(s, v)}; })[0];
}

SmallVector<Value> attention(AttentionOp op, ScalarBuilder &b) {
  Scores shape(op);
  auto lseType = tensorType(op.getLse()), outType = tensorType(op.getOut());
  double scale = op.getScale().convertToDouble();
  Value scores = MatmulOp::create(b, "bskgd,btkd->bkgst", op.getQ(), op.getK());
  // Hidden scores become minus infinity once, so that the row loops are plain and can be vectorised.
  constexpr double minusInfinity = -std::numeric_limits<double>::infinity();
  scores = updateScores(b, scores, {}, [&](ScalarBuilder &s, ValueRange v) {
    return shape.unlessHidden(s, s.mul(v[0], s.number(v[0].getType(), scale)), minusInfinity);
  });
  Value maximum = loopNest(b, Access{scores, allLoops(b, 5)}, Access{filledTensor(b, lseType, minusInfinity), perQuery(b)}, {4},
                           [&](ScalarBuilder &s, ValueRange v) { return SmallVector<Value>{s.maximum(v[1], v[0])}; })[0];
  Value powers = updateScores(b, scores, Access{maximum, perQuery(b)},
                              [&](ScalarBuilder &s, ValueRange v) { return s.exp(s.sub(v[1], v[0])); });
  Value sum = loopNest(b, Access{powers, allLoops(b, 5)}, Access{filledTensor(b, lseType, 0), perQuery(b)}, {4},
                       [](ScalarBuilder &s, ValueRange v) { return SmallVector<Value>{s.accumulate(v[1], v[0])}; })[0];
  Value weighted = MatmulOp::create(b, "bkgst,btkd->bskgd", powers, op.getV());
  Value out = mapLoops(b, outType, {{weighted, allLoops(b, 5)}, {sum, firstLoops(b, 5, 4)}},
                       [](ScalarBuilder &s, ValueRange v) { return s.div(v[0], v[1]); });
  Value lse = mapLoops(b, lseType, {{maximum, allLoops(b, 4)}, {sum, allLoops(b, 4)}},
                       [](ScalarBuilder &s, ValueRange v) { return s.add(v[0], s.log(v[1])); });
  return {out, lse};
}

SmallVector<Value> attentionBackward(AttentionBackwardOp op, ScalarBuilder &b) {
  Scores shape(op);
  auto lseType = tensorType(op.getLse());
  double scale = op.getScale().convertToDouble();
  AffineMap all = allLoops(b, 5), row = perQuery(b);
  Value scores = MatmulOp::create(b, "bskgd,btkd->bkgst", op.getQ(), op.getK());
  Value p = updateScores(b, scores, Access{op.getLse(), row}, [&](ScalarBuilder &s, ValueRange v) {
    return shape.unlessHidden(s, s.exp(s.sub(s.mul(v[1], s.number(v[1].getType(), scale)), v[0])), 0);
  });
  Value dv = MatmulOp::create(b, "bkgst,bskgd->btkd", p, op.getDout());
  Value delta = loopNest(b, {{op.getDout(), all}, {op.getOut(), all}}, Access{filledTensor(b, lseType, 0), firstLoops(b, 5, 4)}, {4},
                         [](ScalarBuilder &s, ValueRange v) { return SmallVector<Value>{s.accumulate(v[2], s.mul(v[0], v[1]))}; })[0];
  Value dp = MatmulOp::create(b, "bskgd,btkd->bkgst", op.getDout(), op.getV());
  Value ds = updateScores(b, dp, {{p, all}, {delta, row}}, [&](ScalarBuilder &s, ValueRange v) {
    return s.mul(s.mul(v[0], s.sub(v[2], v[1])), s.number(v[0].getType(), scale));
  });
  Value dq = MatmulOp::create(b, "bkgst,btkd->bskgd", ds, op.getK());
  Value dk = MatmulOp::create(b, "bkgst,bskgd->btkd", ds, op.getQ());
  return {dq, dk, dv};
}

} // namespace

void populateAttention(RewritePatternSet &patterns) {
  addPattern<AttentionOp>(patterns, attention);
  addPattern<AttentionBackwardOp>(patterns, attentionBackward);
}

} // namespace mlir::ppc
