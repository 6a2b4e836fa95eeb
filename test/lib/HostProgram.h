// A module compiled for the host in this process, and run on any number of ranks, which are threads here.
#ifndef PPC_TEST_LIB_HOSTPROGRAM_H
#define PPC_TEST_LIB_HOSTPROGRAM_H

#include "dialects/ppc/Ppc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace mlir::ppc::test {

/// Functions of a ppc program (as the partition phase leaves them) as machine code. This file implements the runtime's
/// functions: plain loops, and collectives between threads over one group of all ranks.
class HostProgram {
public:
  /// Compiles `module`, which stays as it is. Errors of the passes are diagnostics.
  static llvm::Expected<std::unique_ptr<HostProgram>> compile(ModuleOp module);
  ~HostProgram();

  /// Reason why a function cannot be run; always empty.
  std::string notExecuted(func::FuncOp) const { return ""; }

  /// Runs `function` (of the module that was compiled) on `arguments[r]` for each rank r. Buffers are followed by
  /// guards, and scratch and results start as NaN.
  llvm::Expected<SmallVector<SmallVector<ReferenceTensor>>> run(func::FuncOp function,
                                                                ArrayRef<SmallVector<ReferenceTensor>> arguments);

private:
  struct State;
  explicit HostProgram(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace mlir::ppc::test

#endif // PPC_TEST_LIB_HOSTPROGRAM_H
