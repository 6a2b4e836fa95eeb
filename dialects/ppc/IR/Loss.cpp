// Losses: verification.
#include "dialects/ppc/LegalShape.h"
#include "dialects/ppc/Ppc.h"

using namespace mlir;
using namespace mlir::ppc;

#define GET_OP_CLASSES
#include "dialects/ppc/IR/Loss.cpp.inc"

// `ids` and each of `rows` have the dimensions of `classes` but the last.
static LogicalResult verifyPerRow(Operation *op, RankedTensorType classes, RankedTensorType ids,
                                  ArrayRef<std::pair<StringRef, RankedTensorType>> rows) {
  if (classes.getRank() < 1 || ids.getShape() != classes.getShape().drop_back())
    return op->emitOpError() << "indices must have the dimensions of " << classes << " but the last, found " << ids;
  for (auto [name, type] : rows)
    if (type != withShape(classes, ids.getShape()))
      return op->emitOpError() << "'" << name << "' must be " << withShape(classes, ids.getShape()) << ", found "
                               << type;
  return success();
}

LogicalResult CrossEntropyOp::verify() { // cross_entropy_c1, cross_entropy_c2
  return verifyPerRow(*this, tensorType(getLogits()), tensorType(getTargets()),
                      {{"nll", tensorType(getNll())}, {"lse", tensorType(getLse())}});
}

LogicalResult PickOp::verify() { // pick_c1, pick_c2
  return verifyPerRow(*this, tensorType(getX()), tensorType(getIds()), {{"y", getType()}});
}

LogicalResult CrossEntropyBackwardOp::verify() { // cross_entropy_backward_c1
  if (getType() != tensorType(getLogits()))
    return emitOpError() << "result must be " << tensorType(getLogits()) << ", found " << getType();
  return verifyPerRow(*this, tensorType(getLogits()), tensorType(getTargets()),
                      {{"lse", tensorType(getLse())}, {"dnll", tensorType(getDnll())}});
}
