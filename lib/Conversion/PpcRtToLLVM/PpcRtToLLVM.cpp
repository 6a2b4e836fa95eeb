// ppc-rt-to-llvm: bufferized host code to the LLVM dialect in one conversion, runtime ops to calls of the C ABI.
#include "Patterns.h"
#include "ppc/Conversion/Passes.h"

#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_PPCRTTOLLVMPASS
#include "ppc/Conversion/Passes.h.inc"

LLVM::CallOp callRuntime(ConversionPatternRewriter &rewriter, Operation *op, StringRef name, Type result,
                         ValueRange arguments) {
  auto module = op->getParentOfType<ModuleOp>();
  auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!function) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(module.getBody());
    auto type = LLVM::LLVMFunctionType::get(result ? result : LLVM::LLVMVoidType::get(rewriter.getContext()),
                                            llvm::to_vector(arguments.getTypes()));
    function = LLVM::LLVMFuncOp::create(rewriter, module.getLoc(), name, type);
    function.setNoUnwind(true);
  }
  return LLVM::CallOp::create(rewriter, op->getLoc(), function, arguments);
}

LLVM::CallOp askRuntime(ConversionPatternRewriter &rewriter, Operation *op, StringRef name, Type result,
                        ValueRange arguments) {
  LLVM::CallOp call = callRuntime(rewriter, op, name, result, arguments);
  auto function = op->getParentOfType<ModuleOp>().lookupSymbol<LLVM::LLVMFuncOp>(name);
  auto none = LLVM::ModRefInfo::NoModRef;
  function.setWillReturn(true);
  function.setMemoryEffectsAttr(
      LLVM::MemoryEffectsAttr::get(rewriter.getContext(), {none, none, none, none, none, none}));
  return call;
}

namespace {
/// Moves loop annotations from discardable attributes of the closing branches to the form that LLVM reads.
void takeLoopAnnotations(ModuleOp module) {
  module.walk([](LLVM::BrOp branch) {
    if (auto annotation = branch->getAttrOfType<LLVM::LoopAnnotationAttr>("llvm.loop_annotation")) {
      branch->removeAttr("llvm.loop_annotation");
      branch.setLoopAnnotationAttr(annotation);
    }
  });
}

struct PpcRtToLLVMPass : impl::PpcRtToLLVMPassBase<PpcRtToLLVMPass> {
  void runOnOperation() override {
    // The runtime executes the program from the manifest.
    if (ppcrt::ProgramOp program = ppcrt::findProgram(getOperation()))
      program.erase();
    CallTables tables;
    if (failed(tables.extract(getOperation())))
      return signalPassFailure();
    takeRank(getOperation());
    LowerToLLVMOptions options(&getContext());
    options.useBarePtrCallConv = true;
    LLVMTypeConverter converter(&getContext(), options);
    RewritePatternSet patterns(&getContext());
    populateLibrary(converter, patterns);
    populateRuntimeCollective(converter, patterns);
    populateAsynchronous(converter, patterns);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    populateMathToLLVMConversionPatterns(converter, patterns);
    populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
    populateFuncToLLVMConversionPatterns(converter, patterns);
    LLVMConversionTarget target(getContext());
    target.addLegalOp<ModuleOp, ppcrt::GroupOp>();
    if (failed(applyFullConversion(getOperation(), target, std::move(patterns))))
      return signalPassFailure();
    takeLoopAnnotations(getOperation());
    makeEntries(getOperation(), tables);
    for (auto group : llvm::make_early_inc_range(getOperation().getOps<ppcrt::GroupOp>()))
      group.erase();
    // LLVM does not read the attributes of arguments and results.
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>()) {
      function.removeArgAttrsAttr();
      function.removeResAttrsAttr();
      // A callee is compiled once however many layers call it.
      if (!function.isExternal() && function.isPrivate())
        function.setNoInline(true);
    }
  }
};
} // namespace
} // namespace mlir::ppc
