// Attention as matrix products (ppc.matmul, handed to a library later) and row loops over the scores [b, k, g, s, t]:
// batch, kv head, group, query, key.
#include "LoopNest.h"

#include <limits>

namespace mlir::ppc {
namespace {

/// The scores' type and loops, what is added to them, and the condition under which a query sees a key.
struct Scores {
  RankedTensorType type;
  int64_t keysBefore = 0; // the query's own position among the keys is its index plus this
  int64_t window = 0;     // 0: none
  bool causal = false;
  double scale = 1;
  Value slopes;

  template <typename OpTy>
  Scores(OpTy op) {
    auto q = tensorType(op.getQ()), k = tensorType(op.getK());
    type = RankedTensorType::get({q.getDimSize(0), q.getDimSize(2), q.getDimSize(3), q.getDimSize(1), k.getDimSize(1)},
                                 sumType(q.getElementType()));
    keysBefore = k.getDimSize(1) - q.getDimSize(1);
    window = op.getWindow().value_or(0);
    causal = op.getCausal();
    scale = op.getScale().convertToDouble();
    slopes = op.getSlopes();
  }

  Value position(ScalarBuilder &s) const { return s.addIndex(s.loopIndex(3), s.index(keysBefore)); }

  Value unlessHidden(ScalarBuilder &s, Value value, double hidden) const {
    if (!causal)
      return value;
    Value last = position(s), key = s.loopIndex(4);
    Value visible = arith::CmpIOp::create(s, arith::CmpIPredicate::sle, key, last);
    if (window && window < type.getDimSize(4))
      visible = arith::AndIOp::create(s, visible, s.less(last, s.addIndex(key, s.index(window))));
    return s.select(visible, value, s.number(value.getType(), hidden));
  }

  /// What the loops over scores read besides: the slope of each head.
  SmallVector<Access> inputs(ScalarBuilder &b) const {
    return slopes ? SmallVector<Access>{{slopes, someLoops(b, 5, {1, 2})}} : SmallVector<Access>();
  }

