// Derivative of a matmul: a matmul with permuted indices.
#include "dialects/ppc/Ppc.h"

using namespace mlir;
using namespace mlir::ppc;

// y = "l,r->o" a, b: da = "o,r->l" dy, b and db = "o,l->r" dy, a. An index of `l` is in `o` or in `r` (C4), so these
// are matmuls too. They are as wide as y: gradients of narrower operands are rounded once, after all of them are added.
FailureOr<Value> MatmulOp::buildGradient(OpBuilder &builder, unsigned operand, ArrayRef<Value> dy) {
  StringRef own = operand == 0 ? lhsLetters() : rhsLetters();
  StringRef other = operand == 0 ? rhsLetters() : lhsLetters();
  std::string spec = (resultLetters() + "," + other + "->" + own).str();
  Value factor = operand == 0 ? getRhs() : getLhs(), gradient = dy[0];
  if (Type element = tensorType(factor).getElementType(); element != tensorType(gradient).getElementType())
    gradient = builder.createOrFold<ConvertOp>(getLoc(), withElement(tensorType(gradient), element), gradient);
  return MatmulOp::create(builder, getLoc(), spec, gradient, factor, getType().getElementType()).getResult();
}

SmallVector<Value> MatmulOp::keptForGradient(unsigned operand) { return {operand == 0 ? getRhs() : getLhs()}; }
