// Conversions between types, and between addresses of spaces.
#include "test/CudaStandIn/Ptx/Decode.h"

#include "test/CudaStandIn/Ptx/Block.h"

#include <cmath>
#include <iterator>
#include <limits>

namespace ptx {
namespace {

// How a conversion rounds: variant bits 0 to 2; bit 3 .relu, bit 4 .satfinite.
enum Rounding : uint32_t { Nearest, Zero, Down, Up, IntegerNearest, IntegerZero, IntegerDown, IntegerUp };
constexpr const char *roundingNames[] = {"rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi"};
constexpr uint32_t relu = 8, finite = 16;

// A value of any type: whole numbers exactly, others as f64.
struct Value {
  bool isFloat;
  __int128 integer;
  double number;
};

Value load(Type type, uint64_t bits) {
  switch (type) {
  case Type::U8:
  case Type::B8:
    return {false, uint8_t(bits), 0};
  case Type::S8:
    return {false, int8_t(bits), 0};
  case Type::U16:
  case Type::B16:
    return {false, uint16_t(bits), 0};
  case Type::S16:
    return {false, int16_t(bits), 0};
  case Type::U32:
  case Type::B32:
    return {false, uint32_t(bits), 0};
  case Type::S32:
    return {false, int32_t(bits), 0};
  case Type::U64:
  case Type::B64:
    return {false, bits, 0};
  case Type::S64:
    return {false, int64_t(bits), 0};
  case Type::F16:
    return {true, 0, double(bitsAs<Half>(uint16_t(bits)))};
  case Type::BF16:
    return {true, 0, double(bitsAs<BFloat>(uint16_t(bits)))};
  case Type::F32:
  case Type::TF32:
    return {true, 0, bitsAs<float>(uint32_t(bits))};
  case Type::F64:
    return {true, 0, bitsAs<double>(bits)};
  default:
    return {false, 0, 0};
  }
}

double roundToWhole(double value, uint32_t mode) {
  switch (mode) {
  case IntegerZero:
    return std::trunc(value);
  case IntegerDown:
    return std::floor(value);
  case IntegerUp:
    return std::ceil(value);
  default:
    return std::nearbyint(value);
  }
}

float single(double value, uint32_t mode) {
  auto result = float(value);
  if (std::isnan(value) || double(result) == value)
    return std::isnan(value) ? bitsAs<float>(0x7fffffffu) : result;
  bool tooFar = mode == Zero   ? std::fabs(double(result)) > std::fabs(value)
                : mode == Down ? double(result) > value
                : mode == Up   ? double(result) < value
                               : false;
  if (tooFar)
    return std::nextafter(result, mode == Zero ? 0.0f : mode == Down ? -INFINITY : INFINITY);
  bool tooNear = (mode == Down && double(result) == INFINITY) || (mode == Up && double(result) == -INFINITY);
  return tooNear ? std::copysign(std::numeric_limits<float>::max(), result) : result;
}

uint64_t integerFrom(const Instruction &instruction, const Value &value) {
  int bits = 8 * bytesOf(instruction.type);
  bool sign = isSigned(instruction.type);
  __int128 low = sign ? -(__int128(1) << (bits - 1)) : 0, high = (__int128(1) << (sign ? bits - 1 : bits)) - 1;
  if (!value.isFloat) {
    __int128 result = value.integer;
    if (instruction.saturates)
      result = result < low ? low : result > high ? high : result;
    // Truncated to the type, and sign-extended to the width of the register.
    auto cut = uint64_t(result) << (64 - bits);
    return sign ? uint64_t(int64_t(cut) >> (64 - bits)) : cut >> (64 - bits);
  }
  // From floating point it saturates always; a NaN becomes 0, or in 64 bits the highest bit alone.
  if (std::isnan(value.number))
    return bits == 64 ? uint64_t(1) << 63 : 0;
  double whole = roundToWhole(value.number, instruction.variant & 7);
  if (whole >= std::ldexp(1.0, sign ? bits - 1 : bits))
    return uint64_t(high);
  if (!sign)
    return whole <= 0 ? 0 : uint64_t(whole);
  return whole <= -std::ldexp(1.0, bits - 1) ? uint64_t(low) : uint64_t(int64_t(whole));
}

double floatFrom(const Instruction &instruction, const Value &value) {
  double number = value.isFloat ? value.number : double(value.integer);
  if (value.isFloat && (instruction.variant & 7) >= IntegerNearest && isFloat(instruction.type) &&
      isFloat(instruction.source))
    number = roundToWhole(number, instruction.variant & 7);
  if (instruction.saturates)
    number = std::isnan(number) || number <= 0 ? 0 : number >= 1 ? 1 : number;
  if ((instruction.variant & relu) && !std::isnan(number) && !(number > 0))
    number = 0;
  return number;
}

template <class T> uint64_t small(const Instruction &instruction, double number, T (*towardsZero)(double)) {
  T result = (instruction.variant & 7) == Zero ? towardsZero(number) : T(number);
  if ((instruction.variant & finite) && std::isinf(double(result)) && !std::isnan(number))
    result = towardsZero(std::copysign(std::numeric_limits<double>::max(), number));
  return bitsAs<uint16_t>(result);
}

// From 64 whole bits f32 has to be rounded once.
float singleFromInteger(__int128 value, uint32_t mode) {
  if (mode != Nearest)
    return single(double(value), mode);
  return value < 0 ? -float(uint64_t(-value)) : float(uint64_t(value));
}

uint64_t store(const Instruction &instruction, const Value &value) {
  uint32_t mode = instruction.variant & 7;
  switch (instruction.type) {
  case Type::F16:
    return small<Half>(instruction, floatFrom(instruction, value), halfTowardsZero);
  case Type::BF16:
    return small<BFloat>(instruction, floatFrom(instruction, value), bfloatTowardsZero);
  case Type::TF32: {
    // Nearest, ties away from zero.
    uint32_t bits = bitsAs<uint32_t>(float(value.number));
    return std::isnan(value.number) ? 0x7fffffff : (bits + 0x1000) & ~0x1fffu;
  }
  case Type::F32: {
    float result = value.isFloat ? single(floatFrom(instruction, value), mode) : singleFromInteger(value.integer, mode);
    if (instruction.flushes && std::fpclassify(result) == FP_SUBNORMAL)
      result = std::copysign(0.0f, result);
    return bitsAs<uint32_t>(result);
  }
  case Type::F64:
    return bitsAs<uint64_t>(floatFrom(instruction, value));
  default:
    return integerFrom(instruction, value);
  }
}

void convert(Warp &warp, const Instruction &instruction, uint32_t mask) {
  Lanes<uint64_t> bits = warp.read<uint64_t>(instruction.operands[1]), result;
  for (int lane = 0; lane < lanes; ++lane) {
    Value value = load(instruction.source, bits[lane]);
    if (instruction.flushes && instruction.source == Type::F32 && std::fpclassify(float(value.number)) == FP_SUBNORMAL)
      value.number = std::copysign(0.0, value.number);
    result[lane] = store(instruction, value);
  }
  warp.write(instruction.operands[0], result, mask);
}

// cvt.rn.bf16x2.f32 d, a, b: a to the upper half, b to the lower one.
template <class T> void convertPair(Warp &warp, const Instruction &instruction, uint32_t mask) {
  auto high = warp.read<float>(instruction.operands[1]), low = warp.read<float>(instruction.operands[2]);
  Lanes<uint32_t> result;
  T (*towardsZero)(double);
  if constexpr (std::is_same_v<T, Half>)
    towardsZero = halfTowardsZero;
  else
    towardsZero = bfloatTowardsZero;
  for (int lane = 0; lane < lanes; ++lane) {
    auto half = [&](float value) {
      return uint32_t(small<T>(instruction, floatFrom(instruction, {true, 0, value}), towardsZero));
    };
    result[lane] = half(high[lane]) << 16 | half(low[lane]);
  }
  warp.write(instruction.operands[0], result, mask);
}

uint64_t windowOf(Space space) {
  return space == Space::Shared  ? sharedWindow
         : space == Space::Local ? localWindow
         : space == Space::Param ? parameterWindow
                                 : 0;
}

template <bool toSpace> void convertAddress(Warp &warp, const Instruction &instruction, uint32_t mask) {
  Lanes<uint64_t> addresses = warp.read<uint64_t>(instruction.operands[1]);
  for (uint64_t &address : addresses)
    address = toSpace ? address - windowOf(instruction.space) : address + windowOf(instruction.space);
  warp.write(instruction.operands[0], addresses, mask);
}

} // namespace

bool decodeConvert(Instruction &instruction) {
  if (instruction.name() == "cvta") {
    instruction.space = instruction.has("shared") || instruction.has("shared::cta") ? Space::Shared
                        : instruction.has("local")                                  ? Space::Local
                        : instruction.has("param")                                  ? Space::Param
                                                                                    : Space::Global;
    instruction.execute = instruction.has("to") ? &convertAddress<true> : &convertAddress<false>;
    return hasOperands(instruction, 2);
  }
  std::vector<Type> types = typesOf(instruction);
  if (types.size() != 2 || instruction.has("rs") || instruction.has("scaled::n2::ue8m0"))
    return false;
  for (uint32_t i = 0; i < std::size(roundingNames); ++i)
    if (instruction.has(roundingNames[i]))
      instruction.variant = i;
  if (instruction.has("rna") && instruction.type != Type::TF32)
    return false;
  instruction.variant |= (instruction.has("relu") ? relu : 0) | (instruction.has("satfinite") ? finite : 0);
  bool pair = instruction.type == Type::F16x2 || instruction.type == Type::BF16x2;
  if (pair) {
    instruction.execute = instruction.type == Type::F16x2 ? &convertPair<Half> : &convertPair<BFloat>;
    return instruction.source == Type::F32 && hasOperands(instruction, 3);
  }
  bool known = instruction.source != Type::F16x2 && instruction.source != Type::BF16x2 &&
               instruction.source != Type::Pred && instruction.type != Type::Pred;
  instruction.execute = &convert;
  return known && hasOperands(instruction, 2);
}

} // namespace ptx
