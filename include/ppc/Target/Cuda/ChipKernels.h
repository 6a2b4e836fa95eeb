//===- ChipKernels.h - Kernels that only one chip runs ---------------------===//
//
// The module `kernels` is for all chips. A chip that can do better has a module beside it, `kernels_sm_90a`, with
// kernels of the same names: these run in the place of those, with the same operands, which they read and write in the
// same way, in blocks of their own. How they are launched is in their attributes.
//
//===----------------------------------------------------------------------===//
#ifndef PPC_TARGET_CUDA_CHIPKERNELS_H
#define PPC_TARGET_CUDA_CHIPKERNELS_H

#include "ppc/Target/Cuda/Writer/Kernel.h"
#include "ppc/Target/Cuda/Writer/Ptx.h"

namespace mlir::ppc::cuda {

/// A tensor map by the place of its buffer among the operands (KernelTensorMap).
struct LaunchTensorMap {
  int64_t operand = 0;
  SmallVector<int64_t> sizes, strides, box;
};

/// How a kernel is launched on one chip.
struct ChipLaunch {
  StringRef chip; // empty: on all that have none of their own
  int64_t blocks = 1, threads = 1, sharedBytes = 0;
  int64_t flops = 0; // of a chip's own kernel
  std::vector<LaunchTensorMap> maps;
};

/// The module of a chip, made where it is missing.
ModuleOp chipModule(ModuleOp module, StringRef chip);
/// Writes into a kernel of such a module how it is launched.
void setLaunch(ModuleOp kernels, const Kernel &kernel, int64_t flops);

/// How a launch of `module`, "kernel blocks threads", is done on a chip; `chip` is not empty if it has a kernel of its
/// own.
ChipLaunch launchOn(ModuleOp module, StringRef kernel, int64_t blocks, int64_t threads, StringRef chip);
/// Of all chips with a kernel of their own.
std::vector<ChipLaunch> chipLaunches(ModuleOp module, StringRef kernel);

/// The kernels that a chip runs, as a module of their own; null where there are none.
OwningOpRef<ModuleOp> kernelsOn(ModuleOp module, const Chip &chip);

} // namespace mlir::ppc::cuda

#endif // PPC_TARGET_CUDA_CHIPKERNELS_H
