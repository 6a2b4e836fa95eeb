// Ops that rearrange elements: verification and folding.
#include "dialects/ppc/LegalShape.h"
#include "dialects/ppc/Ppc.h"

using namespace mlir;
using namespace mlir::ppc;

#define GET_OP_CLASSES
#include "dialects/ppc/IR/Shape.cpp.inc"

LogicalResult TransposeOp::verify() {
  RankedTensorType type = tensorType(getX());
  SmallVector<int64_t> sorted(getPermutation());
  llvm::sort(sorted);
  bool isPermutation = int64_t(sorted.size()) == type.getRank();
  for (int64_t i = 0; isPermutation && i < int64_t(sorted.size()); ++i)
    isPermutation = sorted[i] == i;
  if (!isPermutation) // transpose_c1
    return emitOpError() << "[" << getPermutation() << "] is not a permutation of " << type.getRank() << " dimensions";
  SmallVector<int64_t> shape;
  for (int64_t dim : getPermutation())
    shape.push_back(type.getDimSize(dim));
  if (getType() != withShape(type, shape)) // transpose_c2
    return emitOpError() << "result must be " << withShape(type, shape) << ", found " << getType();
  return success();
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  for (auto [i, dim] : llvm::enumerate(getPermutation()))
    if (dim != int64_t(i))
      return {};
  return getX();
}

LogicalResult ReshapeOp::verify() {
  RankedTensorType type = tensorType(getX());
  if (type.getNumElements() != getType().getNumElements() ||
      type.getElementType() != getType().getElementType()) // reshape_c1
    return emitOpError() << "operand and result must have the same elements, found " << type << " and " << getType();
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getX().getType() == getType())
    return getX();
  if (auto inner = getX().getDefiningOp<ReshapeOp>()) {
    getXMutable().assign(inner.getX());
    return getResult();
  }
  return {};
}

LogicalResult BroadcastOp::verify() {
  RankedTensorType type = getType();
  SmallVector<int64_t> shape;
  for (auto [i, dim] : llvm::enumerate(getDims()))
    if (dim < 0 || dim >= type.getRank() || (i && dim <= getDims()[i - 1])) // broadcast_c1
      return emitOpError() << "dims [" << getDims() << "] must be distinct, sorted and below the rank "
                           << type.getRank();
  for (auto [i, size] : llvm::enumerate(type.getShape()))
    if (!llvm::is_contained(getDims(), int64_t(i)))
      shape.push_back(size);
  if (tensorType(getX()) != withShape(type, shape)) // broadcast_c2
    return emitOpError() << "operand must be " << withShape(type, shape) << ", found " << tensorType(getX());
  return success();
}

// `parts` make up `whole` along `dim`.
static LogicalResult verifyParts(Operation *op, RankedTensorType whole, ValueRange parts, int64_t dim, int64_t runs) {
  if (dim < 0 || dim >= whole.getRank()) // split_c1, concat_c1
    return op->emitOpError() << "dim is " << dim << ", which is not a dimension of " << whole;
  if (parts.empty()) // split_c2, concat_c2
    return op->emitOpError("needs at least one part");
  int64_t total = 0;
  for (Value part : parts) {
    RankedTensorType type = tensorType(part);
    SmallVector<int64_t> shape(whole.getShape());
    if (type.getRank() == whole.getRank())
      shape[dim] = type.getDimSize(dim);
    if (type != withShape(whole, shape))
      return op->emitOpError() << "a part must be " << whole << " but for dimension " << dim << ", found " << type;
    if (shape[dim] % runs) // split_c3, concat_c3
      return op->emitOpError() << "a part of " << shape[dim] << " elements along dimension " << dim
                               << " cannot be split into " << runs << " equal runs";
    total += shape[dim];
  }
  if (total != whole.getDimSize(dim))
    return op->emitOpError() << "the parts have " << total << " elements along dimension " << dim << ", " << whole
                             << " has " << whole.getDimSize(dim);
  return success();
}

LogicalResult SplitOp::verify() { return verifyParts(*this, tensorType(getX()), getParts(), getDim(), getRuns()); }
LogicalResult ConcatOp::verify() { return verifyParts(*this, getType(), getParts(), getDim(), getRuns()); }