  /// The score of a product of query and key; `slope` is the element of `inputs`.
  Value score(ScalarBuilder &s, Value product, ValueRange slope) const {
    Value value = s.mul(product, s.number(product.getType(), scale));
    if (slope.empty())
      return value;
    Value distance = s.subIndex(s.loopIndex(4), position(s));
    Value steps = arith::SIToFPOp::create(s, product.getType(), arith::IndexCastOp::create(s, s.getI64Type(), distance));
    return s.add(value, s.mul(slope.front(), steps));
  }
};

/// A value per query, [b, s, k, g], seen from the loops of the scores.
AffineMap perQuery(ScalarBuilder &b) { return someLoops(b, 5, {0, 3, 1, 2}); }

/// A product of the scores, rounded to the type of what they are multiplied with; the result has that type too, or `element`.
Value product(ScalarBuilder &b, StringRef spec, Value scores, Value factor, Type element = {}) {
  Type rounded = tensorType(factor).getElementType();
  return MatmulOp::create(b, spec, convertTensor(b, scores, rounded), factor, element ? element : rounded);
}

/// Rewrites the scores in place.
Value updateScores(ScalarBuilder &b, Value scores, ArrayRef<Access> ins, function_ref<Value(ScalarBuilder &, ValueRange)> body) {
  return loopNest(b, ins, Access{scores, allLoops(b, 5)}, {},
                  [&](ScalarBuilder &s, ValueRange v) { return SmallVector<Value>{body(s, v)}; })[0];
}

SmallVector<Value> attention(AttentionOp op, ScalarBuilder &b) {
  Scores shape(op);
  auto lseType = tensorType(op.getLse()), outType = tensorType(op.getOut()), rowType = withElement(lseType, shape.type.getElementType());
  Value scores = MatmulOp::create(b, "bskgd,btkd->bkgst", op.getQ(), op.getK(), shape.type.getElementType());
  // Hidden scores become minus infinity once, so that the row loops are plain and can be vectorised.
  constexpr double minusInfinity = -std::numeric_limits<double>::infinity();
  scores = updateScores(b, scores, shape.inputs(b), [&](ScalarBuilder &s, ValueRange v) {
    return shape.unlessHidden(s, shape.score(s, v.back(), v.drop_back()), minusInfinity);
  });
  Value maximum = loopNest(b, Access{scores, allLoops(b, 5)}, Access{filledTensor(b, rowType, minusInfinity), perQuery(b)}, {4},
                           [&](ScalarBuilder &s, ValueRange v) { return SmallVector<Value>{s.largest(v[1], v[0])}; })[0];
  Value powers = updateScores(b, scores, Access{maximum, perQuery(b)},
                              [&](ScalarBuilder &s, ValueRange v) { return s.exp(s.sub(v[1], v[0])); });
  Value sum = loopNest(b, Access{powers, allLoops(b, 5)}, Access{filledTensor(b, rowType, 0), perQuery(b)}, {4},
                       [](ScalarBuilder &s, ValueRange v) { return SmallVector<Value>{s.accumulate(v[1], v[0])}; })[0];
  Value weighted = product(b, "bkgst,btkd->bskgd", powers, op.getV(), shape.type.getElementType());
  Value out = mapLoops(b, outType, {{weighted, allLoops(b, 5)}, {sum, firstLoops(b, 5, 4)}},
                       [](ScalarBuilder &s, ValueRange v) { return s.div(v[0], v[1]); });
  Value lse = mapLoops(b, lseType, {{maximum, allLoops(b, 4)}, {sum, allLoops(b, 4)}},
                       [](ScalarBuilder &s, ValueRange v) { return s.add(v[0], s.log(v[1])); });
  return {out, lse};
}

SmallVector<Value> attentionBackward(AttentionBackwardOp op, ScalarBuilder &b) {
  Scores shape(op);
  auto rowType = withElement(tensorType(op.getLse()), shape.type.getElementType());
  AffineMap all = allLoops(b, 5), row = perQuery(b);
  Value scores = MatmulOp::create(b, "bskgd,btkd->bkgst", op.getQ(), op.getK(), shape.type.getElementType());
  SmallVector<Access> ins = {{op.getLse(), row}};
  llvm::append_range(ins, shape.inputs(b));
  Value p = updateScores(b, scores, ins, [&](ScalarBuilder &s, ValueRange v) {
    return shape.unlessHidden(s, s.exp(s.sub(shape.score(s, v.back(), v.drop_front().drop_back()), v[0])), 0);
  });
  Value dv = product(b, "bkgst,bskgd->btkd", p, op.getDout());
  Value delta = loopNest(b, {{op.getDout(), all}, {op.getOut(), all}}, Access{filledTensor(b, rowType, 0), firstLoops(b, 5, 4)}, {4},
                         [](ScalarBuilder &s, ValueRange v) { return SmallVector<Value>{s.accumulate(v[2], s.mul(v[0], v[1]))}; })[0];
  Value dp = MatmulOp::create(b, "bskgd,btkd->bkgst", op.getDout(), op.getV(), shape.type.getElementType());
  Value ds = updateScores(b, dp, {{p, all}, {delta, row}}, [&](ScalarBuilder &s, ValueRange v) {
    return s.mul(s.mul(v[0], s.sub(v[2], v[1])), s.number(v[0].getType(), shape.scale));
  });
  Value dq = product(b, "bkgst,btkd->bskgd", ds, op.getK());
  Value dk = product(b, "bkgst,bskgd->btkd", ds, op.getQ());
  return {dq, dk, dv};
}

} // namespace

void populateAttention(RewritePatternSet &patterns) {
  addPattern<AttentionOp>(patterns, attention);
  addPattern<AttentionBackwardOp>(patterns, attentionBackward);
}

} // namespace mlir::ppc
