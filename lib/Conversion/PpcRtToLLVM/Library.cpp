// Calls into numerical libraries: a constant descriptor and three pointers.
#include "Patterns.h"

#include "dialects/ppcrt/PpcRt.h"

namespace mlir::ppc {
namespace {

/// The module's constant with these numbers; equal descriptors share one.
LLVM::GlobalOp descriptorGlobal(ConversionPatternRewriter &rewriter, Operation *op, StringRef prefix,
                                ArrayRef<int64_t> numbers) {
  auto module = op->getParentOfType<ModuleOp>();
  auto value = rewriter.getI64TensorAttr(numbers);
  std::string name = prefix.str();
  for (int64_t number : numbers)
    name += "_" + std::to_string(number);
  if (auto present = module.lookupSymbol<LLVM::GlobalOp>(name))
    return present;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(module.getBody());
  auto type = LLVM::LLVMArrayType::get(rewriter.getI64Type(), numbers.size());
  return LLVM::GlobalOp::create(rewriter, op->getLoc(), type, /*isConstant=*/true, LLVM::Linkage::Private, name, value);
}

struct GemmLowering : ConvertOpToLLVMPattern<ppcrt::GemmOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(ppcrt::GemmOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!isa<MemRefType>(op.getOut().getType()))
      return rewriter.notifyMatchFailure(op, "works on tensors");
    SmallVector<Value> arguments{LLVM::AddressOfOp::create(
        rewriter, op.getLoc(), descriptorGlobal(rewriter, op, "ppc_gemm", ppcrt::gemmDescriptor(op)))};
    for (auto [buffer, descriptor] : llvm::zip(op->getOperands(), adaptor.getOperands()))
      arguments.push_back(
          getStridedElementPtr(rewriter, op.getLoc(), cast<MemRefType>(buffer.getType()), descriptor, {}));
    callRuntime(rewriter, op, "ppcrt_gemm", {}, arguments);
    rewriter.eraseOp(op);
    return success();
  }
};

/// ppcrt_attention(descriptor, scale, position of the first query, q, k, v, slopes or null, ...), and its backward form
/// with the slopes after the inputs too.
template <typename OpTy> struct AttentionLowering : ConvertOpToLLVMPattern<OpTy> {
  using ConvertOpToLLVMPattern<OpTy>::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(OpTy op, typename OpTy::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    constexpr bool backward = std::is_same_v<OpTy, ppcrt::AttentionBackwardOp>;
    auto q = dyn_cast<MemRefType>(op.getIns()[0].getType());
    if (!q)
      return rewriter.notifyMatchFailure(op, "works on tensors");
    auto v = cast<MemRefType>(op.getIns()[2].getType());
    Location loc = op.getLoc();
    int64_t numbers[] = {2,
                         *ppcrt::elementTypeCode(q.getElementType()),
                         q.getDimSize(0),
                         q.getDimSize(1),
                         v.getDimSize(1),
                         q.getDimSize(2),
                         q.getDimSize(3),
                         q.getDimSize(4),
                         v.getDimSize(3),
                         op.getCausal(),
                         int64_t(op.getWindow().value_or(0))};
    SmallVector<Value> arguments{
        LLVM::AddressOfOp::create(rewriter, loc, descriptorGlobal(rewriter, op, "ppc_attention", numbers)),
        LLVM::ConstantOp::create(rewriter, loc, op.getScaleAttr()),
        op.getFirst()
            ? adaptor.getFirst()
            : LLVM::ConstantOp::create(rewriter, loc, rewriter.getI64IntegerAttr(v.getDimSize(1) - q.getDimSize(1)))};
    auto add = [&](OperandRange buffers, ValueRange descriptors) {
      for (auto [buffer, descriptor] : llvm::zip(buffers, descriptors))
        arguments.push_back(
            this->getStridedElementPtr(rewriter, loc, cast<MemRefType>(buffer.getType()), descriptor, {}));
    };
    add(op.getIns(), adaptor.getIns());
    if (op.getIns().size() == (backward ? 6 : 3))
      arguments.push_back(LLVM::ZeroOp::create(rewriter, loc, LLVM::LLVMPointerType::get(rewriter.getContext())));
    add(op.getOuts(), adaptor.getOuts());
    callRuntime(rewriter, op, backward ? "ppcrt_attention_backward" : "ppcrt_attention", {}, arguments);
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void populateLibrary(const LLVMTypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<GemmLowering, AttentionLowering<ppcrt::AttentionOp>, AttentionLowering<ppcrt::AttentionBackwardOp>>(
      converter);
}

} // namespace mlir::ppc
