// Functions whose loops are kernels in PTX, executed by the PTX emulator.
#ifndef PPC_TEST_LIB_KERNELPROGRAM_H
#define PPC_TEST_LIB_KERNELPROGRAM_H

#include "dialects/ppc/Ppc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace mlir::ppc::test {

/// Counterpart of HostProgram for kernels, on one rank. GEMMs, which a library executes on a GPU, are computed here;
/// functions that communicate are not executed.
class KernelProgram {
public:
  /// For a chip that cuda::chipNamed knows; the PTX is written to the file `ptx`, if one is named.
  static llvm::Expected<std::unique_ptr<KernelProgram>> compile(ModuleOp module, StringRef chip, StringRef ptx);
  ~KernelProgram();

  /// The op that keeps a function (of the module that was compiled) from being run, or nothing.
  std::string notExecuted(func::FuncOp function) const;
  /// Scratch and results start as bytes 0xff. What a kernel does wrong is an error.
  llvm::Expected<SmallVector<SmallVector<ReferenceTensor>>> run(func::FuncOp function,
                                                                ArrayRef<SmallVector<ReferenceTensor>> arguments);

private:
  struct State;
  explicit KernelProgram(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace mlir::ppc::test

#endif // PPC_TEST_LIB_KERNELPROGRAM_H
