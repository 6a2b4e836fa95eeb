// The command line of a program: each error is one line that begins with "error:".
#ifndef PPC_SUPPORT_COMMANDLINE_H
#define PPC_SUPPORT_COMMANDLINE_H

#include "llvm/ADT/StringRef.h"

namespace mlir::ppc {

/// Reads the declared options (llvm::cl). False: wrong usage, which standard error names; the exit status is 2.
bool readCommandLine(int argc, const char *const *argv, llvm::StringRef overview);

} // namespace mlir::ppc

#endif // PPC_SUPPORT_COMMANDLINE_H
