#include "test/CudaStandIn/Ptx/Type.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace ptx {
namespace {

struct Entry {
  std::string_view name;
  int bytes;
  bool isSigned, isFloat;
};

// In the order of the enumeration.
constexpr Entry entries[] = {
    {"pred", 0, false, false}, {"b8", 1, false, false},    {"b16", 2, false, false}, {"b32", 4, false, false},
    {"b64", 8, false, false},  {"b128", 16, false, false}, {"u8", 1, false, false},  {"u16", 2, false, false},
    {"u32", 4, false, false},  {"u64", 8, false, false},   {"s8", 1, true, false},   {"s16", 2, true, false},
    {"s32", 4, true, false},   {"s64", 8, true, false},    {"f16", 2, true, true},   {"f16x2", 4, true, true},
    {"bf16", 2, true, true},   {"bf16x2", 4, true, true},  {"tf32", 4, true, true},  {"f32", 4, true, true},
    {"f32x2", 8, true, true},  {"f64", 8, true, true},
};

// A format of 16 bits: `fraction` bits of it, exponents from `least` (of the smallest normal number) to `bias`.
struct Format {
  int fraction, bias;
  int least() const { return 1 - bias; }
  uint16_t infinity() const { return uint16_t((2 * bias + 1) << fraction); }
};
constexpr Format half{10, 15}, bfloat{7, 127};

uint16_t encode(double value, Format format, bool towardsZero) {
  if (std::isnan(value))
    return 0x7fff;
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  double magnitude = std::fabs(value);
  if (std::isinf(magnitude))
    return sign | format.infinity();
  if (magnitude == 0)
    return sign;
  int exponent = std::max(std::ilogb(magnitude), format.least());
  // In ulp: at most 2^(fraction + 1), exact before it is rounded.
  double units = std::ldexp(magnitude, format.fraction - exponent);
  double whole = towardsZero ? std::trunc(units) : std::nearbyint(units);
  // Adding the fraction to the exponent's field carries where rounding reached the next power of two.
  auto bits = uint32_t(exponent - format.least()) << format.fraction;
  bits += uint32_t(whole);
  if (bits >= format.infinity())
    bits = towardsZero ? format.infinity() - 1 : format.infinity();
  return uint16_t(sign | bits);
}

double decode(uint16_t bits, Format format) {
  int field = (bits & 0x7fff) >> format.fraction, fraction = bits & ((1 << format.fraction) - 1);
  double sign = bits & 0x8000 ? -1 : 1;
  if (field == 2 * format.bias + 1)
    return fraction ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  if (field == 0)
    return sign * std::ldexp(fraction, format.least() - format.fraction);
  return sign * std::ldexp(fraction + (1 << format.fraction), field - format.bias - format.fraction);
}

Half halfOf(uint16_t bits) { return bitsAs<Half>(bits); }
BFloat bfloatOf(uint16_t bits) { return bitsAs<BFloat>(bits); }

} // namespace

std::optional<Type> typeNamed(std::string_view name) {
  for (int i = 0; i < int(std::size(entries)); ++i)
    if (entries[i].name == name)
      return Type(i);
  return std::nullopt;
}

std::string_view nameOf(Type type) { return entries[int(type)].name; }
int bytesOf(Type type) { return entries[int(type)].bytes; }
bool isSigned(Type type) { return entries[int(type)].isSigned; }
bool isFloat(Type type) { return entries[int(type)].isFloat; }

Half::Half(double value) : bits(encode(value, half, false)) {}
Half::operator double() const { return decode(bits, half); }
BFloat::BFloat(double value) : bits(encode(value, bfloat, false)) {}
BFloat::operator double() const {
  return bitsAs<float>(uint32_t(bits) << 16); // the upper half of an f32
}
Half halfTowardsZero(double value) { return halfOf(encode(value, half, true)); }
BFloat bfloatTowardsZero(double value) { return bfloatOf(encode(value, bfloat, true)); }

} // namespace ptx
