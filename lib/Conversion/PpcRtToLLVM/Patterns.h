// The pattern families of ppc-rt-to-llvm.
#ifndef PPC_LIB_CONVERSION_PPCRTTOLLVM_PATTERNS_H
#define PPC_LIB_CONVERSION_PPCRTTOLLVM_PATTERNS_H

#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::ppc {

/// Prefix of names of the C ABI.
inline constexpr StringRef kRuntimePrefix = "ppcrt_";

/// Gives every function of the module, and every runtime function that is called already, a first argument for the
/// rank that it runs as, and forwards it at calls. Before conversion.
void takeRank(ModuleOp module);
/// The rank that `op` runs as: the first argument of its function.
Value rankOf(ConversionPatternRewriter &rewriter, Operation *op);

/// Calls the runtime function `name` of the C ABI, which it declares in the module when needed.
LLVM::CallOp callRuntime(ConversionPatternRewriter &rewriter, Operation *op, StringRef name, Type result,
                         ValueRange arguments);
/// Calls a runtime function that queries the rank, whose answer never changes.
LLVM::CallOp askRuntime(ConversionPatternRewriter &rewriter, Operation *op, StringRef name, Type result,
                        ValueRange arguments);

void populateLibrary(const LLVMTypeConverter &converter, RewritePatternSet &patterns);
/// Patterns for communication that is started and waited for, and for ppcrt.reach.
void populateAsynchronous(LLVMTypeConverter &converter, RewritePatternSet &patterns);
void populateRuntimeCollective(const LLVMTypeConverter &converter, RewritePatternSet &patterns);

/// The functions of a stage that only call compiled functions (`ppcrt.call`), as tables: callee, number of
/// operands, and for each operand the number of a buffer of the stage's function and an offset in bytes. `ppcrt.reach`
/// is a callee without operands.
class CallTables {
public:
  /// Takes such functions out of the module, before conversion.
  LogicalResult extract(ModuleOp module);
  /// Adds them again, as entries that make the calls of a table. `makeEntry` wraps a callee in a function that
  /// takes the rank and an array of addresses.
  void emit(ModuleOp module, function_ref<LLVM::LLVMFuncOp(LLVM::LLVMFuncOp, StringRef)> makeEntry);

private:
  struct Table {
    StringAttr name;
    int64_t calls = 0;
    SmallVector<int64_t> numbers;
  };
  SmallVector<Table> tables;
  llvm::SetVector<StringAttr> bodies;
  DenseMap<StringAttr, int64_t> reaches; ///< callees that complete an entry of `early`, with its number
  int64_t mostOperands = 0;
};

/// Makes the functions with `ppcrt.routine`, and those of `tables`, entries `void name(ppcrt_rank *rank, void
/// **buffers)`, and everything else internal.
void makeEntries(ModuleOp module, CallTables &tables);

} // namespace mlir::ppc

#endif // PPC_LIB_CONVERSION_PPCRTTOLLVM_PATTERNS_H
