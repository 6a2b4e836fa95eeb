// Atomic operations: lane after lane.
#include "test/CudaStandIn/Ptx/Access.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace ptx {
namespace {

enum Operation : uint32_t { Add, Minimum, Maximum, And, Or, Xor, Exchange, CompareAndSwap, Increment, Decrement };
constexpr const char *names[] = {"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"};

template <class T> T apply(uint32_t operation, T old, T b, T c) {
  switch (Operation(operation)) {
  case Add:
    if constexpr (std::is_floating_point_v<T>)
      return old + b;
    else
      return T(uint64_t(old) + uint64_t(b));
  case Minimum:
    return std::min(old, b);
  case Maximum:
    return std::max(old, b);
  case Exchange:
    return b;
  case CompareAndSwap:
    return old == b ? c : old;
  default:
    break;
  }
  if constexpr (std::is_integral_v<T>)
    switch (Operation(operation)) {
    case And:
      return old & b;
    case Or:
      return old | b;
    case Xor:
      return old ^ b;
    case Increment:
      return old >= b ? T(0) : T(old + 1);
    case Decrement:
      return old == 0 || old > b ? b : T(old - 1);
    default:
      break;
    }
  return old;
}

// Pairs of 16 bits: each half is one operation.
template <class T, int count> struct Small {
  uint16_t part[count];
  friend Small add(Small a, Small b) {
    for (int i = 0; i < count; ++i)
      a.part[i] = bitsAs<uint16_t>(T(double(bitsAs<T>(a.part[i])) + double(bitsAs<T>(b.part[i]))));
    return a;
  }
};

template <class T> struct Plain {
  static T next(uint32_t operation, T old, T b, T c) { return apply(operation, old, b, c); }
};
template <class T> struct SmallSum {
  static T next(uint32_t, T old, T b, T) { return add(old, b); }
};

// atom has a destination before the address, red has none. A vector red is one operation per element, in order.
template <class T, template <class> class Rule>
void execute(Warp &warp, const Instruction &instruction, uint32_t mask) {
  size_t place = instruction.name() == "atom" ? 1 : 0;
  const Operand &value = instruction.operands[place + 1];
  bool third = instruction.operands.size() > place + 2;
  Lanes<T> c{};
  if (third)
    c = warp.read<T>(instruction.operands[place + 2]);
  for (int i = 0; i < instruction.count; ++i) {
    Lanes<T> b = warp.read<T>(value.kind == Operand::Vector ? value.elements[i] : value), result{};
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      int lane = __builtin_ctz(rest);
      uint64_t address = warp.address(instruction.operands[place], lane) + uint64_t(i) * sizeof(T);
      if (i == 0 && address % (sizeof(T) * uint64_t(instruction.count)))
        throw Fault(FaultKind::Misaligned, "the address of a vector of " + std::to_string(instruction.count));
      std::byte *bytes = bytesAt(warp, lane, instruction.space, address, sizeof(T), Use::Atomic);
      T old;
      std::memcpy(&old, bytes, sizeof old);
      T next = Rule<T>::next(instruction.variant, old, b[lane], c[lane]);
      std::memcpy(bytes, &next, sizeof next);
      result[lane] = old;
    }
    if (place)
      warp.write(instruction.operands[0], result, mask);
  }
}

Execute choose(const Instruction &instruction) {
  bool sum = instruction.variant == Add;
  bool bitwise = instruction.variant == And || instruction.variant == Or || instruction.variant == Xor ||
                 instruction.variant == Exchange || instruction.variant == CompareAndSwap;
  switch (instruction.type) {
  case Type::U32:
    return &execute<uint32_t, Plain>;
  case Type::S32:
    return bitwise ? nullptr : &execute<int32_t, Plain>;
  case Type::U64:
    return &execute<uint64_t, Plain>;
  case Type::S64:
    return bitwise ? nullptr : &execute<int64_t, Plain>;
  case Type::B16:
    return bitwise ? &execute<uint16_t, Plain> : nullptr;
  case Type::B32:
    return bitwise ? &execute<uint32_t, Plain> : nullptr;
  case Type::B64:
    return bitwise ? &execute<uint64_t, Plain> : nullptr;
  case Type::F32:
    return sum ? &execute<float, Plain> : nullptr;
  case Type::F64:
    return sum ? &execute<double, Plain> : nullptr;
  case Type::F16:
    return sum ? &execute<Small<Half, 1>, SmallSum> : nullptr;
  case Type::BF16:
    return sum ? &execute<Small<BFloat, 1>, SmallSum> : nullptr;
  case Type::F16x2:
    return sum ? &execute<Small<Half, 2>, SmallSum> : nullptr;
  case Type::BF16x2:
    return sum ? &execute<Small<BFloat, 2>, SmallSum> : nullptr;
  default:
    return nullptr;
  }
}

} // namespace

bool decodeAtomic(Instruction &instruction) {
  bool returns = instruction.name() == "atom";
  instruction.variant = ~0u;
  for (uint32_t i = 0; i < std::size(names); ++i)
    if (instruction.has(names[i]))
      instruction.variant = i;
  instruction.space = spaceOf(instruction);
  instruction.count = instruction.has("v2") ? 2 : instruction.has("v4") ? 4 : instruction.has("v8") ? 8 : 1;
  size_t operands = (returns ? 3 : 2) + (instruction.variant == CompareAndSwap);
  if (instruction.variant == ~0u || instruction.has("async") || instruction.has("cluster") ||
      !hasOperands(instruction, operands) || (returns && instruction.count > 1) ||
      instruction.operands[returns].kind != Operand::Address)
    return false;
  instruction.execute = choose(instruction);
  return instruction.execute != nullptr;
}

} // namespace ptx
