// Ops of a rank on its own blocks, without communication.
#include "LoopNest.h"

namespace mlir::ppc {
namespace {

SmallVector<Value> maskPadding(MaskPaddingOp op, ScalarBuilder &b) {
  auto type = tensorType(op.getX());
  int64_t dim = op.getDim();
  Value start = blockStart(b, op, op.getBlock().getAxes(), type.getDimSize(dim)),
        extent = b.index(op.getBlock().getExtent());
  return {mapLoops(b, type, Access{op.getX(), allLoops(b, type.getRank())}, [&](ScalarBuilder &s, ValueRange v) {
    return s.select(s.less(s.addIndex(start, s.loopIndex(dim)), extent), v[0], s.number(v[0].getType(), 0));
  })};
}

} // namespace

void populatePlacement(RewritePatternSet &patterns) { addPattern<MaskPaddingOp>(patterns, maskPadding); }

} // namespace mlir::ppc
