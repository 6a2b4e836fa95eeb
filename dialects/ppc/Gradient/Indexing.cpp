// Derivatives of ops that address by index or position.
#include "dialects/ppc/Ppc.h"

using namespace mlir;
using namespace mlir::ppc;

// y[i, :] = table[ids[i], :]: dtable[r, :] = sum of dy[i, :] over i with ids[i] = r, but 0 where r is the padding
// index; ids have none
FailureOr<Value> EmbeddingOp::buildGradient(OpBuilder &builder, unsigned operand, ArrayRef<Value> dy) {
  if (operand == 1)
    return Value();
  return EmbeddingBackwardOp::create(builder, getLoc(), getTable().getType(), getIds(), dy[0], getRowsAttr(),
                                     getPaddingIndexAttr())
      .getResult();
}
SmallVector<Value> EmbeddingOp::keptForGradient(unsigned operand) {
  if (operand == 1)
    return {};
  return {getIds()};
}

// A rotation: its transpose is the rotation backwards.
FailureOr<Value> RotaryOp::buildGradient(OpBuilder &builder, unsigned, ArrayRef<Value> dy) {
  return RotaryOp::create(builder, getLoc(), dy[0].getType(), dy[0], getFrequenciesAttr(), getOffsetAttr(),
                          getInterleavedAttr(), getInverse() ? UnitAttr() : builder.getUnitAttr(), getPositionsAttr(),
                          getStartAttr())
      .getResult();
}
SmallVector<Value> RotaryOp::keptForGradient(unsigned) { return {}; }
