// Passes over buffers, vectorised by the compiler.
#include "runtime/base/NotFinite.h"

#include <algorithm>
#include <cstring>

namespace ppcrt {
namespace {

// A value is not finite when all bits of its exponent are set. Blocks without one are told apart by an OR that the
// compiler can vectorise.
template <typename Word> int64_t find(const std::byte *data, int64_t count, Word exponent) {
  constexpr int64_t block = 1024;
  auto word = [&](int64_t i) {
    Word value;
    std::memcpy(&value, data + i * int64_t(sizeof(Word)), sizeof(Word));
    return value;
  };
  for (int64_t begin = 0; begin < count; begin += block) {
    int64_t end = std::min(count, begin + block);
    Word any = 0;
    for (int64_t i = begin; i < end; ++i)
      any |= Word((word(i) & exponent) == exponent);
    for (int64_t i = begin; any && i < end; ++i)
      if ((word(i) & exponent) == exponent)
        return i;
  }
  return -1;
}

} // namespace

int64_t firstNotFinite(const std::byte *data, DataType type, int64_t count) {
  switch (type) {
  case DataType::F32:
    return find<uint32_t>(data, count, 0x7f800000);
  case DataType::F64:
    return find<uint64_t>(data, count, 0x7ff0000000000000);
  case DataType::BF16:
    return find<uint16_t>(data, count, 0x7f80);
  case DataType::I32:
  case DataType::I64:
    break;
  }
  return -1;
}

} // namespace ppcrt
