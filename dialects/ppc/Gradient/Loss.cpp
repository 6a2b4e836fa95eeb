// Derivatives of losses.
#include "dialects/ppc/Ppc.h"

using namespace mlir;
using namespace mlir::ppc;

// nll = lse(logits) - logits[target]: dlogits[c] = (e^(logits[c] - lse) - [c = target]) * dnll; targets have none.
// `lse` is kept for the backward op only, so that no gradient arrives at it.
FailureOr<Value> CrossEntropyOp::buildGradient(OpBuilder &builder, unsigned operand, ArrayRef<Value> dy) {
  if (dy[1])
    return emitOpError("cannot be differentiated through 'lse', only through 'nll'");
  if (operand == 1)
    return Value();
  return CrossEntropyBackwardOp::create(builder, getLoc(), getLogits().getType(), getLogits(), getTargets(), getLse(),
                                        dy[0], BlockAttr())
      .getResult();
}

SmallVector<Value> CrossEntropyOp::keptForGradient(unsigned operand) {
  if (operand == 1)
    return {};
  return {getLogits(), getTargets(), getLse()};
}
