// Element types of PTX instructions, and the numbers of 16 bits among them.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace ptx {

enum class Type : uint8_t {
  Pred,
  B8,
  B16,
  B32,
  B64,
  B128,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  F16x2,
  BF16,
  BF16x2,
  TF32,
  F32,
  F32x2,
  F64,
};

// The type of that name in the instruction set, without the dot: "u32".
std::optional<Type> typeNamed(std::string_view name);
std::string_view nameOf(Type type);
// Size in memory; a predicate has none (0).
int bytesOf(Type type);
bool isSigned(Type type);
bool isFloat(Type type);

template <class To, class From> To bitsAs(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

// IEEE half precision and bfloat16: bits, exact to f64, and rounded to nearest even from f64. A NaN becomes the
// canonical one of PTX, 0x7fff.
struct Half {
  uint16_t bits = 0;
  Half() = default;
  explicit Half(double value);
  explicit operator double() const;
};
struct BFloat {
  uint16_t bits = 0;
  BFloat() = default;
  explicit BFloat(double value);
  explicit operator double() const;
};
// Towards zero, as `cvt.rz` does.
Half halfTowardsZero(double value);
BFloat bfloatTowardsZero(double value);

} // namespace ptx
