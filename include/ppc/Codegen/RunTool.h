// External programs that a compilation runs: a linker, an assembler.
#ifndef PPC_CODEGEN_RUNTOOL_H
#define PPC_CODEGEN_RUNTOOL_H

#include "mlir/Support/LLVM.h"
#include "llvm/Support/Error.h"

#include <string>

namespace mlir::ppc {

/// Runs `arguments`, of which the first is the program's path, and returns its output. Error: it failed; with the
/// command line and its output.
llvm::Expected<std::string> runTool(ArrayRef<StringRef> arguments);

} // namespace mlir::ppc

#endif // PPC_CODEGEN_RUNTOOL_H
