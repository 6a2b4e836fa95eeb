// The section `layout:` of a plan file: constraints, or an error that names the file.
#include "Subject.h"
#include "ppc/Planning/Files/LayoutFile.h"

#include <cstdint>
#include <cstdlib>

using namespace mlir::ppc;

PPC_FUZZ_SUBJECT(LayoutFile) {
  PlanConstraints constraints;
  llvm::Error error = parseLayoutFile("file", llvm::StringRef(reinterpret_cast<const char *>(data), size), constraints);
  if (error && llvm::toString(std::move(error)).rfind("file", 0) != 0)
    std::abort();
  return 0;
}
