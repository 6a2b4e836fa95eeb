// Moves between registers, and between registers and memory.
#include "test/CudaStandIn/Ptx/Access.h"

#include <cstdio>

namespace ptx {
namespace {

std::string text(uint64_t address) {
  char buffer[24];
  std::snprintf(buffer, sizeof buffer, "0x%llx", static_cast<unsigned long long>(address));
  return buffer;
}

std::string thread(const Warp &warp, int lane) { return "thread " + std::to_string(warp.index * lanes + lane); }

uint64_t extend(Type type, const std::byte *bytes) {
  uint64_t bits = 0;
  int size = bytesOf(type);
  std::memcpy(&bits, bytes, size_t(size));
  if (isSigned(type) && !isFloat(type) && size < 8)
    bits = uint64_t(int64_t(bits << (64 - 8 * size)) >> (64 - 8 * size));
  return bits;
}

void load(Warp &warp, const Instruction &instruction, uint32_t mask) {
  const Operand &target = instruction.operands[0];
  int size = bytesOf(instruction.type);
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    const std::byte *bytes = bytesAt(warp, lane, instruction.space, warp.address(instruction.operands[1], lane),
                                     size * instruction.count, Use::Read);
    for (int i = 0; i < instruction.count; ++i) {
      const Operand &element = target.kind == Operand::Vector ? target.elements[i] : target;
      if (element.kind == Operand::Register)
        warp.at(element.reg, lane) = extend(instruction.type, bytes + i * size), warp.noteWrite(element.reg);
    }
  }
}

void store(Warp &warp, const Instruction &instruction, uint32_t mask) {
  const Operand &source = instruction.operands[1];
  int size = bytesOf(instruction.type);
  std::array<Lanes<uint64_t>, 8> values;
  for (int i = 0; i < instruction.count; ++i)
    values[i] = warp.read<uint64_t>(source.kind == Operand::Vector ? source.elements[i] : source);
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    std::byte *bytes = bytesAt(warp, lane, instruction.space, warp.address(instruction.operands[0], lane),
                               size * instruction.count, Use::Write);
    for (int i = 0; i < instruction.count; ++i)
      std::memcpy(bytes + i * size, &values[i][lane], size_t(size));
  }
}

void move(Warp &warp, const Instruction &instruction, uint32_t mask) {
  warp.write(instruction.operands[0], warp.read<uint64_t>(instruction.operands[1]), mask);
}
void movePredicate(Warp &warp, const Instruction &instruction, uint32_t mask) {
  warp.write(instruction.operands[0], warp.read<bool>(instruction.operands[1]), mask);
}

// A register from parts, the first one lowest; and parts from a register.
void pack(Warp &warp, const Instruction &instruction, uint32_t mask) {
  const auto &parts = instruction.operands[1].elements;
  int width = 8 * bytesOf(instruction.type) / int(parts.size());
  Lanes<uint64_t> result{};
  for (size_t i = 0; i < parts.size(); ++i) {
    Lanes<uint64_t> part = warp.read<uint64_t>(parts[i]);
    for (int lane = 0; lane < lanes; ++lane)
      result[lane] |= (part[lane] & ((uint64_t(1) << width) - 1)) << (width * int(i));
  }
  warp.write(instruction.operands[0], result, mask);
}
void unpack(Warp &warp, const Instruction &instruction, uint32_t mask) {
  const auto &parts = instruction.operands[0].elements;
  int width = 8 * bytesOf(instruction.type) / int(parts.size());
  Lanes<uint64_t> whole = warp.read<uint64_t>(instruction.operands[1]), result;
  for (size_t i = 0; i < parts.size(); ++i) {
    for (int lane = 0; lane < lanes; ++lane)
      result[lane] = (whole[lane] >> (width * int(i))) & ((uint64_t(1) << width) - 1);
    warp.write(parts[i], result, mask);
  }
}

