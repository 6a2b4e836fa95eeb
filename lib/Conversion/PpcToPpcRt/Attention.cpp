// Attention as one library call, which tiles it.
#include "Patterns.h"

#include "dialects/ppc/Ppc.h"
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::ppc {
namespace {

template <typename OpTy, typename CallTy>
struct AttentionPattern : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
    // Rows, the logarithms and slopes, have the type of the scores.
    Type element = tensorType(op.getQ()).getElementType(), row = element.isBF16() ? Type(rewriter.getF32Type()) : element;
    bool known = isa<Float32Type, Float64Type, BFloat16Type>(element) && tensorType(op.getLse()).getElementType() == row &&
                 (!op.getSlopes() || tensorType(op.getSlopes()).getElementType() == row);
    if (!known)
      return rewriter.notifyMatchFailure(op, "the library does not take these types");
    SmallVector<Value> outs;
    for (Type result : op->getResultTypes()) {
      auto type = cast<RankedTensorType>(result);
      outs.push_back(tensor::EmptyOp::create(rewriter, op.getLoc(), type.getShape(), type.getElementType()));
    }
    rewriter.replaceOpWithNewOp<CallTy>(op, op->getResultTypes(), op->getOperands(), outs, op.getScaleAttr(), op.getCausalAttr(),
                                        op.getWindowAttr());
    return success();
  }
};

} // namespace

void populateAttentionCall(RewritePatternSet &patterns) {
  patterns.add<AttentionPattern<AttentionOp, ppcrt::AttentionOp>, AttentionPattern<AttentionBackwardOp, ppcrt::AttentionBackwardOp>>(
      patterns.getContext());
}

} // namespace mlir::ppc
