// Elementwise ops: verification and folding.
#include "dialects/ppc/LegalShape.h"
#include "dialects/ppc/Ppc.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::ppc;

#define GET_OP_CLASSES
#include "dialects/ppc/IR/Elementwise.cpp.inc"

// A splat float constant equal to `value`.
static bool isSplat(Attribute attribute, double value) {
  auto dense = dyn_cast_or_null<DenseFPElementsAttr>(attribute);
  return dense && dense.isSplat() && dense.getSplatValue<APFloat>().convertToDouble() == value;
}

OpFoldResult AddOp::fold(FoldAdaptor adaptor) {
  if (isSplat(adaptor.getB(), 0))
    return getA();
  if (isSplat(adaptor.getA(), 0))
    return getB();
  return {};
}

OpFoldResult SubOp::fold(FoldAdaptor adaptor) {
  return isSplat(adaptor.getB(), 0) ? OpFoldResult(getA()) : OpFoldResult();
}

OpFoldResult MulOp::fold(FoldAdaptor adaptor) {
  if (isSplat(adaptor.getB(), 1))
    return getA();
  if (isSplat(adaptor.getA(), 1))
    return getB();
  return {};
}

OpFoldResult NegOp::fold(FoldAdaptor) {
  if (auto inner = getX().getDefiningOp<NegOp>())
    return inner.getX();
  return {};
}

OpFoldResult ScaleOp::fold(FoldAdaptor) {
  return getFactor().convertToDouble() == 1.0 ? OpFoldResult(getX()) : OpFoldResult();
}

bool ConvertOp::widens() {
  auto bits = [](Value value) { return tensorType(value).getElementTypeBitWidth(); };
  return bits(getX()) < bits(getY());
}

OpFoldResult ConvertOp::fold(FoldAdaptor) {
  if (getX().getType() == getType())
    return getX();
  // There and back through a wider type, which holds every value of the narrow one.
  if (auto inner = getX().getDefiningOp<ConvertOp>(); inner && inner.getX().getType() == getType())
    if (sumType(getType().getElementType()) == tensorType(getX()).getElementType() ||
        tensorType(getX()).getElementType().isF64())
      return inner.getX();
  return {};
}

OpFoldResult SumOp::fold(FoldAdaptor) {
  return getInputs().size() == 1 ? OpFoldResult(getInputs().front()) : OpFoldResult();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }
