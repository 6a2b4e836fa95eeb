#include "ppc/Analysis/UserMessage.h"

#include "mlir/IR/Location.h"

using namespace mlir;

std::string mlir::ppc::userMessage(Diagnostic &diagnostic) {
  std::string text = diagnostic.str();
  StringRef rest = text;
  if (!rest.consume_front("'"))
    return text;
  auto [op, message] = rest.split("' op ");
  if (message.empty() || op.find_first_of(" '") != StringRef::npos || !op.contains('.'))
    return text;
  bool isWritten = op.starts_with("ppc.") && diagnostic.getLocation()->findInstanceOf<FileLineColLoc>();
  return isWritten ? text : message.str();
}

void mlir::ppc::keepFirstError(Diagnostic &diagnostic, std::string &error) {
  if (diagnostic.getSeverity() != DiagnosticSeverity::Error || !error.empty())
    return;
  llvm::raw_string_ostream os(error);
  if (auto location = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>())
    os << location.getFilename().getValue() << ":" << location.getLine() << ":" << location.getColumn() << ": ";
  os << userMessage(diagnostic);
}
