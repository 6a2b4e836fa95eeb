// Ops of the loss. cross_entropy itself is gone by now (ppc-expand-cross-entropy).
#include "LoopNest.h"

namespace mlir::ppc {
namespace {

SmallVector<Value> pick(PickOp op, ScalarBuilder &b) {
  auto type = tensorType(op.getY());
  int64_t rank = type.getRank(), classes = tensorType(op.getX()).getShape().back();
  Value start = op.getClasses() ? blockStart(b, op, op.getClasses()->getAxes(), classes) : b.index(0);
  Access ids{op.getIds(), allLoops(b, rank)};
  return {mapLoops(b, type, ids, [&](ScalarBuilder &s, ValueRange v) -> Value {
    Value index = s.subIndex(s.toIndex(v[0]), start);
    Value valid = arith::CmpIOp::create(s, arith::CmpIPredicate::ult, index, s.index(classes));
    SmallVector<Value> position;
    for (int64_t dim = 0; dim < rank; ++dim)
      position.push_back(s.loopIndex(dim));
    position.push_back(s.select(valid, index, s.index(0)));
    Value element = tensor::ExtractOp::create(s, op.getX(), position);
    return s.select(valid, element, s.number(element.getType(), 0));
  })};
}

SmallVector<Value> crossEntropyBackward(CrossEntropyBackwardOp op, ScalarBuilder &b) {
  auto type = tensorType(op.getLogits());
  int64_t rank = type.getRank();
  Value start, extent;
  if (auto block = op.getClassesAttr()) {
    start = blockStart(b, op, block.getAxes(), type.getShape().back());
    if (hasPadding(op, block, type.getShape().back()))
      extent = b.index(block.getExtent());
  }
  AffineMap row = firstLoops(b, rank, rank - 1);
  return {mapLoops(
      b, type, {{op.getLogits(), allLoops(b, rank)}, {op.getTargets(), row}, {op.getLse(), row}, {op.getDnll(), row}},
      [&](ScalarBuilder &s, ValueRange v) {
        Value index = s.loopIndex(rank - 1), zero = s.number(v[0].getType(), 0);
        if (start)
          index = s.addIndex(start, index);
        Value hit = s.select(s.equal(index, s.toIndex(v[1])), s.number(v[0].getType(), 1), zero);
        Value gradient = s.mul(s.sub(s.exp(s.sub(v[0], v[2])), hit), v[3]);
        return extent ? s.select(s.less(index, extent), gradient, zero) : gradient;
      })};
}

} // namespace

void populateLoss(RewritePatternSet &patterns) {
  addPattern<PickOp>(patterns, pick);
  addPattern<CrossEntropyBackwardOp>(patterns, crossEntropyBackward);
}

} // namespace mlir::ppc
