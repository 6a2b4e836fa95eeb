#include "ppc/Support/CudaTools.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

namespace mlir::ppc {

std::optional<std::string> findCudaTool(llvm::StringRef name) {
  if (auto path = llvm::sys::findProgramByName(name))
    return *path;
  llvm::SmallVector<std::string> toolkits;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"})
    if (std::optional<std::string> toolkit = llvm::sys::Process::GetEnv(variable); toolkit && !toolkit->empty())
      toolkits.push_back(*toolkit);
  toolkits.push_back("/usr/local/cuda");
  for (const std::string &toolkit : toolkits) {
    llvm::SmallString<128> path(toolkit);
    llvm::sys::path::append(path, "bin", name);
    if (llvm::sys::fs::can_execute(path))
      return path.str().str();
  }
  return std::nullopt;
}

} // namespace mlir::ppc
