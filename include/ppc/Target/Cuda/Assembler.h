//===- Assembler.h - Kernels as machine code ------------------------------===//
//
// NVIDIA's assembler, where it is installed: PTX becomes machine code of one chip, and it says what kernels take. What
// is not assembled here, the driver assembles when a program starts.
//
//===----------------------------------------------------------------------===//
#ifndef PPC_TARGET_CUDA_ASSEMBLER_H
#define PPC_TARGET_CUDA_ASSEMBLER_H

#include "ppc/Target/Cuda/Writer/Ptx.h"

#include <optional>

namespace mlir::ppc::cuda {

/// The path of ptxas (ppc/Support/CudaTools.h). None: it is not installed.
std::optional<std::string> findAssembler();

/// What a thread, or a block, of a kernel takes.
struct KernelResources {
  std::string kernel;
  int64_t registers = 0;  // of a thread
  int64_t spillBytes = 0; // of a thread: written to memory for want of registers, and read again
  int64_t sharedBytes = 0;
};

struct Assembled {
  std::string machineCode; // a cubin
  std::vector<KernelResources> kernels;
};

/// Error: what the assembler says.
llvm::Expected<Assembled> assemble(StringRef assembler, StringRef ptx, const Chip &chip);

/// What the assembler prints of its kernels (`-v`).
std::vector<KernelResources> readResources(StringRef log);

} // namespace mlir::ppc::cuda

#endif // PPC_TARGET_CUDA_ASSEMBLER_H
