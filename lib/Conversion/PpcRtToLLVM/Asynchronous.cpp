// Communication that code starts and waits for, where a token is the number of a request; and ppcrt.reach.
#include "Patterns.h"

#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"

namespace mlir::ppc {
namespace {

/// Calls `ppcrt_KIND_start(rank, group, [in,] out, count, type [, kind or shift])`.
struct StartLowering : ConvertOpToLLVMPattern<ppcrt::StartOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(ppcrt::StartOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    using Kind = ppcrt::CollectiveKind;
    if (llvm::is_contained({Kind::AllToAll, Kind::RaggedAllToAll}, op.getKind()))
      return op.emitOpError("the CPU backend cannot start ")
             << stringifyCollectiveKind(op.getKind()) << " asynchronously";
    Type i32 = rewriter.getI32Type(), i64 = rewriter.getI64Type();
    auto constant = [&](Type type, int64_t value) -> Value {
      return LLVM::ConstantOp::create(rewriter, op.getLoc(), type, rewriter.getIntegerAttr(type, value));
    };
    SmallVector<Value> arguments{rankOf(rewriter, op), constant(i32, ppcrt::groupNumber(op, op.getGroupAttr()))};
    for (auto [buffers, descriptors] :
         {std::pair(ValueRange(op.getIns()), adaptor.getIns()), std::pair(ValueRange(op.getOuts()), adaptor.getOuts())})
      for (auto [buffer, descriptor] : llvm::zip_equal(buffers, descriptors))
        arguments.push_back(
            getStridedElementPtr(rewriter, op.getLoc(), cast<MemRefType>(buffer.getType()), descriptor, {}));
    auto out = cast<MemRefType>(op.getOuts().front().getType());
    auto counted = op.getKind() == Kind::AllGather ? cast<MemRefType>(op.getIns().front().getType()) : out;
    arguments.push_back(constant(i64, counted.getNumElements()));
    arguments.push_back(constant(i32, *ppcrt::elementTypeCode(out.getElementType())));
    if (op.getReduction())
      arguments.push_back(constant(i32, int32_t(*op.getReduction())));
    if (op.getShift())
      arguments.push_back(constant(i32, int64_t(*op.getShift())));
    std::string name = ("ppcrt_" + stringifyCollectiveKind(op.getKind()) + "_start").str();
    rewriter.replaceOp(op, callRuntime(rewriter, op, name, i64, arguments));
    return success();
  }
};

struct WaitLowering : ConvertOpToLLVMPattern<ppcrt::WaitOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(ppcrt::WaitOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    callRuntime(rewriter, op, "ppcrt_wait", {}, {rankOf(rewriter, op), adaptor.getToken()});
    rewriter.eraseOp(op);
    return success();
  }
};

struct ReachLowering : ConvertOpToLLVMPattern<ppcrt::ReachOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(ppcrt::ReachOp op, OpAdaptor, ConversionPatternRewriter &rewriter) const override {
    Value entry = LLVM::ConstantOp::create(rewriter, op.getLoc(), rewriter.getI64Type(), int64_t(op.getEntry()));
    callRuntime(rewriter, op, "ppcrt_reach", {}, {rankOf(rewriter, op), entry});
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void populateAsynchronous(LLVMTypeConverter &converter, RewritePatternSet &patterns) {
  converter.addConversion([](ppcrt::TokenType type) -> Type { return IntegerType::get(type.getContext(), 64); });
  patterns.add<StartLowering, WaitLowering, ReachLowering>(converter);
}

} // namespace mlir::ppc
