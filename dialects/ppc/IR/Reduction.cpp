// Reductions and normalisations: verification.
#include "dialects/ppc/LegalShape.h"
#include "dialects/ppc/Ppc.h"

using namespace mlir;
using namespace mlir::ppc;

#define GET_OP_CLASSES
#include "dialects/ppc/IR/Reduction.cpp.inc"

// `dims` are distinct, sorted dimensions of a tensor of this rank.
static LogicalResult verifyDims(Operation *op, ArrayRef<int64_t> dims, int64_t rank) {
  for (auto [i, dim] : llvm::enumerate(dims))
    if (dim < 0 || dim >= rank || (i && dim <= dims[i - 1]))
      return op->emitOpError() << "dims [" << dims << "] must be distinct, sorted and below the rank " << rank;
  return success();
}

// `small` has the dimensions of `large` but the last.
static LogicalResult verifyDropsLast(Operation *op, RankedTensorType large, RankedTensorType small, StringRef name) {
  if (large.getRank() < 1 || small != withShape(large, large.getShape().drop_back()))
    return op->emitOpError() << "'" << name << "' must have all dimensions of " << large << " but the last, found "
                             << small;
  return success();
}

static LogicalResult verifyHasLast(Operation *op, Type type) {
  if (cast<RankedTensorType>(type).getRank() < 1)
    return op->emitOpError() << "needs at least one dimension, found " << type;
  return success();
}

// `weight` is one-dimensional, as long as the last dimension of `x`.
static LogicalResult verifyWeight(Operation *op, RankedTensorType x, RankedTensorType weight, StringRef name) {
  if (x.getRank() < 1 || weight != withShape(x, {x.getShape().back()}))
    return op->emitOpError() << "'" << name << "' must be one-dimensional, as long as the last dimension of " << x
                             << ", found " << weight;
  return success();
}

LogicalResult ReduceOp::verify() {
  RankedTensorType type = tensorType(getX());
  if (failed(verifyDims(*this, getDims(), type.getRank()))) // reduce_c1
    return failure();
  SmallVector<int64_t> shape;
  for (auto [i, size] : llvm::enumerate(type.getShape()))
    if (!llvm::is_contained(getDims(), int64_t(i)))
      shape.push_back(size);
  if (getType() != withShape(type, shape)) // reduce_c2
    return emitOpError() << "result must be " << withShape(type, shape) << ", found " << getType();
  if (getCombiner() == Combiner::LogSumExp) // reduce_c3
    return emitOpError("combiner must be sum or max; log_sum_exp is an op of its own");
  return success();
}

LogicalResult LogSumExpOp::verify() {
  return verifyDropsLast(*this, tensorType(getX()), getType(), "y");
} // log_sum_exp_c1

LogicalResult SoftmaxOp::verify() { return verifyHasLast(*this, getType()); }         // softmax_c1
LogicalResult SoftmaxBackwardOp::verify() { return verifyHasLast(*this, getType()); } // softmax_backward_c1

LogicalResult RmsNormOp::verify() { // rms_norm_c1, rms_norm_c2
  return verifyWeight(*this, tensorType(getX()), tensorType(getWeight()), "weight");
}
LogicalResult RmsNormInputGradientOp::verify() { // rms_norm_input_gradient_c1
  return verifyWeight(*this, tensorType(getX()), tensorType(getWeight()), "weight");
}
LogicalResult RmsNormWeightGradientOp::verify() { // rms_norm_weight_gradient_c1
  return verifyWeight(*this, tensorType(getX()), getType(), "dweight");
}

LogicalResult LayerNormOp::verify() { // layer_norm_c1
  return verifyWeight(*this, tensorType(getX()), tensorType(getWeight()), "weight");
}
LogicalResult LayerNormInputGradientOp::verify() { // layer_norm_input_gradient_c1
  return verifyWeight(*this, tensorType(getX()), tensorType(getWeight()), "weight");
}
LogicalResult LayerNormWeightGradientOp::verify() { // layer_norm_weight_gradient_c1
  return verifyWeight(*this, tensorType(getX()), getType(), "dweight");
}
