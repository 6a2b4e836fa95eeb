// Arithmetic on f32 and f64. Approximations of the machine (.approx) are computed as exactly as the host can: tests
// against it need a tolerance of the 2 ulp that the instruction set allows.
#include "test/CudaStandIn/Ptx/Decode.h"

#include <cfenv>
#include <cmath>
#include <limits>
#include <type_traits>

namespace ptx {
namespace {

// .ftz: denormal numbers count and end as zero of their sign.
template <class T> T flush(const Instruction &instruction, T value) {
  return instruction.flushes && std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(T(0), value) : value;
}
// .sat: into [0, 1], NaN becomes 0.
template <class T> T finish(const Instruction &instruction, T value) {
  value = flush(instruction, value);
  if (!instruction.saturates)
    return value;
  return std::isnan(value) || value <= 0 ? T(0) : value >= 1 ? T(1) : value;
}

// Rounding of an instruction while it lives.
class Rounding {
public:
  explicit Rounding(const Instruction &instruction) : mode(instruction.variant) {
    if (mode)
      std::fesetround(mode == 1 ? FE_TOWARDZERO : mode == 2 ? FE_DOWNWARD : FE_UPWARD);
  }
  ~Rounding() {
    if (mode)
      std::fesetround(FE_TONEAREST);
  }

private:
  uint32_t mode;
};
// The compiler must not move arithmetic out of the life of a Rounding.
template <class T> T opaque(T value) {
  asm volatile("" : "+x"(value));
  return value;
}

template <class F> struct Rounded {
  template <class T, class... Rest> static T of(const Instruction &i, T a, Rest... rest) {
    Rounding rounding(i);
    return finish(i, opaque(F::apply(opaque(flush(i, a)), opaque(flush(i, rest))...)));
  }
};
// Rounding to nearest, for instructions with neither .ftz nor .sat, which are most.
template <class F> struct Nearest {
  template <class T, class... Rest> static T of(const Instruction &, T a, Rest... rest) { return F::apply(a, rest...); }
};
bool isNearest(const Instruction &instruction) {
  return !instruction.variant && !instruction.flushes && !instruction.saturates;
}

struct AddF {
  template <class T> static T apply(T a, T b) { return a + b; }
};
struct SubtractF {
  template <class T> static T apply(T a, T b) { return a - b; }
};
struct MultiplyF {
  template <class T> static T apply(T a, T b) { return a * b; }
};
struct FusedF {
  template <class T> static T apply(T a, T b, T c) { return std::fma(a, b, c); }
};
struct DivideF {
  template <class T> static T apply(T a, T b) { return a / b; }
};
struct ReciprocalF {
  template <class T> static T apply(T a) { return T(1) / a; }
};
struct SquareRootF {
  template <class T> static T apply(T a) { return std::sqrt(a); }
};
struct ReciprocalRootF {
  template <class T> static T apply(T a) { return T(1 / std::sqrt(double(a))); }
};
struct SineF {
  template <class T> static T apply(T a) { return std::sin(a); }
};
struct CosineF {
  template <class T> static T apply(T a) { return std::cos(a); }
};
struct LogF {
  template <class T> static T apply(T a) { return std::log2(a); }
};
struct PowerF {
  template <class T> static T apply(T a) { return std::exp2(a); }
};
struct TanhF {
  template <class T> static T apply(T a) { return std::tanh(a); }
};

struct NegateF {
  template <class T> static T of(const Instruction &i, T a) { return -flush(i, a); }
};
struct AbsoluteF {
  template <class T> static T of(const Instruction &i, T a) { return std::fabs(flush(i, a)); }
};
struct CopySignF { // the sign of the first, the rest of the second
  template <class T> static T of(const Instruction &, T a, T b) { return std::copysign(b, a); }
};
// A NaN loses, unless .NaN is specified; -0 is below +0.
template <bool larger> struct Extreme {
  template <class T> static T of(const Instruction &i, T a, T b) {
    a = flush(i, a), b = flush(i, b);
    if (std::isnan(a) || std::isnan(b)) {
      if (i.variant || (std::isnan(a) && std::isnan(b)))
        return sizeof(T) == 4 ? T(bitsAs<float>(0x7fffffffu)) : std::numeric_limits<T>::quiet_NaN();
      return std::isnan(a) ? b : a;
    }
    if (a == b)
      return std::signbit(a) == larger ? b : a;
    return (a > b) == larger ? a : b;
  }
};

template <class T, template <class> class Rounded> Execute twoOperands(const std::string &name) {
  if (name == "add")
    return &binary<T, T, Rounded<AddF>>;
  if (name == "sub")
    return &binary<T, T, Rounded<SubtractF>>;
  if (name == "mul")
    return &binary<T, T, Rounded<MultiplyF>>;
  if (name == "div")
    return &binary<T, T, Rounded<DivideF>>;
  if (name == "min")
    return &binary<T, T, Extreme<false>>;
  if (name == "max")
    return &binary<T, T, Extreme<true>>;
  if (name == "copysign")
    return &binary<T, T, CopySignF>;
  return nullptr;
}

template <class T> Execute oneOperand(const std::string &name) {
  if (name == "neg")
    return &unary<T, T, NegateF>;
  if (name == "abs")
    return &unary<T, T, AbsoluteF>;
  if (name == "rcp")
    return &unary<T, T, Rounded<ReciprocalF>>;
  if (name == "sqrt")
    return &unary<T, T, Rounded<SquareRootF>>;
  if (name == "rsqrt")
    return &unary<T, T, Rounded<ReciprocalRootF>>;
  if (std::is_same_v<T, double>)
    return nullptr;
  if (name == "sin")
    return &unary<T, T, Rounded<SineF>>;
  if (name == "cos")
    return &unary<T, T, Rounded<CosineF>>;
  if (name == "lg2")
    return &unary<T, T, Rounded<LogF>>;
  if (name == "ex2")
    return &unary<T, T, Rounded<PowerF>>;
  if (name == "tanh")
    return &unary<T, T, Rounded<TanhF>>;
  return nullptr;
}

template <class T, template <class> class Rounded> Execute chooseRounded(const std::string &name, size_t operands) {
  if (operands == 4)
    return name == "fma" || name == "mad" ? &ternary<T, T, T, Rounded<FusedF>> : nullptr;
  return operands == 3 ? twoOperands<T, Rounded>(name) : operands == 2 ? oneOperand<T>(name) : nullptr;
}

template <class T> Execute choose(const Instruction &instruction) {
  size_t operands = instruction.operands.size();
  return isNearest(instruction) ? chooseRounded<T, Nearest>(instruction.name(), operands)
                                : chooseRounded<T, Rounded>(instruction.name(), operands);
}

// Pairs of f32: one operation for each half of 64 bits.
template <class F> void onPairs(Warp &warp, const Instruction &instruction, uint32_t mask) {
  Lanes<uint64_t> in[3] = {}, result;
  for (size_t i = 1; i < instruction.operands.size(); ++i)
    in[i - 1] = warp.read<uint64_t>(instruction.operands[i]);
  for (int lane = 0; lane < lanes; ++lane) {
    uint64_t both = 0;
    for (int part = 0; part < 2; ++part) {
      auto value = [&](int operand) { return bitsAs<float>(uint32_t(in[operand][lane] >> (32 * part))); };
      float one;
      if constexpr (std::is_same_v<F, FusedF>)
        one = Rounded<F>::of(instruction, value(0), value(1), value(2));
      else
        one = Rounded<F>::of(instruction, value(0), value(1));
      both |= uint64_t(bitsAs<uint32_t>(one)) << (32 * part);
    }
    result[lane] = both;
  }
  warp.write(instruction.operands[0], result, mask);
}

Execute pairs(const std::string &name, size_t operands) {
  if (operands == 4)
    return name == "fma" ? &onPairs<FusedF> : nullptr;
  if (operands != 3)
    return nullptr;
  return name == "add"   ? &onPairs<AddF>
         : name == "sub" ? &onPairs<SubtractF>
         : name == "mul" ? &onPairs<MultiplyF>
                         : nullptr;
}

// The largest or smallest of three.
template <bool larger> struct ExtremeOfThree {
  static float of(const Instruction &i, float a, float b, float c) {
    return Extreme<larger>::of(i, Extreme<larger>::of(i, a, b), c);
  }
};

// Mixed precision: factors, or the first term of a sum, have 16 bits, the rest is f32 (from sm_100 on).
template <class S> void mixed(Warp &warp, const Instruction &instruction, uint32_t mask) {
  bool isSum = instruction.operands.size() == 3;
  Lanes<uint16_t> a = warp.read<uint16_t>(instruction.operands[1]), b = {};
  if (!isSum)
    b = warp.read<uint16_t>(instruction.operands[2]);
  Lanes<float> c = warp.read<float>(instruction.operands.back()), result;
  for (int lane = 0; lane < lanes; ++lane) {
    float first = float(double(bitsAs<S>(a[lane])));
    if (!isSum)
      result[lane] = Rounded<FusedF>::of(instruction, first, float(double(bitsAs<S>(b[lane]))), c[lane]);
    else if (instruction.name() == "add")
      result[lane] = Rounded<AddF>::of(instruction, first, c[lane]);
    else
      result[lane] = Rounded<SubtractF>::of(instruction, first, c[lane]);
  }
  warp.write(instruction.operands[0], result, mask);
}

Execute chooseMixed(const Instruction &instruction) {
  size_t wanted = instruction.name() == "fma" ? 4 : instruction.name() == "add" || instruction.name() == "sub" ? 3 : 0;
  if (instruction.type != Type::F32 || instruction.operands.size() != wanted)
    return nullptr;
  return instruction.source == Type::BF16 ? &mixed<BFloat> : instruction.source == Type::F16 ? &mixed<Half> : nullptr;
}

} // namespace

bool decodeFloat(Instruction &instruction) {
  std::string name = instruction.name();
  size_t types = typesOf(instruction).size();
  if (types > 2)
    return false;
  instruction.variant = instruction.has("rz") ? 1 : instruction.has("rm") ? 2 : instruction.has("rp") ? 3 : 0;
  if (name == "min" || name == "max")
    instruction.variant = instruction.has("NaN");
  if (instruction.has("xorsign"))
    return false;
  if (types == 2)
    instruction.execute = chooseMixed(instruction);
  else if (instruction.type == Type::F32x2)
    instruction.execute = pairs(name, instruction.operands.size());
  else if (instruction.type == Type::F32 && instruction.operands.size() == 4 && (name == "min" || name == "max"))
    instruction.execute = name == "max" ? &ternary<float, float, float, ExtremeOfThree<true>>
                                        : &ternary<float, float, float, ExtremeOfThree<false>>;
  else if (instruction.type == Type::F32)
    instruction.execute = choose<float>(instruction);
  else if (instruction.type == Type::F64)
    instruction.execute = choose<double>(instruction);
  return instruction.execute != nullptr;
}

} // namespace ptx
