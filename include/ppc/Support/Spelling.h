// Texts that people write: whole numbers as they are written, and names that are nearly right.
#ifndef PPC_SUPPORT_SPELLING_H
#define PPC_SUPPORT_SPELLING_H

#include "ppc/Support/NearestName.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace mlir::ppc {

/// A whole number of decimal digits, with a minus before it or not; nothing for what readers take differently: leading
/// zeros (octal for some), a plus, a point.
std::optional<int64_t> parseWhole(llvm::StringRef text);
/// Whether a number begins with a zero that is no digit of it: "010", "-007.5".
bool hasLeadingZero(llvm::StringRef number);

} // namespace mlir::ppc

#endif // PPC_SUPPORT_SPELLING_H
