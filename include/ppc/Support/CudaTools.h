// Programs of the CUDA Toolkit, which are optional: ptxas, nvdisasm.
#ifndef PPC_SUPPORT_CUDATOOLS_H
#define PPC_SUPPORT_CUDATOOLS_H

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace mlir::ppc {

/// The path of a program of the toolkit: that of the PATH, else of the toolkit that CUDA_HOME, CUDA_PATH or CUDA_ROOT
/// names, else of /usr/local/cuda. None: it is not installed.
std::optional<std::string> findCudaTool(llvm::StringRef name);

} // namespace mlir::ppc

#endif // PPC_SUPPORT_CUDATOOLS_H
