// Instructions in which the lanes of a warp take part together.
#include "test/CudaStandIn/Ptx/Decode.h"
#include "test/CudaStandIn/Ptx/Fault.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace ptx {
namespace {

enum Shuffle : uint32_t { Up, Down, Butterfly, Index };
constexpr const char *shuffleNames[] = {"up", "down", "bfly", "idx"};

// shfl.sync.mode.b32 d[|p], a, b, c, mask. c holds the last lane of a segment (bits 0 to 4) and the mask of segments (8
// to 12).
void shuffle(Warp &warp, const Instruction &instruction, uint32_t mask) {
  auto a = warp.read<uint32_t>(instruction.operands[1]), b = warp.read<uint32_t>(instruction.operands[2]),
       c = warp.read<uint32_t>(instruction.operands[3]);
  Lanes<uint32_t> result;
  Lanes<bool> inside;
  for (int lane = 0; lane < lanes; ++lane) {
    int by = int(b[lane] & 31), clamp = int(c[lane] & 31), segment = int(c[lane] >> 8 & 31);
    int last = (lane & segment) | (clamp & ~segment), first = lane & segment, from = lane;
    switch (Shuffle(instruction.variant)) {
    case Up:
      from = lane - by;
      inside[lane] = from >= last;
      break;
    case Down:
      from = lane + by;
      inside[lane] = from <= last;
      break;
    case Butterfly:
      from = lane ^ by;
      inside[lane] = from <= last;
      break;
    case Index:
      from = first | (by & ~segment);
      inside[lane] = from <= last;
      break;
    }
    if (!inside[lane])
      from = lane;
    if ((mask >> lane & 1) && !(mask >> from & 1))
      throw Fault(FaultKind::Divergence, "lane " + std::to_string(lane) + " reads from lane " + std::to_string(from) +
                                             ", which does not take part");
    result[lane] = a[from];
  }
  const Operand &target = instruction.operands[0];
  if (target.kind != Operand::Vector)
    return warp.write(target, result, mask);
  warp.write(target.elements[0], result, mask);
  warp.write(target.elements[1], inside, mask);
}

enum Vote : uint32_t { All, Any, Uniform, Ballot };
constexpr const char *voteNames[] = {"all", "any", "uni", "ballot"};

void vote(Warp &warp, const Instruction &instruction, uint32_t mask) {
  Lanes<bool> predicate = warp.read<bool>(instruction.operands[1]);
  uint32_t ballot = 0;
  for (int lane = 0; lane < lanes; ++lane)
    ballot |= uint32_t(predicate[lane] && (mask >> lane & 1)) << lane;
  if (instruction.variant == Ballot) {
    Lanes<uint32_t> result;
    result.fill(ballot);
    return warp.write(instruction.operands[0], result, mask);
  }
  Lanes<bool> result;
  result.fill(instruction.variant == Any   ? ballot != 0
              : instruction.variant == All ? ballot == mask
                                           : ballot == mask || !ballot);
  warp.write(instruction.operands[0], result, mask);
}

// Which lanes have the same value; variant 1: whether all have.
template <class T> void match(Warp &warp, const Instruction &instruction, uint32_t mask) {
  Lanes<T> a = warp.read<T>(instruction.operands[1]);
  Lanes<uint32_t> result{};
  Lanes<bool> all{};
  for (int lane = 0; lane < lanes; ++lane) {
    for (int other = 0; other < lanes; ++other)
      result[lane] |= uint32_t((mask >> other & 1) && a[lane] == a[other]) << other;
    all[lane] = result[lane] == mask;
    if (instruction.variant && !all[lane])
      result[lane] = 0;
  }
  const Operand &target = instruction.operands[0];
  if (target.kind != Operand::Vector)
    return warp.write(target, result, mask);
  warp.write(target.elements[0], result, mask);
  warp.write(target.elements[1], all, mask);
}

enum Reduction : uint32_t { Sum, Minimum, Maximum, And, Or, Xor };
constexpr const char *reductionNames[] = {"add", "min", "max", "and", "or", "xor"};

template <class T> void reduce(Warp &warp, const Instruction &instruction, uint32_t mask) {
  Lanes<T> a = warp.read<T>(instruction.operands[1]), result;
  T value = a[__builtin_ctz(mask)];
  for (uint32_t rest = mask & (mask - 1); rest; rest &= rest - 1) {
    T next = a[__builtin_ctz(rest)];
    switch (Reduction(instruction.variant)) {
    case Sum:
      value = T(uint32_t(value) + uint32_t(next));
      break;
    case Minimum:
      value = std::min(value, next);
      break;
    case Maximum:
      value = std::max(value, next);
      break;
    case And:
      value &= next;
      break;
    case Or:
      value |= next;
      break;
    case Xor:
      value ^= next;
      break;
    }
  }
  result.fill(value);
  warp.write(instruction.operands[0], result, mask);
}

// Reduction of f32: a NaN loses, unless .NaN is specified. -0 is below +0.
void reduceFloat(Warp &warp, const Instruction &instruction, uint32_t mask) {
  Lanes<float> a = warp.read<float>(instruction.operands[1]), result;
  if (instruction.has("abs"))
    for (float &value : a)
      value = std::fabs(value);
  auto before = [](float x, float y) { return x < y || (x == y && std::signbit(x) && !std::signbit(y)); };
  bool anyNaN = false;
  float value = bitsAs<float>(0x7fffffffu);
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    float next = a[__builtin_ctz(rest)];
    anyNaN |= std::isnan(next);
    if (std::isnan(value) || (instruction.variant == Minimum ? before(next, value) : before(value, next)))
      value = next;
  }
  result.fill(anyNaN && instruction.has("NaN") ? bitsAs<float>(0x7fffffffu) : value);
  warp.write(instruction.operands[0], result, mask);
}

