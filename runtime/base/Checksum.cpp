// The polynomial 0x1EDC6F41 in its reflected form, by instruction or by table.
#include "runtime/base/Checksum.h"

#include <array>
#include <cstring>

namespace ppcrt {
namespace {

constexpr std::array<uint32_t, 256> makeTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit)
      value = value >> 1 ^ (value & 1 ? 0x82F63B78u : 0u);
    table[byte] = value;
  }
  return table;
}
constexpr std::array<uint32_t, 256> table = makeTable();

uint32_t byTable(const unsigned char *data, size_t bytes, uint32_t state) {
  for (size_t i = 0; i < bytes; ++i)
    state = state >> 8 ^ table[(state ^ data[i]) & 255];
  return state;
}

#if defined(__x86_64__)
[[gnu::target("sse4.2")]] uint32_t byInstruction(const unsigned char *data, size_t bytes, uint32_t state) {
  uint64_t wide = state;
  for (; bytes >= 8; data += 8, bytes -= 8) {
    uint64_t word;
    std::memcpy(&word, data, 8);
    wide = __builtin_ia32_crc32di(wide, word);
  }
  return byTable(data, bytes, uint32_t(wide));
}
#endif

} // namespace

uint32_t crc32c(const void *data, size_t bytes) {
  auto *begin = static_cast<const unsigned char *>(data);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2"))
    return ~byInstruction(begin, bytes, ~0u);
#endif
  return ~byTable(begin, bytes, ~0u);
}

} // namespace ppcrt
