// Diagnostics of passes, worded for users who wrote a model and options, not IR.
#ifndef PPC_ANALYSIS_USERMESSAGE_H
#define PPC_ANALYSIS_USERMESSAGE_H

#include "mlir/IR/Diagnostics.h"

#include <string>

namespace mlir::ppc {

/// Returns the text without the `'func.func' op` that ops put before their messages. It stays if users wrote the op
/// themselves: one of the ppc dialect, in a file with lines.
std::string userMessage(Diagnostic &diagnostic);
/// For handlers: stores an error as `FILE:LINE:COLUMN: message` if `error` is empty; other diagnostics are dropped.
void keepFirstError(Diagnostic &diagnostic, std::string &error);

} // namespace mlir::ppc

#endif // PPC_ANALYSIS_USERMESSAGE_H
