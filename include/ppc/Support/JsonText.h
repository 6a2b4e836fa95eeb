// Checks of JSON text before a recursive parser reads it.
#ifndef PPC_SUPPORT_JSONTEXT_H
#define PPC_SUPPORT_JSONTEXT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace mlir::ppc {

/// Errors (`NAME:LINE:COLUMN: ...`): more than limits::jsonBytes; nested deeper than limits::nesting; a key twice in
/// one object, of which parsers silently take one; NaN and Infinity, which Python writes. Text that is otherwise not
/// JSON is left to the parser.
llvm::Error checkJsonText(llvm::StringRef name, llvm::StringRef text);

} // namespace mlir::ppc

#endif // PPC_SUPPORT_JSONTEXT_H
