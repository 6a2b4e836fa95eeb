// Instructions on bits.
#include "test/CudaStandIn/Ptx/Decode.h"

#include <algorithm>

namespace ptx {
namespace {

template <class T> constexpr uint32_t width = 8 * sizeof(T);

struct And {
  template <class T> static T of(const Instruction &, T a, T b) { return T(a & b); }
};
struct Or {
  template <class T> static T of(const Instruction &, T a, T b) { return T(a | b); }
};
struct Xor {
  template <class T> static T of(const Instruction &, T a, T b) { return T(a ^ b); }
};
struct Not {
  template <class T> static T of(const Instruction &, T a) {
    if constexpr (std::is_same_v<T, bool>)
      return !a;
    else
      return T(~a);
  }
};
struct LogicalNot {
  template <class T> static T of(const Instruction &, T a) { return a == 0; }
};
struct PopulationCount {
  template <class T> static uint32_t of(const Instruction &, T a) { return uint32_t(__builtin_popcountll(a)); }
};
struct LeadingZeros {
  template <class T> static uint32_t of(const Instruction &, T a) {
    return a ? uint32_t(__builtin_clzll(a)) - (64 - width<T>) : width<T>;
  }
};
struct Reverse {
  template <class T> static T of(const Instruction &, T a) {
    T result = 0;
    for (uint32_t bit = 0; bit < width<T>; ++bit)
      result |= T(T(a >> bit) & 1) << (width<T> - 1 - bit);
    return result;
  }
};
// Position of the highest bit that differs from the sign; variant 1: the shift that moves it to the top. None: all
// ones.
struct FindBit {
  template <class T> static uint32_t of(const Instruction &instruction, T a) {
    using U = std::make_unsigned_t<T>;
    U bits = a < 0 ? U(~a) : U(a);
    if (!bits)
      return ~0u;
    uint32_t place = 63 - uint32_t(__builtin_clzll(bits));
    return instruction.variant ? width<T> - 1 - place : place;
  }
};

// Amounts are of 32 bits, and shift out everything from the width on.
template <class T, class F> void shift(Warp &warp, const Instruction &instruction, uint32_t mask) {
  Lanes<T> a = warp.read<T>(instruction.operands[1]), result;
  Lanes<uint32_t> amount = warp.read<uint32_t>(instruction.operands[2]);
  for (int lane = 0; lane < lanes; ++lane)
    result[lane] = F::of(a[lane], amount[lane]);
  warp.write(instruction.operands[0], result, mask);
}
struct Left {
  template <class T> static T of(T a, uint32_t by) {
    return by >= width<T> ? T(0) : T(std::make_unsigned_t<T>(a) << by);
  }
};
struct Right {
  template <class T> static T of(T a, uint32_t by) { return T(by >= width<T> ? (a < 0 ? T(-1) : T(0)) : T(a >> by)); }
};

// The two words b:a, shifted together; variant bit 0: right, bit 1: the amount wraps around.
void funnel(Warp &warp, const Instruction &instruction, uint32_t mask) {
  auto a = warp.read<uint32_t>(instruction.operands[1]), b = warp.read<uint32_t>(instruction.operands[2]),
       c = warp.read<uint32_t>(instruction.operands[3]);
  Lanes<uint32_t> result;
  for (int lane = 0; lane < lanes; ++lane) {
    uint64_t words = uint64_t(b[lane]) << 32 | a[lane];
    uint32_t by = instruction.variant & 2 ? c[lane] & 31 : std::min(c[lane], 32u);
    result[lane] = instruction.variant & 1 ? uint32_t(words >> by) : uint32_t((words << by) >> 32);
  }
  warp.write(instruction.operands[0], result, mask);
}

// `length` bits of a from `first` on, with the sign of the last one of them where T is signed.
template <class T> void extract(Warp &warp, const Instruction &instruction, uint32_t mask) {
  Lanes<T> a = warp.read<T>(instruction.operands[1]), result;
  Lanes<uint32_t> firsts = warp.read<uint32_t>(instruction.operands[2]),
                  lengths = warp.read<uint32_t>(instruction.operands[3]);
  for (int lane = 0; lane < lanes; ++lane) {
    uint32_t first = firsts[lane] & 0xff, length = lengths[lane] & 0xff;
    bool sign = false;
    if (std::is_signed_v<T> && length)
      sign = a[lane] >> std::min(first + length - 1, width<T> - 1) & 1;
    std::make_unsigned_t<T> bits = 0;
    for (uint32_t bit = 0; bit < width<T>; ++bit) {
      bool value = bit < length && first + bit < width<T> ? a[lane] >> (first + bit) & 1 : sign;
      bits |= std::make_unsigned_t<T>(value) << bit;
    }
    result[lane] = T(bits);
  }
  warp.write(instruction.operands[0], result, mask);
}

// Puts the lowest `length` bits of a into b at `first`.
template <class T> void insert(Warp &warp, const Instruction &instruction, uint32_t mask) {
  Lanes<T> a = warp.read<T>(instruction.operands[1]), b = warp.read<T>(instruction.operands[2]), result;
  Lanes<uint32_t> firsts = warp.read<uint32_t>(instruction.operands[3]),
                  lengths = warp.read<uint32_t>(instruction.operands[4]);
  for (int lane = 0; lane < lanes; ++lane) {
    uint32_t first = firsts[lane] & 0xff, length = lengths[lane] & 0xff;
    T field = length >= width<T> ? T(-1) : T((T(1) << length) - 1);
    T place = Left::of(field, first);
    result[lane] = T((b[lane] & ~place) | (Left::of(T(a[lane] & field), first)));
  }
  warp.write(instruction.operands[0], result, mask);
}

// Each byte of the result is one of the eight of b:a, named by four bits of c, of which the highest spreads the byte's
// sign.
struct Permute {
  static uint32_t of(const Instruction &, uint32_t a, uint32_t b, uint32_t c) {
    uint64_t bytes = uint64_t(b) << 32 | a;
    uint32_t result = 0;
    for (int i = 0; i < 4; ++i) {
      uint32_t selector = c >> (4 * i) & 0xf, byte = uint32_t(bytes >> (8 * (selector & 7))) & 0xff;
      if (selector & 8)
        byte = byte & 0x80 ? 0xff : 0;
      result |= byte << (8 * i);
    }
    return result;
  }
};

// Any function of three bits, as a table of 8.
void logic3(Warp &warp, const Instruction &instruction, uint32_t mask) {
  auto a = warp.read<uint32_t>(instruction.operands[1]), b = warp.read<uint32_t>(instruction.operands[2]),
       c = warp.read<uint32_t>(instruction.operands[3]);
  uint64_t table = instruction.operands[4].value;
  Lanes<uint32_t> result{};
  for (int lane = 0; lane < lanes; ++lane)
    for (int row = 0; row < 8; ++row)
      if (table >> row & 1)
        result[lane] |=
            (row & 4 ? a[lane] : ~a[lane]) & (row & 2 ? b[lane] : ~b[lane]) & (row & 1 ? c[lane] : ~c[lane]);
  warp.write(instruction.operands[0], result, mask);
}

template <class T> Execute logic(const std::string &name) {
  if (name == "and")
    return &binary<T, T, And>;
  if (name == "or")
    return &binary<T, T, Or>;
  if (name == "xor")
    return &binary<T, T, Xor>;
  if (name == "not")
    return &unary<T, T, Not>;
  if (name == "cnot")
    return &unary<T, T, LogicalNot>;
  return nullptr;
}

template <class U> Execute onWords(Instruction &instruction, const std::string &name) {
  using S = std::make_signed_t<U>;
  bool sign = isSigned(instruction.type);
  if (name == "popc")
    return &unary<U, uint32_t, PopulationCount>;
  if (name == "clz")
    return &unary<U, uint32_t, LeadingZeros>;
  if (name == "brev")
    return &unary<U, U, Reverse>;
  if (name == "bfe")
    return sign ? &extract<S> : &extract<U>;
  if (name == "bfi")
    return &insert<U>;
  if (name == "bfind") {
    instruction.variant = instruction.has("shiftamt");
    return sign ? &unary<S, uint32_t, FindBit> : &unary<U, uint32_t, FindBit>;
  }
  return nullptr;
}

template <class U> Execute shifts(const Instruction &instruction, const std::string &name) {
  if (name == "shl")
    return &shift<U, Left>;
  if (name == "shr")
    return isSigned(instruction.type) ? &shift<std::make_signed_t<U>, Right> : &shift<U, Right>;
  return logic<U>(name);
}

size_t operandCount(const std::string &name) {
  if (name == "bfi" || name == "lop3")
    return 5;
  if (name == "bfe" || name == "shf" || name == "prmt")
    return 4;
  return name == "and" || name == "or" || name == "xor" || name == "shl" || name == "shr" ? 3 : 2;
}

} // namespace

bool decodeBits(Instruction &instruction) {
  std::string name = instruction.name();
  if (!hasOperands(instruction, operandCount(name)))
    return false;
  if (name == "shf") {
    instruction.variant = (instruction.has("r") ? 1 : 0) | (instruction.has("wrap") ? 2 : 0);
    instruction.execute = &funnel;
  } else if (name == "prmt") {
    instruction.execute = instruction.modifiers.size() == 1 ? &ternary<uint32_t, uint32_t, uint32_t, Permute> : nullptr;
  } else if (name == "lop3") {
    instruction.execute = instruction.modifiers.size() == 1 ? &logic3 : nullptr;
  } else if (instruction.type == Type::Pred) {
    instruction.execute = logic<bool>(name);
  } else if (int bytes = bytesOf(instruction.type); bytes == 2) {
    instruction.execute = shifts<uint16_t>(instruction, name);
  } else if (bytes == 4) {
    instruction.execute = shifts<uint32_t>(instruction, name);
    if (!instruction.execute)
      instruction.execute = onWords<uint32_t>(instruction, name);
  } else if (bytes == 8) {
    instruction.execute = shifts<uint64_t>(instruction, name);
    if (!instruction.execute)
      instruction.execute = onWords<uint64_t>(instruction, name);
  }
  return instruction.execute != nullptr;
}

} // namespace ptx
