// The section `layout:` of a plan file: constraints, or an error that names the file.
#include "ppc/Planning/Files/LayoutFile.h"

#include <cstdint>
#include <cstdlib>

using namespace mlir::ppc;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  PlanConstraints constraints;
  llvm::Error error = parseLayoutFile("file", llvm::StringRef(reinterpret_cast<const char *>(data), size), constraints);
  if (error && llvm::toString(std::move(error)).rfind("file", 0) != 0)
    std::abort();
  return 0;
}
