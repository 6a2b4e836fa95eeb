// The optimizer: verification.
#include "dialects/ppc/LegalShape.h"
#include "dialects/ppc/Ppc.h"

using namespace mlir;
using namespace mlir::ppc;

#define GET_OP_CLASSES
#include "dialects/ppc/IR/Training.cpp.inc"

LogicalResult AdamwOp::verify() {
  Type element = tensorType(getParameter()).getElementType();
  if (tensorType(getLr()).getElementType() != element) // adamw_c1
    return emitOpError() << "lr, step and scale must be scalars of " << element << ", found " << getLr().getType();
  return success();
}

LogicalResult SquaredNormOp::verify() {
  if (getType() != withShape(tensorType(getX()), {})) // squared_norm_c1
    return emitOpError() << "result must be " << withShape(tensorType(getX()), {}) << ", found " << getType();
  return success();
}

LogicalResult ClipScaleOp::verify() {
  if (!(getMaxNorm().convertToDouble() > 0)) // clip_scale_c1
    return emitOpError() << "max_norm is " << getMaxNorm().convertToDouble() << ", expected a positive number";
  return success();
}
