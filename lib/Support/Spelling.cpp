#include "ppc/Support/Spelling.h"

#include "llvm/ADT/StringExtras.h"

namespace mlir::ppc {

bool hasLeadingZero(llvm::StringRef number) {
  number.consume_front("-") || number.consume_front("+");
  return number.size() > 1 && number[0] == '0' && llvm::isDigit(number[1]);
}

std::optional<int64_t> parseWhole(llvm::StringRef text) {
  int64_t value = 0;
  if (hasLeadingZero(text) || text.getAsInteger(10, value))
    return std::nullopt;
  return value;
}

} // namespace mlir::ppc