void activeMask(Warp &warp, const Instruction &instruction, uint32_t mask) {
  Lanes<uint32_t> result;
  result.fill(mask);
  warp.write(instruction.operands[0], result, mask);
}

// elect.sync d|p, mask: p in the lowest lane alone, d its number.
void elect(Warp &warp, const Instruction &instruction, uint32_t mask) {
  Lanes<uint32_t> leader;
  Lanes<bool> isLeader{};
  leader.fill(uint32_t(__builtin_ctz(mask)));
  isLeader[__builtin_ctz(mask)] = true;
  warp.write(instruction.operands[0].elements[0], leader, mask);
  warp.write(instruction.operands[0].elements[1], isLeader, mask);
}

template <size_t count> bool setVariant(Instruction &instruction, const char *const (&names)[count]) {
  for (uint32_t i = 0; i < count; ++i)
    if (instruction.has(names[i])) {
      instruction.variant = i;
      return true;
    }
  return false;
}

// Takes part by the mask in its last operand.
bool together(Instruction &instruction, size_t operands, Execute execute) {
  instruction.flow = Flow::Converge;
  instruction.members = int(operands) - 1;
  instruction.execute = execute;
  return execute && hasOperands(instruction, operands);
}

} // namespace

bool decodeExchange(Instruction &instruction) {
  std::string name = instruction.name();
  if (name == "activemask") {
    instruction.execute = &activeMask;
    return hasOperands(instruction, 1);
  }
  if (!instruction.has("sync"))
    return false;
  if (name == "elect")
    return together(instruction, 2, &elect) && instruction.operands[0].elements.size() == 2;
  if (name == "shfl")
    return setVariant(instruction, shuffleNames) && instruction.type == Type::B32 && together(instruction, 5, &shuffle);
  if (name == "vote")
    return setVariant(instruction, voteNames) && together(instruction, 3, &vote);
  if (name == "match") {
    instruction.variant = instruction.has("all");
    return together(instruction, 3, bytesOf(instruction.type) == 4 ? &match<uint32_t> : &match<uint64_t>);
  }
  if (name != "redux" || !setVariant(instruction, reductionNames))
    return false;
  if (instruction.type == Type::F32)
    return (instruction.variant == Minimum || instruction.variant == Maximum) && together(instruction, 3, &reduceFloat);
  bool sign = instruction.type == Type::S32,
       word = sign || instruction.type == Type::U32 || instruction.type == Type::B32;
  return word && together(instruction, 3, sign ? &reduce<int32_t> : &reduce<uint32_t>);
}

} // namespace ptx
