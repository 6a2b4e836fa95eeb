//===- Assembler.h - Kernels as machine code ------------------------------===//
//
// NVIDIA's assembler, where it is installed: it turns PTX into machine code of one chip and reports the resources of
// each kernel. The driver assembles the remaining PTX when a program starts.
//
//===----------------------------------------------------------------------===//
#ifndef PPC_TARGET_CUDA_ASSEMBLER_H
#define PPC_TARGET_CUDA_ASSEMBLER_H

#include "ppc/Target/Cuda/Ptx.h"

#include <optional>

namespace mlir::ppc::cuda {

/// The path of ptxas (ppc/Support/CudaTools.h). None: it is not installed.
std::optional<std::string> findAssembler();

/// Resources of one kernel, per thread or per block.
struct KernelResources {
  std::string kernel;
  int64_t registers = 0;  // per thread
  int64_t spillBytes = 0; // per thread: bytes written to memory for want of registers, and read back
  int64_t sharedBytes = 0;
};

struct Assembled {
  std::string machineCode; // a cubin
  std::vector<KernelResources> kernels;
};

/// Error: what the assembler says.
llvm::Expected<Assembled> assemble(StringRef assembler, StringRef ptx, const Chip &chip);

/// Parses the resource report that the assembler prints for its kernels (`-v`).
std::vector<KernelResources> readResources(StringRef log);

} // namespace mlir::ppc::cuda

#endif // PPC_TARGET_CUDA_ASSEMBLER_H
