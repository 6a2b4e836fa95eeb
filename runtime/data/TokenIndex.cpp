// Reading and checking an index.
#include "runtime/data/TokenIndex.h"
#include "runtime/base/Error.h"

#include <cstring>
#include <optional>

namespace ppcrt {
namespace {

constexpr std::string_view magic("MMIDIDX\0\0", 9);
constexpr int64_t headerBytes = 9 + 8 + 1 + 8 + 8;

template <typename T> T valueAt(std::string_view text, int64_t offset) {
  T value;
  std::memcpy(&value, text.data() + offset, sizeof value);
  return value;
}

// Megatron-LM numbers the types of numpy.
std::optional<TokenType> typeOfCode(int code) {
  switch (code) {
  case 1:
    return TokenType::UInt8;
  case 2:
    return TokenType::Int8;
  case 3:
    return TokenType::Int16;
  case 4:
    return TokenType::Int32;
  case 5:
    return TokenType::Int64;
  case 8:
    return TokenType::UInt16;
  default:
    return std::nullopt;
  }
}

} // namespace

bool isTokenIndex(std::string_view text) { return text.substr(0, magic.size()) == magic; }

TokenIndex parseTokenIndex(std::string_view text, int64_t dataBytes, const std::string &path) {
  const char *file = path.c_str();
  auto size = int64_t(text.size());
  if (!isTokenIndex(text))
    throw InputError(format("%s is not an index of Megatron-LM: it does not begin with MMIDIDX", file));
  if (size < headerBytes)
    throw InputError(
        format("%s is truncated: %lld bytes, its header has %lld", file, (long long)size, (long long)headerBytes));
  if (auto version = valueAt<uint64_t>(text, 9); version != 1)
    throw InputError(
        format("%s has version %llu of the format, this runtime reads version 1", file, (unsigned long long)version));
  int code = valueAt<uint8_t>(text, 17);
  std::optional<TokenType> type = typeOfCode(code);
  if (!type)
    throw InputError(format("%s: type code %d is none of integer tokens (1 to 5, 8)", file, code));
  auto sequences = valueAt<uint64_t>(text, 18), documents = valueAt<uint64_t>(text, 26);
  uint64_t room = uint64_t(size - headerBytes);
  if (sequences > room / 12 || documents > (room - 12 * sequences) / 8)
    throw InputError(format("%s is truncated: %lld bytes do not hold its %llu sequences and %llu documents", file,
                            (long long)size, (unsigned long long)sequences, (unsigned long long)documents));
  TokenIndex index{*type, int64_t(sequences), 0};
  int64_t bytes = tokenTypeBytes[int(*type)], lengths = headerBytes, positions = lengths + 4 * index.sequences;
  for (int64_t i = 0; i < index.sequences; ++i) {
    auto length = valueAt<int32_t>(text, lengths + 4 * i);
    auto position = valueAt<int64_t>(text, positions + 8 * i);
    if (length < 0)
      throw InputError(format("%s: sequence %lld has length %d", file, (long long)i, length));
    if (position != index.tokens * bytes)
      throw InputError(format("%s: sequence %lld begins at byte %lld, but the one before ends at %lld: only sequences "
                              "that follow each other are read",
                              file, (long long)i, (long long)position, (long long)(index.tokens * bytes)));
    index.tokens += length;
  }
  if (index.tokens * bytes != dataBytes)
    throw InputError(format("%s describes %lld tokens of %s, %lld bytes, but the file beside it has %lld: they do not "
                            "belong together, or one is truncated",
                            file, (long long)index.tokens, tokenTypeNames[int(*type)],
                            (long long)(index.tokens * bytes), (long long)dataBytes));
  return index;
}

} // namespace ppcrt
