// Derivatives of reductions and normalisations; `dy` is the gradient of the result.
#include "dialects/ppc/Ppc.h"

using namespace mlir;
using namespace mlir::ppc;

// y = sum over dims of x: dx = dy repeated along dims
FailureOr<Value> ReduceOp::buildGradient(OpBuilder &b, unsigned, ArrayRef<Value> dy) {
  if (getCombiner() != Combiner::Sum)
    return failure();
  return BroadcastOp::create(b, getLoc(), getX().getType(), dy[0], getDims()).getResult();
}
SmallVector<Value> ReduceOp::keptForGradient(unsigned) { return {}; }

// y = softmax x: dx = y * (dy - sum(y * dy))
FailureOr<Value> SoftmaxOp::buildGradient(OpBuilder &b, unsigned, ArrayRef<Value> dy) {
  return SoftmaxBackwardOp::create(b, getLoc(), getY(), dy[0]).getResult();
}
SmallVector<Value> SoftmaxOp::keptForGradient(unsigned) { return {getY()}; }

// y = w * x * r, r = (mean(x^2) + epsilon)^(-1/2): dx = r * g - x * r^3 * mean(g * x) with g = dy * w;
// dw = sum over rows of dy * x * r
FailureOr<Value> RmsNormOp::buildGradient(OpBuilder &b, unsigned operand, ArrayRef<Value> dy) {
  if (operand == 0)
    return RmsNormInputGradientOp::create(b, getLoc(), getX().getType(), getX(), getWeight(), dy[0], getEpsilonAttr())
        .getResult();
  return RmsNormWeightGradientOp::create(b, getLoc(), getWeight().getType(), getX(), dy[0], getEpsilonAttr())
      .getResult();
}
SmallVector<Value> RmsNormOp::keptForGradient(unsigned operand) {
  if (operand == 0)
    return {getX(), getWeight()};
  return {getX()};
}

// y = w * z + b, z = (x - mean(x)) * r, r = (variance(x) + epsilon)^(-1/2): dx = r * (g - mean(g) - z * mean(g * z))
// with g = dy * w; dw = sum over rows of dy * z; db = sum over rows of dy
FailureOr<Value> LayerNormOp::buildGradient(OpBuilder &b, unsigned operand, ArrayRef<Value> dy) {
  if (operand == 0)
    return LayerNormInputGradientOp::create(b, getLoc(), getX().getType(), getX(), getWeight(), dy[0], getEpsilonAttr())
        .getResult();
  if (operand == 1)
    return LayerNormWeightGradientOp::create(b, getLoc(), getWeight().getType(), getX(), dy[0], getEpsilonAttr())
        .getResult();
  auto rows = llvm::to_vector(llvm::seq<int64_t>(0, getType().getRank() - 1));
  return ReduceOp::create(b, getLoc(), getBias().getType(), Combiner::Sum, dy[0], rows).getResult();
}
SmallVector<Value> LayerNormOp::keptForGradient(unsigned operand) {
  if (operand == 0)
    return {getX(), getWeight()};
  if (operand == 1)
    return {getX()};
  return {};
}
