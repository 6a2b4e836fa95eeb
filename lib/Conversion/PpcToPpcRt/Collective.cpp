// Collectives whose blocks are a leading dimension: the form the runtime has. ppc-to-linalg brings the others into it.
#include "Patterns.h"

#include "dialects/ppc/Ppc.h"
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::ppc {
namespace {

FlatSymbolRefAttr group(Operation *op, ArrayAttr axes, DenseI64ArrayAttr stages = {}) {
  return ppcrt::findOrAddGroup(op->getParentOfType<ModuleOp>(), axes, stages);
}

std::optional<ppcrt::ReductionKind> kindOf(Combiner combiner) {
  switch (combiner) {
  case Combiner::Sum:
    return ppcrt::ReductionKind::Sum;
  case Combiner::Max:
    return ppcrt::ReductionKind::Max;
  default:
    return std::nullopt;
  }
}

Value empty(Operation *op, RankedTensorType type, PatternRewriter &rewriter) {
  return tensor::EmptyOp::create(rewriter, op->getLoc(), type.getShape(), type.getElementType());
}

template <typename OpTy, LogicalResult (*rewrite)(OpTy, PatternRewriter &)>
struct RewriteFunction : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override { return rewrite(op, rewriter); }
};

LogicalResult allReduce(AllReduceOp op, PatternRewriter &rewriter) {
  std::optional<ppcrt::ReductionKind> kind = kindOf(op.getCombiner());
  if (!kind)
    return rewriter.notifyMatchFailure(op, "combined by several calls");
  rewriter.replaceOpWithNewOp<ppcrt::AllReduceOp>(op, op.getType(), *kind,
                                                  group(op, op.getAxes(), op.getStagesAttr()).getValue(), op.getX());
  return success();
}

LogicalResult allGather(AllGatherOp op, PatternRewriter &rewriter) {
  auto in = tensorType(op.getX()), out = tensorType(op.getY());
  int64_t block = in.getDimSize(op.getDim()), whole = out.getDimSize(op.getDim());
  if (op.getDim() != 0 || whole != block * groupSize(op, op.getAxes(), whole, block))
    return rewriter.notifyMatchFailure(op, "blocks are not contiguous");
  rewriter.replaceOpWithNewOp<ppcrt::AllGatherOp>(op, out, group(op, op.getAxes()), op.getX(),
                                                  empty(op, out, rewriter));
  return success();
}

LogicalResult reduceScatter(ReduceScatterOp op, PatternRewriter &rewriter) {
  auto in = tensorType(op.getX()), out = tensorType(op.getY());
  int64_t block = out.getDimSize(op.getDim()), whole = in.getDimSize(op.getDim());
  std::optional<ppcrt::ReductionKind> kind = kindOf(op.getCombiner());
  if (!kind || op.getDim() != 0 || whole != block * groupSize(op, op.getAxes(), whole, block))
    return rewriter.notifyMatchFailure(op, "blocks are not contiguous");
  rewriter.replaceOpWithNewOp<ppcrt::ReduceScatterOp>(op, out, *kind, group(op, op.getAxes()).getValue(), op.getX(),
                                                      empty(op, out, rewriter));
  return success();
}

/// [ranks, 1, ...] to [1, ranks, ...]: whole blocks change places.
LogicalResult allToAll(AllToAllOp op, PatternRewriter &rewriter) {
  auto in = tensorType(op.getX()), out = tensorType(op.getY());
  if (op.getSplitDim() != 0 || op.getConcatDim() != 1 || out.getDimSize(0) != 1 || in.getDimSize(1) != 1)
    return rewriter.notifyMatchFailure(op, "blocks are not contiguous");
  SmallVector<ReassociationIndices> front{{0, 1}};
  SmallVector<int64_t> shape{in.getDimSize(0)};
  llvm::append_range(shape, in.getShape().drop_front(2));
  for (int64_t dim = 2; dim < in.getRank(); ++dim)
    front.push_back({dim});
  auto blocks = withShape(in, shape);
  Value flat = tensor::CollapseShapeOp::create(rewriter, op.getLoc(), blocks, op.getX(), front);
  auto call = ppcrt::AllToAllOp::create(rewriter, op.getLoc(), blocks, group(op, op.getAxes()).getValue(),
                                        in.getDimSize(0), flat, empty(op, blocks, rewriter));
  rewriter.replaceOpWithNewOp<tensor::ExpandShapeOp>(op, out, call.getResult()[0], front);
  return success();
}

} // namespace

void populateRuntimeCollective(RewritePatternSet &patterns) {
  patterns.add<RewriteFunction<AllReduceOp, allReduce>, RewriteFunction<AllGatherOp, allGather>,
               RewriteFunction<ReduceScatterOp, reduceScatter>, RewriteFunction<AllToAllOp, allToAll>>(
      patterns.getContext());
}

} // namespace mlir::ppc
