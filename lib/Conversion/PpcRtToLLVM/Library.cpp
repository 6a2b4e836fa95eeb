// Calls into numerical libraries: a constant descriptor and three pointers.
#include "Patterns.h"

#include "dialects/ppcrt/PpcRt.h"

namespace mlir::ppc {
namespace {

/// The module's constant with these numbers; equal descriptors share one.
LLVM::GlobalOp descriptorGlobal(ConversionPatternRewriter &rewriter, ppcrt::GemmOp op, ArrayRef<int64_t> numbers) {
  auto module = op->getParentOfType<ModuleOp>();
  auto value = rewriter.getI64TensorAttr(numbers);
  std::string name = "ppc_gemm";
  for (int64_t number : numbers)
    name += "_" + std::to_string(number);
  if (auto present = module.lookupSymbol<LLVM::GlobalOp>(name))
    return present;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(module.getBody());
  auto type = LLVM::LLVMArrayType::get(rewriter.getI64Type(), numbers.size());
  return LLVM::GlobalOp::create(rewriter, op.getLoc(), type, /*isConstant=*/true, LLVM::Linkage::Private, name, value);
}

struct GemmLowering : ConvertOpToLLVMPattern<ppcrt::GemmOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(ppcrt::GemmOp op, OpAdaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    auto type = dyn_cast<MemRefType>(op.getOut().getType());
    if (!type)
      return rewriter.notifyMatchFailure(op, "works on tensors");
    Type element = cast<ShapedType>(op.getA().getType()).getElementType();
    SmallVector<int64_t> numbers{1, *ppcrt::elementTypeCode(element), op.getAccumulate()};
    if (element != type.getElementType() || element.isBF16()) {
      numbers.front() = 2;
      numbers.push_back(*ppcrt::elementTypeCode(type.getElementType()));
    }
    llvm::append_range(numbers, op.getSizes());
    llvm::append_range(numbers, op.getStrides());
    numbers.push_back(op.getLoops().size() / 4);
    llvm::append_range(numbers, op.getLoops());
    SmallVector<Value> arguments{LLVM::AddressOfOp::create(rewriter, op.getLoc(), descriptorGlobal(rewriter, op, numbers))};
    for (auto [buffer, descriptor] : llvm::zip(op->getOperands(), adaptor.getOperands()))
      arguments.push_back(getStridedElementPtr(rewriter, op.getLoc(), cast<MemRefType>(buffer.getType()), descriptor, {}));
    callRuntime(rewriter, op, "ppcrt_gemm", {}, arguments);
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void populateLibrary(const LLVMTypeConverter &converter, RewritePatternSet &patterns) { patterns.add<GemmLowering>(converter); }

} // namespace mlir::ppc
