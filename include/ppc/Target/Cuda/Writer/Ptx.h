//===- Ptx.h - Kernels as PTX ---------------------------------------------===//
//
// From kernels (Kernel.h) to PTX in this process, with LLVM's NVPTX back end; no CUDA Toolkit is needed. Mathematical
// functions are expanded before, since without the toolkit there is no libdevice: exponentials and quotients to what
// the machine has, within a few units in the last place, others to upstream's polynomial approximations, powers in f64.
//
//===----------------------------------------------------------------------===//
#ifndef PPC_TARGET_CUDA_WRITER_PTX_H
#define PPC_TARGET_CUDA_WRITER_PTX_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Error.h"

namespace mlir::ppc::cuda {

/// A kind of processor, and the version of PTX that is written for it.
struct Chip {
  std::string name; // "sm_80"
  unsigned version; // 80 for 8.0
};
/// The chips that PPC compiles for, each with the lowest version that its kernels need: sm_80 and sm_90a 8.0,
/// sm_100a 8.6.
ArrayRef<Chip> knownChips();
/// By name. The error lists the known ones; LLVM would abort for a pair of chip and version that does not exist.
llvm::Expected<Chip> chipNamed(StringRef name);

/// Passes that lower the bodies of kernels to the LLVM and NVVM dialects.
void buildLowerKernels(OpPassManager &pm);

/// The PTX of a module of kernels, which buildLowerKernels has lowered.
llvm::Expected<std::string> emitPtx(ModuleOp kernels, const Chip &chip);

} // namespace mlir::ppc::cuda

#endif // PPC_TARGET_CUDA_WRITER_PTX_H
