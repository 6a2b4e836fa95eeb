// Attention as one library call, which tiles it.
#include "Patterns.h"

#include "dialects/ppc/Ppc.h"
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::ppc {
namespace {

/// `value` with the element type that the library requires.
Value withType(PatternRewriter &rewriter, Value value, Type element) {
  RankedTensorType type = tensorType(value);
  return type.getElementType() == element
             ? value
             : ConvertOp::create(rewriter, value.getLoc(), withElement(type, element), value);
}

/// Position of the first query of a block among the keys, on the rank that runs this; null if the op holds all of
/// them.
template <typename OpTy> Value firstPosition(PatternRewriter &rewriter, OpTy op) {
  std::optional<BlockAttr> block = op.getQueries();
  if (!block)
    return {};
  Location loc = op.getLoc();
  int64_t local = tensorType(op.getQ()).getDimSize(1),
          hidden = tensorType(op.getK()).getDimSize(1) - block->getExtent();
  auto index = [&](int64_t value) { return arith::ConstantIndexOp::create(rewriter, loc, value); };
  FlatSymbolRefAttr group = ppcrt::findOrAddGroup(op->template getParentOfType<ModuleOp>(), block->getAxes());
  Value coordinate = ppcrt::CoordinateOp::create(rewriter, loc, rewriter.getIndexType(), group);
  Value start = arith::MulIOp::create(rewriter, loc, coordinate, index(local));
  return hidden ? Value(arith::AddIOp::create(rewriter, loc, start, index(hidden))) : start;
}

template <typename OpTy, typename CallTy> struct AttentionPattern : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
    constexpr bool backward = std::is_same_v<OpTy, AttentionBackwardOp>;
    Type element = tensorType(op.getQ()).getElementType();
    if (!isa<Float32Type, Float64Type, BFloat16Type>(element))
      return op.emitOpError() << "cannot run on the host in " << element << "; f32, f64 and bf16 can";
    // Rows, the logarithms and slopes, go in and out in the type of the scores, whatever type the model keeps them in.
    Type row = sumType(element);
    SmallVector<Value> ins(op->getOperands());
    for (auto [i, value] : llvm::enumerate(ins))
      if (backward ? i == 4 || i == 6 : i == 3)
        value = withType(rewriter, value, row);
    SmallVector<Value> outs;
    SmallVector<Type> types;
    for (auto [i, result] : llvm::enumerate(op->getResultTypes())) {
      auto type = cast<RankedTensorType>(result);
      types.push_back(!backward && i == 1 ? withElement(type, row) : type);
      outs.push_back(tensor::EmptyOp::create(rewriter, op.getLoc(), type.getShape(),
                                             cast<RankedTensorType>(types.back()).getElementType()));
    }
    auto call = CallTy::create(rewriter, op.getLoc(), types, ins, outs, firstPosition(rewriter, op), op.getScaleAttr(),
                               op.getCausalAttr(), op.getWindowAttr());
    SmallVector<Value> results;
    for (auto [value, type] : llvm::zip(call->getResults(), op->getResultTypes()))
      results.push_back(withType(rewriter, value, cast<RankedTensorType>(type).getElementType()));
    rewriter.replaceOp(op, results);
    return success();
  }
};

} // namespace

void populateAttentionCall(RewritePatternSet &patterns) {
  patterns.add<AttentionPattern<AttentionOp, ppcrt::AttentionOp>,
               AttentionPattern<AttentionBackwardOp, ppcrt::AttentionBackwardOp>>(patterns.getContext());
}

} // namespace mlir::ppc
