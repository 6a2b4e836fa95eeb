// Translation of the LLVM dialect to optimised LLVM IR for this or another x86 machine.
#ifndef PPC_CODEGEN_HOSTMODULE_H
#define PPC_CODEGEN_HOSTMODULE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm

namespace mlir::ppc {

/// The machine that the code of the CPU backend runs on.
struct HostTargetOptions {
  /// A processor of LLVM's list such as "x86-64-v3" or "znver4"; "native" is the one that runs the compiler.
  std::string cpu = "native";
  /// 0 to 3, as clang's -O.
  unsigned optimize = 3;
};

/// The target machine, or an error that names the processor that LLVM does not know.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>> hostTargetMachine(const HostTargetOptions &options);

/// Translates a module of the LLVM dialect.
llvm::Expected<std::unique_ptr<llvm::Module>> translateForHost(ModuleOp module, llvm::LLVMContext &context,
                                                               llvm::TargetMachine &machine);

/// Runs LLVM's standard pipeline.
void optimizeForHost(llvm::Module &module, llvm::TargetMachine &machine, unsigned level);

} // namespace mlir::ppc

#endif // PPC_CODEGEN_HOSTMODULE_H
