// Arithmetic on whole numbers.
#include "test/CudaStandIn/Ptx/Decode.h"

#include <algorithm>
#include <limits>

namespace ptx {
namespace {

template <class T> using Unsigned = std::make_unsigned_t<T>;
template <class T> struct WideOf;
template <> struct WideOf<uint16_t> {
  using type = uint32_t;
};
template <> struct WideOf<int16_t> {
  using type = int32_t;
};
template <> struct WideOf<uint32_t> {
  using type = uint64_t;
};
template <> struct WideOf<int32_t> {
  using type = int64_t;
};
template <> struct WideOf<uint64_t> {
  using type = unsigned __int128;
};
template <> struct WideOf<int64_t> {
  using type = __int128;
};
template <class T> using Wide = typename WideOf<T>::type;

// Numbers wrap around: computed without sign. Half of 16 bits would be computed as int, hence 64 bits everywhere.
struct Add {
  template <class T> static T of(const Instruction &i, T a, T b) {
    if (i.saturates)
      return T(std::clamp<int64_t>(int64_t(a) + int64_t(b), std::numeric_limits<int32_t>::min(),
                                   std::numeric_limits<int32_t>::max()));
    return T(uint64_t(a) + uint64_t(b));
  }
};
struct Subtract {
  template <class T> static T of(const Instruction &i, T a, T b) {
    if (i.saturates)
      return T(std::clamp<int64_t>(int64_t(a) - int64_t(b), std::numeric_limits<int32_t>::min(),
                                   std::numeric_limits<int32_t>::max()));
    return T(uint64_t(a) - uint64_t(b));
  }
};
struct Multiply {
  template <class T> static T of(const Instruction &, T a, T b) { return T(uint64_t(a) * uint64_t(b)); }
};
struct MultiplyHigh {
  template <class T> static T of(const Instruction &, T a, T b) {
    return T((Wide<T>(a) * Wide<T>(b)) >> (8 * sizeof(T)));
  }
};
struct MultiplyWide {
  template <class T> static Wide<T> of(const Instruction &, T a, T b) { return Wide<T>(a) * Wide<T>(b); }
};
struct MultiplyAdd {
  template <class T> static T of(const Instruction &, T a, T b, T c) {
    return T(uint64_t(a) * uint64_t(b) + uint64_t(c));
  }
};
struct MultiplyHighAdd {
  template <class T> static T of(const Instruction &i, T a, T b, T c) {
    return T(uint64_t(MultiplyHigh::of(i, a, b)) + uint64_t(c));
  }
};
struct MultiplyWideAdd {
  template <class T> static Wide<T> of(const Instruction &, T a, T b, Wide<T> c) {
    return Wide<T>(uint64_t(Wide<T>(a) * Wide<T>(b)) + uint64_t(c));
  }
};
struct Multiply24 {
  template <class T> static T of(const Instruction &, T a, T b) {
    constexpr int spare = 8;
    auto low = [](T x) { return Wide<T>(T(Unsigned<T>(x) << spare) >> spare); };
    return T(low(a) * low(b));
  }
};
// Division by zero and of the smallest number by -1 give what the machine's instruction sequence does: all ones, and
// the wrapped quotient; the remainder by zero is the dividend.
struct Divide {
  template <class T> static T of(const Instruction &, T a, T b) {
    if (b == 0)
      return T(-1);
    if (std::is_signed_v<T> && b == T(-1))
      return T(-uint64_t(a));
    return T(a / b);
  }
};
struct Remainder {
  template <class T> static T of(const Instruction &, T a, T b) {
    if (b == 0)
      return a;
    if (std::is_signed_v<T> && b == T(-1))
      return 0;
    return T(a % b);
  }
};
struct Minimum {
  template <class T> static T of(const Instruction &, T a, T b) { return std::min(a, b); }
};
struct Maximum {
  template <class T> static T of(const Instruction &, T a, T b) { return std::max(a, b); }
};
struct Absolute {
  template <class T> static T of(const Instruction &, T a) { return a < 0 ? T(-uint64_t(a)) : a; }
};
struct Negate {
  template <class T> static T of(const Instruction &, T a) { return T(-uint64_t(a)); }
};
struct SumOfDifferences {
  template <class T> static T of(const Instruction &, T a, T b, T c) {
    return T(uint64_t(c) + (a < b ? uint64_t(b) - uint64_t(a) : uint64_t(a) - uint64_t(b)));
  }
};

template <class T> Execute wideProduct(bool sum) {
  if constexpr (sizeof(T) < 8)
    return sum ? &ternary<T, Wide<T>, Wide<T>, MultiplyWideAdd> : &binary<T, Wide<T>, MultiplyWide>;
  return nullptr;
}

template <class T> Execute product(const Instruction &instruction, bool sum) {
  if (instruction.has("wide"))
    return wideProduct<T>(sum);
  if (instruction.has("hi"))
    return sum ? &ternary<T, T, T, MultiplyHighAdd> : &binary<T, T, MultiplyHigh>;
  if (instruction.has("lo"))
    return sum ? &ternary<T, T, T, MultiplyAdd> : &binary<T, T, Multiply>;
  return nullptr;
}

template <class T> Execute choose(const Instruction &instruction) {
  std::string name = instruction.name();
  if (name == "add")
    return &binary<T, T, Add>;
  if (name == "sub")
    return &binary<T, T, Subtract>;
  if (name == "mul" || name == "mad")
    return product<T>(instruction, name == "mad");
  if (name == "mul24" && sizeof(T) == 4 && instruction.has("lo"))
    return &binary<T, T, Multiply24>;
  if (name == "div")
    return &binary<T, T, Divide>;
  if (name == "rem")
    return &binary<T, T, Remainder>;
  if (name == "min")
    return &binary<T, T, Minimum>;
  if (name == "max")
    return &binary<T, T, Maximum>;
  if (name == "abs")
    return &unary<T, T, Absolute>;
  if (name == "neg")
    return &unary<T, T, Negate>;
  if (name == "sad")
    return &ternary<T, T, T, SumOfDifferences>;
  return nullptr;
}

} // namespace

bool decodeInteger(Instruction &instruction) {
  std::string name = instruction.name();
  size_t operands = name == "abs" || name == "neg" ? 2 : name == "mad" || name == "sad" ? 4 : 3;
  if (!hasOperands(instruction, operands) || (instruction.saturates && instruction.type != Type::S32))
    return false;
  switch (instruction.type) {
  case Type::U16:
    instruction.execute = choose<uint16_t>(instruction);
    break;
  case Type::S16:
    instruction.execute = choose<int16_t>(instruction);
    break;
  case Type::U32:
  case Type::B32:
    instruction.execute = choose<uint32_t>(instruction);
    break;
  case Type::S32:
    instruction.execute = choose<int32_t>(instruction);
    break;
  case Type::U64:
  case Type::B64:
    instruction.execute = choose<uint64_t>(instruction);
    break;
  case Type::S64:
    instruction.execute = choose<int64_t>(instruction);
    break;
  default:
    return false;
  }
  return instruction.execute != nullptr;
}

} // namespace ptx
