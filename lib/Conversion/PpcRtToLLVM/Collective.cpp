// Communication: one call for each op.
#include "Patterns.h"

#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"

namespace mlir::ppc {
namespace {

Value constant(ConversionPatternRewriter &rewriter, Operation *op, Type type, int64_t value) {
  return LLVM::ConstantOp::create(rewriter, op->getLoc(), type, rewriter.getIntegerAttr(type, value));
}

struct CoordinateLowering : ConvertOpToLLVMPattern<ppcrt::CoordinateOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(ppcrt::CoordinateOp op, OpAdaptor, ConversionPatternRewriter &rewriter) const override {
    Value group = constant(rewriter, op, rewriter.getI32Type(), ppcrt::groupNumber(op, op.getGroupAttr()));
    rewriter.replaceOp(
        op, askRuntime(rewriter, op, "ppcrt_coordinate", rewriter.getI64Type(), {rankOf(rewriter, op), group}));
    return success();
  }
};

/// Calls `name(rank, group, [in,] out, count, type [, kind or shift])`; `count` says how many elements from the sizes
/// of both buffers.
template <typename OpTy> struct CollectiveLowering : ConvertOpToLLVMPattern<OpTy> {
  using Count = int64_t (*)(OpTy op, MemRefType in, MemRefType out);
  CollectiveLowering(const LLVMTypeConverter &converter, StringRef name, Count count)
      : ConvertOpToLLVMPattern<OpTy>(converter), name(name), count(count) {}

  LogicalResult matchAndRewrite(OpTy op, typename OpTy::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto out = dyn_cast<MemRefType>(op.getOut().getType());
    if (!out)
      return rewriter.notifyMatchFailure(op, "works on tensors");
    auto in = cast<MemRefType>(op->getOperand(0).getType());
    Type i32 = rewriter.getI32Type();
    SmallVector<Value> arguments{rankOf(rewriter, op),
                                 constant(rewriter, op, i32, ppcrt::groupNumber(op, op.getGroupAttr()))};
    for (auto [buffer, descriptor] : llvm::zip(op->getOperands(), adaptor.getOperands()))
      arguments.push_back(
          this->getStridedElementPtr(rewriter, op.getLoc(), cast<MemRefType>(buffer.getType()), descriptor, {}));
    arguments.push_back(constant(rewriter, op, rewriter.getI64Type(), count(op, in, out)));
    arguments.push_back(constant(rewriter, op, i32, *ppcrt::elementTypeCode(out.getElementType())));
    if constexpr (std::is_same_v<OpTy, ppcrt::AllReduceOp> || std::is_same_v<OpTy, ppcrt::ReduceScatterOp>)
      arguments.push_back(constant(rewriter, op, i32, int32_t(op.getKind())));
    if constexpr (std::is_same_v<OpTy, ppcrt::PermuteOp>)
      arguments.push_back(constant(rewriter, op, i32, int32_t(op.getShift())));
    callRuntime(rewriter, op, name, {}, arguments);
    rewriter.eraseOp(op);
    return success();
  }

  StringRef name;
  Count count;
};

} // namespace

void populateRuntimeCollective(const LLVMTypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<CoordinateLowering>(converter);
  patterns.add<CollectiveLowering<ppcrt::AllReduceOp>>(
      converter, "ppcrt_all_reduce",
      [](ppcrt::AllReduceOp, MemRefType, MemRefType out) { return out.getNumElements(); });
  patterns.add<CollectiveLowering<ppcrt::AllGatherOp>>(
      converter, "ppcrt_all_gather", [](ppcrt::AllGatherOp, MemRefType in, MemRefType) { return in.getNumElements(); });
  patterns.add<CollectiveLowering<ppcrt::ReduceScatterOp>>(
      converter, "ppcrt_reduce_scatter",
      [](ppcrt::ReduceScatterOp, MemRefType, MemRefType out) { return out.getNumElements(); });
  patterns.add<CollectiveLowering<ppcrt::PermuteOp>>(
      converter, "ppcrt_permute", [](ppcrt::PermuteOp, MemRefType in, MemRefType) { return in.getNumElements(); });
  patterns.add<CollectiveLowering<ppcrt::AllToAllOp>>(
      converter, "ppcrt_all_to_all",
      [](ppcrt::AllToAllOp op, MemRefType in, MemRefType) { return in.getNumElements() / int64_t(op.getRanks()); });
}

} // namespace mlir::ppc
