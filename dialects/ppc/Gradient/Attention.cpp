// Derivative of attention: one backward op for q, k and v, and another one for slopes.
#include "dialects/ppc/Ppc.h"

using namespace mlir;
using namespace mlir::ppc;

static Value toF32(OpBuilder &b, Location loc, Value x) {
  return b.createOrFold<ConvertOp>(loc, withElement(tensorType(x), b.getF32Type()), x);
}

/// `x` with one more element at the end of its last dimension, which is in `last`.
static Value withLast(OpBuilder &b, Location loc, Value x, Value last) {
  SmallVector<int64_t> shape(tensorType(x).getShape());
  uint64_t dim = shape.size() - 1;
  ++shape.back();
  return ConcatOp::create(b, loc, withShape(tensorType(x), shape), ValueRange{x, last}, b.getI64IntegerAttr(dim));
}

/// dslope = sum over i, j of ds_ij (j - p_i) = sum over i, j of ds_ij j, since the ds of a query sum to 0. An extra
/// element of the head dim that is 0 in each query and j in key j does not change the scores, and its gradient in the
/// queries is scale times the sum over j. Positions are integers that 16-bit floats cannot hold, so operands of 16 bits
/// are widened to f32.
static FailureOr<Value> slopesGradient(AttentionOp op, OpBuilder &b, Value dout) {
  Location loc = op.getLoc();
  double scale = op.getScale().convertToDouble();
  if (scale == 0)
    return op.emitOpError("has scale 0 and slopes that depend on a parameter: such slopes have no gradient");
  bool isNarrow = tensorType(op.getQ()).getElementTypeBitWidth() < 32;
  auto wide = [&](Value x) { return isNarrow ? toF32(b, loc, x) : x; };
  Value q = wide(op.getQ()), k = wide(op.getK()), v = wide(op.getV());
  auto withOne = [](Value x) {
    SmallVector<int64_t> shape(tensorType(x).getShape());
    shape.back() = 1;
    return withShape(tensorType(x), shape);
  };
  RankedTensorType keys = withOne(k), places = withShape(keys, {keys.getDimSize(1), 1});
  SmallVector<Attribute> numbers;
  for (int64_t j = 0; j < keys.getDimSize(1); ++j)
    numbers.push_back(b.getFloatAttr(keys.getElementType(), double(j)));
  Value zero = ConstantOp::create(b, loc, withOne(q), cast<ElementsAttr>(b.getZeroAttr(withOne(q))));
  Value number = ConstantOp::create(b, loc, places, DenseElementsAttr::get(places, numbers));
  Value last = BroadcastOp::create(b, loc, keys, number, ArrayRef<int64_t>{0, 2});
  q = withLast(b, loc, q, zero);
  k = withLast(b, loc, k, last);
  auto backward =
      AttentionBackwardOp::create(b, loc, TypeRange{q.getType(), k.getType(), v.getType()}, q, k, v, wide(op.getOut()),
                                  wide(op.getLse()), wide(dout), wide(op.getSlopes()), op.getScaleAttr(),
                                  op.getCausalAttr(), op.getWindowAttr(), op.getStrategyAttr(), op.getQueriesAttr());
  Type parts[] = {withShape(tensorType(q), tensorType(op.getQ()).getShape()), withOne(q)};
  Value extra = SplitOp::create(b, loc, parts, backward.getDq(), b.getI64IntegerAttr(4)).getParts().back();
  RankedTensorType heads = withElement(tensorType(op.getSlopes()), tensorType(q).getElementType());
  Value sum = ReduceOp::create(b, loc, heads, Combiner::Sum, extra, ArrayRef<int64_t>{0, 1, 4});
  Value gradient = ScaleOp::create(b, loc, sum, b.getF64FloatAttr(1 / scale));
  return b.createOrFold<ConvertOp>(loc, op.getSlopes().getType(), gradient);
}

// Builds the whole backward op for each operand; CSE merges the copies. `lse` is kept for the backward op only, so that
// no gradient arrives at it.
FailureOr<Value> AttentionOp::buildGradient(OpBuilder &builder, unsigned operand, ArrayRef<Value> dy) {
  if (dy[1])
    return emitOpError("cannot be differentiated through 'lse', only through 'out'");
  if (operand == 3)
    return slopesGradient(*this, builder, dy[0]);
  auto backward =
      AttentionBackwardOp::create(builder, getLoc(), TypeRange{getQ().getType(), getK().getType(), getV().getType()},
                                  getQ(), getK(), getV(), getOut(), getLse(), dy[0], getSlopes(), getScaleAttr(),
                                  getCausalAttr(), getWindowAttr(), getStrategyAttr(), getQueriesAttr());
  return Value(backward->getResult(operand));
}

SmallVector<Value> AttentionOp::keptForGradient(unsigned operand) {
  SmallVector<Value> kept = {getQ(), getK(), getV(), getOut(), getLse()};
  if (getSlopes())
    kept.push_back(getSlopes());
  return kept;
}
