// Comparisons and selections.
#include "test/CudaStandIn/Ptx/Decode.h"

#include <cmath>
#include <iterator>

namespace ptx {
namespace {

// The comparison (bits 0 to 4), and how the result is combined with a predicate (bits 8, 9).
enum Comparison : uint32_t { Eq, Ne, Lt, Le, Gt, Ge, Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan };
constexpr const char *comparisonNames[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                           "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
enum Combination : uint32_t { Alone, And, Or, Xor };
constexpr const char *combinationNames[] = {"", "and", "or", "xor"};

// The unordered forms of lt, le, ... of whole numbers have names of their own.
constexpr std::pair<const char *, Comparison> unsignedNames[] = {{"lo", Lt}, {"ls", Le}, {"hi", Gt}, {"hs", Ge}};

template <class T> bool compare(uint32_t variant, T a, T b) {
  bool unordered = false;
  if constexpr (std::is_floating_point_v<T>)
    unordered = std::isnan(a) || std::isnan(b);
  switch (Comparison(variant & 0x1f)) {
  case Eq:
    return !unordered && a == b;
  case Ne:
    return !unordered && a != b;
  case Lt:
    return a < b;
  case Le:
    return a <= b;
  case Gt:
    return a > b;
  case Ge:
    return a >= b;
  case Equ:
    return unordered || a == b;
  case Neu:
    return unordered || a != b;
  case Ltu:
    return unordered || a < b;
  case Leu:
    return unordered || a <= b;
  case Gtu:
    return unordered || a > b;
  case Geu:
    return unordered || a >= b;
  case Num:
    return !unordered;
  case Nan:
    return unordered;
  }
  return false;
}

bool combine(uint32_t variant, bool value, bool with) {
  switch (Combination(variant >> 8 & 3)) {
  case Alone:
    return value;
  case And:
    return value && with;
  case Or:
    return value || with;
  case Xor:
    return value != with;
  }
  return value;
}

template <class T> Lanes<T> flushed(const Instruction &instruction, Lanes<T> values) {
  if constexpr (std::is_floating_point_v<T>)
    if (instruction.flushes)
      for (T &value : values)
        value = std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(T(0), value) : value;
  return values;
}

// Half precision, as f64.
template <class T> Lanes<double> readSmall(Warp &warp, const Operand &operand, int part) {
  Lanes<uint32_t> bits = warp.read<uint32_t>(operand);
  Lanes<double> result;
  for (int lane = 0; lane < lanes; ++lane)
    result[lane] = double(bitsAs<T>(uint16_t(bits[lane] >> (16 * part))));
  return result;
}

Lanes<bool> with(Warp &warp, const Instruction &instruction) {
  Lanes<bool> result{};
  return instruction.operands.size() > 3 ? warp.read<bool>(instruction.operands[3]) : result;
}

// setp p, a, b and setp p|q, a, b: q gets the combination of the opposite.
template <class T> void setPredicate(Warp &warp, const Instruction &instruction, uint32_t mask) {
  Lanes<T> a = flushed(instruction, warp.read<T>(instruction.operands[1])),
           b = flushed(instruction, warp.read<T>(instruction.operands[2]));
  Lanes<bool> other = with(warp, instruction), result, opposite;
  for (int lane = 0; lane < lanes; ++lane) {
    bool value = compare(instruction.variant, a[lane], b[lane]);
    result[lane] = combine(instruction.variant, value, other[lane]);
    opposite[lane] = combine(instruction.variant, !value, other[lane]);
  }
  const Operand &target = instruction.operands[0];
  if (target.kind != Operand::Vector)
    return warp.write(target, result, mask);
  warp.write(target.elements[0], result, mask);
  warp.write(target.elements[1], opposite, mask);
}

// For pairs, p is the result of the lower half and q of the upper one.
template <class T, int count> void setPredicateSmall(Warp &warp, const Instruction &instruction, uint32_t mask) {
  Lanes<bool> other = with(warp, instruction), result;
  const Operand &target = instruction.operands[0];
  for (int part = 0; part < count; ++part) {
    auto a = readSmall<T>(warp, instruction.operands[1], part), b = readSmall<T>(warp, instruction.operands[2], part);
    for (int lane = 0; lane < lanes; ++lane)
      result[lane] = combine(instruction.variant, compare(instruction.variant, a[lane], b[lane]), other[lane]);
    warp.write(count == 1 ? target : target.elements[part], result, mask);
  }
}

// set: all ones or 1.0 where it holds.
template <class T> void setValue(Warp &warp, const Instruction &instruction, uint32_t mask) {
  Lanes<T> a = flushed(instruction, warp.read<T>(instruction.operands[1])),
           b = flushed(instruction, warp.read<T>(instruction.operands[2]));
  Lanes<bool> other = with(warp, instruction);
  Lanes<uint32_t> result;
  uint32_t one = instruction.type == Type::F32 ? bitsAs<uint32_t>(1.0f) : ~0u;
  for (int lane = 0; lane < lanes; ++lane)
    result[lane] = combine(instruction.variant, compare(instruction.variant, a[lane], b[lane]), other[lane]) ? one : 0;
  warp.write(instruction.operands[0], result, mask);
}

template <class T> void select(Warp &warp, const Instruction &instruction, uint32_t mask) {
  Lanes<T> a = warp.read<T>(instruction.operands[1]), b = warp.read<T>(instruction.operands[2]), result;
  Lanes<bool> condition = warp.read<bool>(instruction.operands[3]);
  for (int lane = 0; lane < lanes; ++lane)
    result[lane] = condition[lane] ? a[lane] : b[lane];
  warp.write(instruction.operands[0], result, mask);
}

// a where c >= 0; a NaN is not.
template <class T, class C> void selectBySign(Warp &warp, const Instruction &instruction, uint32_t mask) {
  Lanes<T> a = warp.read<T>(instruction.operands[1]), b = warp.read<T>(instruction.operands[2]), result;
  Lanes<C> c = flushed(instruction, warp.read<C>(instruction.operands[3]));
  for (int lane = 0; lane < lanes; ++lane)
    result[lane] = c[lane] >= 0 ? a[lane] : b[lane];
  warp.write(instruction.operands[0], result, mask);
}

struct TestProperty {
  template <class T> static bool of(const Instruction &instruction, T a) {
    switch (instruction.variant) {
    case 0:
      return std::isfinite(a);
    case 1:
      return std::isinf(a);
    case 2:
      return !std::isnan(a);
    case 3:
      return std::isnan(a);
    case 4:
      return std::isnormal(a);
    default:
      return std::fpclassify(a) == FP_SUBNORMAL;
    }
  }
};

bool decodeComparison(Instruction &instruction) {
  uint32_t comparison = ~0u;
  for (const std::string &modifier : instruction.modifiers) {
    for (uint32_t i = 0; i < std::size(comparisonNames); ++i)
      if (comparison == ~0u && modifier == comparisonNames[i])
        comparison = i;
    for (auto [name, meaning] : unsignedNames)
      if (comparison == ~0u && modifier == name)
        comparison = meaning;
    for (uint32_t i = 1; i < std::size(combinationNames); ++i)
      if (modifier == combinationNames[i])
        comparison |= i << 8;
  }
  instruction.variant = comparison;
  bool combined = comparison >> 8 & 3;
  return comparison != ~0u && hasOperands(instruction, combined ? 4 : 3);
}

template <template <class> class F> Execute ofSource(const Instruction &instruction) {
  switch (instruction.source) {
  case Type::U16:
  case Type::B16:
    return F<uint16_t>::execute;
  case Type::S16:
    return F<int16_t>::execute;
  case Type::U32:
  case Type::B32:
    return F<uint32_t>::execute;
  case Type::S32:
    return F<int32_t>::execute;
  case Type::U64:
  case Type::B64:
    return F<uint64_t>::execute;
  case Type::S64:
    return F<int64_t>::execute;
  case Type::F32:
    return F<float>::execute;
  case Type::F64:
    return F<double>::execute;
  default:
    return nullptr;
  }
}
template <class T> struct SetPredicate {
  static constexpr Execute execute = &setPredicate<T>;
};
template <class T> struct SetValue {
  static constexpr Execute execute = &setValue<T>;
};

Execute selection(int bytes) {
  return bytes == 2 ? &select<uint16_t> : bytes == 4 ? &select<uint32_t> : bytes == 8 ? &select<uint64_t> : nullptr;
}

Execute selectionBySign(const Instruction &instruction) {
  bool word = bytesOf(instruction.type) == 4, single = instruction.source == Type::F32;
  if ((!word && bytesOf(instruction.type) != 8) || (!single && instruction.source != Type::S32))
    return nullptr;
  return word ? (single ? &selectBySign<uint32_t, float> : &selectBySign<uint32_t, int32_t>)
              : (single ? &selectBySign<uint64_t, float> : &selectBySign<uint64_t, int32_t>);
}

bool decodeProperty(Instruction &instruction) {
  constexpr const char *names[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};
  for (uint32_t i = 0; i < std::size(names); ++i)
    if (instruction.has(names[i])) {
      instruction.variant = i;
      instruction.execute =
          instruction.type == Type::F32 ? &unary<float, bool, TestProperty> : &unary<double, bool, TestProperty>;
      return hasOperands(instruction, 2);
    }
  return false;
}

} // namespace

bool decodeCompare(Instruction &instruction) {
  std::string name = instruction.name();
  if (name == "testp")
    return decodeProperty(instruction);
  if (name == "selp" || name == "slct") {
    instruction.execute = name == "selp" ? selection(bytesOf(instruction.type)) : selectionBySign(instruction);
    return instruction.execute && hasOperands(instruction, 4);
  }
  if (!decodeComparison(instruction))
    return false;
  bool pair = instruction.operands[0].kind == Operand::Vector;
  if (name == "setp")
    switch (instruction.source) {
    case Type::F16:
      instruction.execute = pair ? nullptr : &setPredicateSmall<Half, 1>;
      return !pair;
    case Type::BF16:
      instruction.execute = pair ? nullptr : &setPredicateSmall<BFloat, 1>;
      return !pair;
    case Type::F16x2:
      instruction.execute = &setPredicateSmall<Half, 2>;
      return pair;
    case Type::BF16x2:
      instruction.execute = &setPredicateSmall<BFloat, 2>;
      return pair;
    default:
      break;
    }
  bool known =
      name == "setp" || instruction.type == Type::U32 || instruction.type == Type::S32 || instruction.type == Type::F32;
  if (known)
    instruction.execute = name == "setp" ? ofSource<SetPredicate>(instruction) : ofSource<SetValue>(instruction);
  return instruction.execute != nullptr;
}

} // namespace ptx
