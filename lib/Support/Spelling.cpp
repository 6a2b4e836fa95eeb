#include "ppc/Support/Spelling.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>

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

std::string didYouMean(llvm::StringRef given, llvm::ArrayRef<std::string> names) {
  // As many wrong letters as a slip leaves: other words are other wishes.
  const unsigned most = std::max<unsigned>(1, unsigned(std::min<size_t>(given.size(), 12)) / 4);
  unsigned least = most + 1;
  const std::string *nearest = nullptr;
  for (const std::string &name : names) {
    unsigned distance = llvm::StringRef(given.lower()).edit_distance(llvm::StringRef(name).lower(), true, most);
    if (distance < least && name != given && name.size() > 1)
      least = distance, nearest = &name;
  }
  return nearest ? "; did you mean \"" + *nearest + "\"?" : "";
}

} // namespace mlir::ppc
