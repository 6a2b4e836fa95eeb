// The pattern families of ppc-rt-to-llvm.
#ifndef PPC_LIB_CONVERSION_PPCRTTOLLVM_PATTERNS_H
#define PPC_LIB_CONVERSION_PPCRTTOLLVM_PATTERNS_H

#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::ppc {

/// Calls the runtime function `name` of the C ABI, which it declares in the module when needed.
LLVM::CallOp callRuntime(ConversionPatternRewriter &rewriter, Operation *op, StringRef name, Type result, ValueRange arguments);

void populateLibrary(const LLVMTypeConverter &converter, RewritePatternSet &patterns);
void populateRuntimeCollective(const LLVMTypeConverter &converter, RewritePatternSet &patterns);

/// Makes the functions with `ppc.action` entries `void name(void **buffers)`, and everything else internal.
void makeEntries(ModuleOp module);

} // namespace mlir::ppc

#endif // PPC_LIB_CONVERSION_PPCRTTOLLVM_PATTERNS_H