// A form of memory access that is executed as its plain one: orders between threads hold, as warps run one at a time
// and what they write is seen at once.
bool isPlain(const std::string &modifier) {
  constexpr std::string_view known[] = {"global",
                                        "shared",
                                        "shared::cta",
                                        "local",
                                        "param",
                                        "const",
                                        "nc",
                                        "ca",
                                        "cg",
                                        "cs",
                                        "lu",
                                        "cv",
                                        "wb",
                                        "wt",
                                        "volatile",
                                        "relaxed",
                                        "weak",
                                        "acquire",
                                        "release",
                                        "gpu",
                                        "cta",
                                        "sys",
                                        "L1::no_allocate",
                                        "L1::evict_last",
                                        "L1::evict_first",
                                        "L1::evict_normal",
                                        "L1::evict_unchanged",
                                        "L2::64B",
                                        "L2::128B",
                                        "L2::256B",
                                        "v2",
                                        "v4",
                                        "v8"};
  for (std::string_view name : known)
    if (modifier == name)
      return true;
  return typeNamed(modifier).has_value();
}

bool vectorFits(const Operand &operand, int count) {
  return operand.kind == Operand::Vector ? int(operand.elements.size()) == count : count == 1;
}

} // namespace

Space spaceOf(const Instruction &instruction) {
  for (const std::string &modifier : instruction.modifiers) {
    if (modifier == "global")
      return Space::Global;
    if (modifier == "shared" || modifier == "shared::cta")
      return Space::Shared;
    if (modifier == "local")
      return Space::Local;
    if (modifier == "param" || modifier == "param::entry")
      return Space::Param;
    if (modifier == "const")
      return Space::Const;
  }
  return Space::Generic;
}

std::byte *bytesAt(Warp &warp, int lane, Space space, uint64_t address, int64_t bytes, Use use) {
  if (space == Space::Generic) {
    uint64_t window = address & windowMask;
    space = window == sharedWindow      ? Space::Shared
            : window == localWindow     ? Space::Local
            : window == parameterWindow ? Space::Param
                                        : Space::Global;
    if (space != Space::Global)
      address -= window;
  }
  if (address % uint64_t(bytes))
    throw Fault(FaultKind::Misaligned,
                thread(warp, lane) + " uses " + std::to_string(bytes) + " bytes at " + text(address));
  Block &block = warp.block;
  if (space == Space::Shared)
    return block.shared.use(use, address, bytes, warp.index);
  if (space == Space::Local)
    return warp.local(lane, address, bytes);
  if (space == Space::Param) {
    uint64_t size = uint64_t(block.function.parameterBytes);
    if (address > size || uint64_t(bytes) > size - address || use != Use::Read)
      throw Fault(FaultKind::OutOfBounds, thread(warp, lane) + " uses " + std::to_string(bytes) + " bytes at " +
                                              text(address) + " of the parameters, which have " + std::to_string(size) +
                                              " and are read only");
    return const_cast<std::byte *>(block.parameters) + address;
  }
  if (std::byte *found = block.global.use(use, address, bytes))
    return found;
  throw Fault(FaultKind::OutOfBounds, thread(warp, lane) + " uses " + std::to_string(bytes) + " bytes at " +
                                          text(address) + ", which are not in one allocation");
}

bool decodeMove(Instruction &instruction) {
  if (!hasOperands(instruction, 2) || instruction.modifiers.size() != 1)
    return false;
  if (instruction.type == Type::Pred)
    instruction.execute = &movePredicate;
  else if (instruction.type == Type::B128)
    return false;
  else if (instruction.operands[0].kind == Operand::Vector)
    instruction.execute = &unpack;
  else
    instruction.execute = instruction.operands[1].kind == Operand::Vector ? &pack : &move;
  return true;
}

bool decodeAccess(Instruction &instruction) {
  bool isLoad = instruction.name() != "st";
  for (const std::string &modifier : instruction.modifiers)
    if (!isPlain(modifier))
      return false;
  if (!hasOperands(instruction, 2) || instruction.type == Type::Pred || instruction.type == Type::B128)
    return false;
  instruction.space = spaceOf(instruction);
  instruction.count = instruction.has("v2") ? 2 : instruction.has("v4") ? 4 : instruction.has("v8") ? 8 : 1;
  instruction.execute = isLoad ? &load : &store;
  const Operand &place = instruction.operands[isLoad ? 1 : 0], &values = instruction.operands[isLoad ? 0 : 1];
  return place.kind == Operand::Address && vectorFits(values, instruction.count);
}

} // namespace ptx
