// Texts that people write: whole numbers as they are written, and names that are nearly right.
#ifndef PPC_SUPPORT_SPELLING_H
#define PPC_SUPPORT_SPELLING_H

#include "ppc/Support/NearestName.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace mlir::ppc {

/// Parses an integer of decimal digits, with or without a minus; std::nullopt for spellings that readers interpret
/// differently: leading zeros (octal for some), a plus, a point.
std::optional<int64_t> parseWhole(llvm::StringRef text);
/// Returns whether a number begins with a redundant zero: "010", "-007.5".
bool hasLeadingZero(llvm::StringRef number);

} // namespace mlir::ppc

#endif // PPC_SUPPORT_SPELLING_H
