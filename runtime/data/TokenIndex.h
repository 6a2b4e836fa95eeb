// The .idx file that Megatron-LM writes beside its .bin: the type of the tokens, and where each sequence lies. Little
// endian: "MMIDIDX\0\0", version 1 (8 bytes), type (1), sequences n (8), documents d (8), lengths (n x 4, in tokens),
// positions (n x 8, in bytes), documents' first sequences (d x 8), and in files of several modes n bytes more.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ppcrt {

enum class TokenType { UInt8, Int8, UInt16, Int16, UInt32, Int32, Int64 };
inline constexpr const char *tokenTypeNames[] = {"uint8", "int8", "uint16", "int16", "uint32", "int32", "int64"};
inline constexpr int64_t tokenTypeBytes[] = {1, 1, 2, 2, 4, 4, 8};

struct TokenIndex {
  TokenType type;
  int64_t sequences = 0;
  int64_t tokens = 0;
};

// Whether `text` begins as such a file does.
bool isTokenIndex(std::string_view text);

// Checks that the sequences cover the `dataBytes` of the .bin file one after the other, without holes. Throws
// InputError naming `path` for anything else.
TokenIndex parseTokenIndex(std::string_view text, int64_t dataBytes, const std::string &path);

} // namespace ppcrt
