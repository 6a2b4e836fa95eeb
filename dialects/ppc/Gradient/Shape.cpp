// Derivatives of ops that rearrange elements: the elements go back where they came from.
#include "dialects/ppc/Ppc.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace mlir::ppc;

// y = x permuted: dx = dy permuted back
FailureOr<Value> TransposeOp::buildGradient(OpBuilder &builder, unsigned, ArrayRef<Value> dy) {
  return TransposeOp::create(builder, getLoc(), getX().getType(), dy[0], invertPermutationVector(getPermutation()))
      .getResult();
}
SmallVector<Value> TransposeOp::keptForGradient(unsigned) { return {}; }

// y = x in another shape: dx = dy in the shape of x
FailureOr<Value> ReshapeOp::buildGradient(OpBuilder &builder, unsigned, ArrayRef<Value> dy) {
  return ReshapeOp::create(builder, getLoc(), getX().getType(), dy[0]).getResult();
}
SmallVector<Value> ReshapeOp::keptForGradient(unsigned) { return {}; }

// y = x repeated along dims: dx = sum of dy over dims
FailureOr<Value> BroadcastOp::buildGradient(OpBuilder &builder, unsigned, ArrayRef<Value> dy) {
  return ReduceOp::create(builder, getLoc(), getX().getType(), Combiner::Sum, dy[0], getDims()).getResult();
}
SmallVector<Value> BroadcastOp::keptForGradient(unsigned) { return {}; }

// parts = x split along dim: dx = the gradients of the parts concatenated, zero for unused parts
FailureOr<Value> SplitOp::buildGradient(OpBuilder &builder, unsigned, ArrayRef<Value> dy) {
  SmallVector<Value> parts;
  for (auto [part, gradient] : llvm::zip_equal(getParts(), dy)) {
    RankedTensorType type = tensorType(part);
    parts.push_back(gradient);
    if (!gradient)
      parts.back() = ConstantOp::create(builder, getLoc(), type, cast<ElementsAttr>(builder.getZeroAttr(type)));
  }
  return ConcatOp::create(builder, getLoc(), getX().getType(), parts, getDimAttr(), getRunsAttr()).getResult();
}
SmallVector<Value> SplitOp::keptForGradient(unsigned) { return {}; }

// y = concatenated parts: their gradients are the parts of dy
FailureOr<Value> ConcatOp::buildGradient(OpBuilder &builder, unsigned operand, ArrayRef<Value> dy) {
  auto split = SplitOp::create(builder, getLoc(), getParts().getTypes(), dy[0], getDimAttr(), getRunsAttr());
  return Value(split.getParts()[operand]);
}
SmallVector<Value> ConcatOp::keptForGradient(unsigned) { return {}; }
