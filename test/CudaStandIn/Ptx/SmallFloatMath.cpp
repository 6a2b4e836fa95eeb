// Arithmetic on f16 and bf16, and on pairs of them. Computed in f64 and rounded once: sums and products of numbers of
// 16 bits are exact there.
#include "test/CudaStandIn/Ptx/Decode.h"

#include <cmath>
#include <optional>

namespace ptx {
namespace {

enum Operation : uint32_t { Add, Subtract, Multiply, Fused, Minimum, Maximum, Negate, Absolute, Power, Tanh };
constexpr uint32_t keepsNaN = 1 << 8, clampsBelow = 1 << 9; // .NaN, .relu

double extreme(uint32_t variant, double a, double b) {
  if (std::isnan(a) || std::isnan(b)) {
    if ((variant & keepsNaN) || (std::isnan(a) && std::isnan(b)))
      return std::nan("");
    return std::isnan(a) ? b : a;
  }
  bool larger = (variant & 0xff) == Maximum;
  if (a == b)
    return std::signbit(a) == larger ? b : a;
  return (a > b) == larger ? a : b;
}

double compute(uint32_t variant, double a, double b, double c) {
  switch (Operation(variant & 0xff)) {
  case Add:
    return a + b;
  case Subtract:
    return a - b;
  case Multiply:
    return a * b;
  case Fused:
    return a * b + c;
  case Minimum:
  case Maximum:
    return extreme(variant, a, b);
  case Negate:
    return -a;
  case Absolute:
    return std::fabs(a);
  case Power:
    return std::exp2(a);
  case Tanh:
    return std::tanh(a);
  }
  return 0;
}

template <class T> uint16_t element(const Instruction &instruction, uint16_t a, uint16_t b, uint16_t c) {
  auto value = [&](uint16_t bits) {
    double result = double(bitsAs<T>(bits));
    bool denormal = instruction.flushes && (bits & 0x7fff) && (bits & (std::is_same_v<T, Half> ? 0x7c00 : 0x7f80)) == 0;
    return denormal ? std::copysign(0, result) : result;
  };
  uint32_t operation = instruction.variant & 0xff;
  if (operation == Negate || operation == Absolute) // also of a NaN
    return operation == Negate ? a ^ 0x8000 : a & 0x7fff;
  double result = compute(instruction.variant, value(a), value(b), value(c));
  if (instruction.saturates)
    result = !(result > 0) ? 0 : result > 1 ? 1 : result;
  if ((instruction.variant & clampsBelow) && !std::isnan(result))
    result = result > 0 ? result : 0;
  return bitsAs<uint16_t>(T(result));
}

template <class T, int count> void execute(Warp &warp, const Instruction &instruction, uint32_t mask) {
  Lanes<uint32_t> in[3] = {}, result{};
  for (size_t i = 1; i < instruction.operands.size(); ++i)
    in[i - 1] = warp.read<uint32_t>(instruction.operands[i]);
  for (int lane = 0; lane < lanes; ++lane)
    for (int part = 0; part < count; ++part) {
      auto half = [&](int operand) { return uint16_t(in[operand][lane] >> (16 * part)); };
      result[lane] |= uint32_t(element<T>(instruction, half(0), half(1), half(2))) << (16 * part);
    }
  warp.write(instruction.operands[0], result, mask);
}

std::optional<Operation> operationNamed(const std::string &name, size_t operands) {
  constexpr std::pair<const char *, std::pair<Operation, size_t>> table[] = {
      {"add", {Add, 3}},     {"sub", {Subtract, 3}}, {"mul", {Multiply, 3}}, {"fma", {Fused, 4}}, {"min", {Minimum, 3}},
      {"max", {Maximum, 3}}, {"neg", {Negate, 2}},   {"abs", {Absolute, 2}}, {"ex2", {Power, 2}}, {"tanh", {Tanh, 2}}};
  for (const auto &[known, what] : table)
    if (name == known && operands == what.second)
      return what.first;
  return std::nullopt;
}

} // namespace

bool decodeSmallFloat(Instruction &instruction) {
  auto operation = operationNamed(instruction.name(), instruction.operands.size());
  if (!operation || typesOf(instruction).size() != 1 || instruction.has("rz") || instruction.has("xorsign") ||
      instruction.has("oob"))
    return false;
  instruction.variant =
      *operation | (instruction.has("NaN") ? keepsNaN : 0) | (instruction.has("relu") ? clampsBelow : 0);
  switch (instruction.type) {
  case Type::F16:
    instruction.execute = &execute<Half, 1>;
    break;
  case Type::F16x2:
    instruction.execute = &execute<Half, 2>;
    break;
  case Type::BF16:
    instruction.execute = &execute<BFloat, 1>;
    break;
  case Type::BF16x2:
    instruction.execute = &execute<BFloat, 2>;
    break;
  default:
    return false;
  }
  return true;
}

} // namespace ptx
