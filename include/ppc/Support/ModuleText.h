// Checks of MLIR text before MLIR reads it: its parser, its printer and its walks are recursive.
#ifndef PPC_SUPPORT_MODULETEXT_H
#define PPC_SUPPORT_MODULETEXT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace mlir::ppc {

/// Errors (`NAME:LINE:COLUMN: ...`): more than limits::moduleBytes; brackets of any kind, operators of an affine
/// expression, or aliases through other aliases nested deeper than limits::nesting; aliases that written out are longer
/// than limits::expandedAliases (each may stand for many others). Text that is not MLIR is left to the parser.
llvm::Error checkModuleText(llvm::StringRef name, llvm::StringRef text);

} // namespace mlir::ppc

#endif // PPC_SUPPORT_MODULETEXT_H
