// Derivatives of elementwise ops; `dy` is the gradient of the result.
#include "dialects/ppc/Ppc.h"

using namespace mlir;
using namespace mlir::ppc;

using Kept = SmallVector<Value>;

// y = a + b: da = dy, db = dy
FailureOr<Value> AddOp::buildGradient(OpBuilder &, unsigned, ArrayRef<Value> dy) { return dy[0]; }
Kept AddOp::keptForGradient(unsigned) { return {}; }

// y = a - b: da = dy, db = -dy
FailureOr<Value> SubOp::buildGradient(OpBuilder &b, unsigned operand, ArrayRef<Value> dy) {
  return operand == 0 ? dy[0] : NegOp::create(b, getLoc(), dy[0]).getResult();
}
Kept SubOp::keptForGradient(unsigned) { return {}; }

// y = a * b: da = dy * b, db = dy * a
FailureOr<Value> MulOp::buildGradient(OpBuilder &b, unsigned operand, ArrayRef<Value> dy) {
  return MulOp::create(b, getLoc(), dy[0], operand == 0 ? getB() : getA()).getResult();
}
Kept MulOp::keptForGradient(unsigned operand) { return {operand == 0 ? getB() : getA()}; }

// y = a / b: da = dy / b, db = -dy * y / b
FailureOr<Value> DivOp::buildGradient(OpBuilder &b, unsigned operand, ArrayRef<Value> dy) {
  Value da = DivOp::create(b, getLoc(), dy[0], getB());
  if (operand == 0)
    return da;
  return NegOp::create(b, getLoc(), MulOp::create(b, getLoc(), da, getY())).getResult();
}
Kept DivOp::keptForGradient(unsigned operand) {
  if (operand == 0)
    return {getB()};
  return {getB(), getY()};
}

// y = -x: dx = -dy
FailureOr<Value> NegOp::buildGradient(OpBuilder &b, unsigned, ArrayRef<Value> dy) {
  return NegOp::create(b, getLoc(), dy[0]).getResult();
}
Kept NegOp::keptForGradient(unsigned) { return {}; }

// y = e^x: dx = dy * y
FailureOr<Value> ExpOp::buildGradient(OpBuilder &b, unsigned, ArrayRef<Value> dy) {
  return MulOp::create(b, getLoc(), dy[0], getY()).getResult();
}
Kept ExpOp::keptForGradient(unsigned) { return {getY()}; }

// y = ln x: dx = dy / x
FailureOr<Value> LogOp::buildGradient(OpBuilder &b, unsigned, ArrayRef<Value> dy) {
  return DivOp::create(b, getLoc(), dy[0], getX()).getResult();
}
Kept LogOp::keptForGradient(unsigned) { return {getX()}; }

// y = x^(1/2): dx = dy / (2 y)
FailureOr<Value> SqrtOp::buildGradient(OpBuilder &b, unsigned, ArrayRef<Value> dy) {
  Value quotient = DivOp::create(b, getLoc(), dy[0], getY());
  return ScaleOp::create(b, getLoc(), quotient, b.getF64FloatAttr(0.5)).getResult();
}
Kept SqrtOp::keptForGradient(unsigned) { return {getY()}; }

// y = x^(-1/2): dx = -dy * y^3 / 2
FailureOr<Value> RsqrtOp::buildGradient(OpBuilder &b, unsigned, ArrayRef<Value> dy) {
  Value square = MulOp::create(b, getLoc(), getY(), getY());
  Value cube = MulOp::create(b, getLoc(), square, getY());
  Value product = MulOp::create(b, getLoc(), dy[0], cube);
  return ScaleOp::create(b, getLoc(), product, b.getF64FloatAttr(-0.5)).getResult();
}
Kept RsqrtOp::keptForGradient(unsigned) { return {getY()}; }

// y = 1 / (1 + e^-x): dx = dy * y * (1 - y) = t - t * y with t = dy * y
FailureOr<Value> SigmoidOp::buildGradient(OpBuilder &b, unsigned, ArrayRef<Value> dy) {
  Value t = MulOp::create(b, getLoc(), dy[0], getY());
  return SubOp::create(b, getLoc(), t, MulOp::create(b, getLoc(), t, getY())).getResult();
}
Kept SigmoidOp::keptForGradient(unsigned) { return {getY()}; }

// y = x / (1 + e^-x): dx = dy * s * (1 + x * (1 - s)), s = 1 / (1 + e^-x)
FailureOr<Value> SiluOp::buildGradient(OpBuilder &b, unsigned, ArrayRef<Value> dy) {
  return SiluBackwardOp::create(b, getLoc(), getX(), dy[0]).getResult();
}
Kept SiluOp::keptForGradient(unsigned) { return {getX()}; }

// y = x * P(x): dx = dy * (P(x) + x * P'(x))
FailureOr<Value> GeluOp::buildGradient(OpBuilder &b, unsigned, ArrayRef<Value> dy) {
  return GeluBackwardOp::create(b, getLoc(), getX().getType(), getX(), dy[0], getTanhAttr()).getResult();
}
Kept GeluOp::keptForGradient(unsigned) { return {getX()}; }

// y = factor * x: dx = factor * dy; of nothing, zeros that no rank has to sum
FailureOr<Value> ScaleOp::buildGradient(OpBuilder &b, unsigned, ArrayRef<Value> dy) {
  if (getFactor().isZero()) {
    RankedTensorType type = getType();
    return ConstantOp::create(b, getLoc(), type, cast<ElementsAttr>(b.getZeroAttr(type))).getResult();
  }
  return ScaleOp::create(b, getLoc(), dy[0], getFactorAttr()).getResult();
}
Kept ScaleOp::keptForGradient(unsigned) { return {}; }

// Rounding counts as the identity: dx = dy in the type of x.
FailureOr<Value> ConvertOp::buildGradient(OpBuilder &b, unsigned, ArrayRef<Value> dy) {
  return b.createOrFold<ConvertOp>(getLoc(), getX().getType(), dy[0]);
}
Kept ConvertOp::keptForGradient(unsigned) { return {}; }

// y = x0 + x1 + ...: dxi = dy
FailureOr<Value> SumOp::buildGradient(OpBuilder &, unsigned, ArrayRef<Value> dy) { return dy[0]; }
Kept SumOp::keptForGradient(unsigned) { return {}; }
