// Normal form NFC of Unicode, which some tokenizers bring texts into: characters with marks become one character where
// there is one. https://www.unicode.org/reports/tr15
#pragma once

#include <string>
#include <string_view>

namespace ppcrt {

// `text` in the form NFC. It is valid UTF-8.
std::string composeCanonically(std::string_view text);

} // namespace ppcrt
