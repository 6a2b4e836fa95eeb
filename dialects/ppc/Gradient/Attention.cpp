// Derivative of attention: one backward op for q, k and v.
#include "dialects/ppc/Ppc.h"

using namespace mlir;
using namespace mlir::ppc;

// Builds the whole backward op for each operand; CSE merges the copies. `lse` is kept for the backward op only, so that
// no gradient arrives at it; slopes are constants.
FailureOr<Value> AttentionOp::buildGradient(OpBuilder &builder, unsigned operand, ArrayRef<Value> dy) {
  if (dy[1])
    return emitOpError("cannot be differentiated through 'lse', only through 'out'");
  if (operand == 3)
    return Value();
  auto backward =
      AttentionBackwardOp::create(builder, getLoc(), TypeRange{getQ().getType(), getK().getType(), getV().getType()},
                                  getQ(), getK(), getV(), getOut(), getLse(), dy[0], getSlopes(), getScaleAttr(),
                                  getCausalAttr(), getWindowAttr(), getStrategyAttr(), getQueriesAttr());
  return Value(backward->getResult(operand));
}

SmallVector<Value> AttentionOp::keptForGradient(unsigned operand) {
  if (operand == 3)
    return {};
  SmallVector<Value> kept = {getQ(), getK(), getV(), getOut(), getLse()};
  if (getSlopes())
    kept.push_back(getSlopes());
  return kept;
}
