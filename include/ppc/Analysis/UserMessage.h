// Diagnostics of passes, as tools say them to people who wrote a model and options, not IR.
#ifndef PPC_ANALYSIS_USERMESSAGE_H
#define PPC_ANALYSIS_USERMESSAGE_H

#include "mlir/IR/Diagnostics.h"

#include <string>

namespace mlir::ppc {

/// The text without the `'func.func' op` that ops put before what they say. It stays where people wrote the op
/// themselves: one of the ppc dialect, in a file with lines.
std::string userMessage(Diagnostic &diagnostic);
/// For handlers: an error as `FILE:LINE:COLUMN: message`, where `error` is empty; what is no error is left out.
void keepFirstError(Diagnostic &diagnostic, std::string &error);

} // namespace mlir::ppc

#endif // PPC_ANALYSIS_USERMESSAGE_H
