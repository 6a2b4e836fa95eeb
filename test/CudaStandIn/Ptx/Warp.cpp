#include "test/CudaStandIn/Ptx/Warp.h"

#include "test/CudaStandIn/Ptx/Block.h"

#include <algorithm>
#include <climits>

namespace ptx {

Warp::Warp(Block &block, int index, int threads)
    : block(block), index(index), live(threads >= lanes ? ~0u : (1u << threads) - 1),
      registers(size_t(block.function.registerCount)), localMemory(size_t(block.function.localBytes) * lanes),
      products(1), isUnfenced(registers.size()), summedByProducts(registers.size()), readByProducts(registers.size()) {
  for (auto &groups : copies)
    groups.emplace_back();
}

void Warp::begin(const Product &product) {
  const std::vector<Operand> &operands = product.instruction->operands;
  // Sums may belong to an earlier MMA, which completes before; left operands may be read by several.
  for (const Operand &element : operands[0].elements) {
    if (readByProducts[element.reg])
      checkNotUnderWay(element);
    ++summedByProducts[element.reg];
  }
  for (const Operand &element : operands[1].elements) {
    if (summedByProducts[element.reg])
      checkNotUnderWay(element);
    ++readByProducts[element.reg];
  }
  products.back().push_back(product);
  ++productsUnderWay;
}

void Warp::finishProducts(size_t left) {
  while (products.size() - 1 > left) {
    for (const Product &product : products.front()) {
      product.finish(*this, product);
      for (const Operand &element : product.instruction->operands[0].elements)
        --summedByProducts[element.reg];
      for (const Operand &element : product.instruction->operands[1].elements)
        --readByProducts[element.reg];
      --productsUnderWay;
    }
    products.pop_front();
  }
}

void Warp::checkNotUnderWay(const Operand &operand) const {
  if (operand.reg >= 0 && (summedByProducts[operand.reg] || readByProducts[operand.reg]))
    throw Fault(FaultKind::Race, "a register of an MMA in flight is used before wgmma.wait_group");
  for (const Operand &element : operand.elements)
    checkNotUnderWay(element);
}

void Warp::awaitLoad(const Operand &registers) {
  isLoading.resize(this->registers.size());
  for (const Operand &element : registers.elements) {
    loading.push_back(element.reg);
    isLoading[size_t(element.reg)] = 1;
  }
}

void Warp::endLoads() {
  for (int reg : loading)
    isLoading[size_t(reg)] = 0;
  loading.clear();
}

void Warp::checkLoaded(const Operand &operand) const {
  if (operand.reg >= 0 && isLoading[size_t(operand.reg)])
    throw Fault(FaultKind::Race, "a register is used that a load of tensor memory fills, before tcgen05.wait::ld");
  for (const Operand &element : operand.elements)
    checkLoaded(element);
}

void Warp::fenceRegisters() {
  std::fill(isUnfenced.begin(), isUnfenced.end(), uint8_t(0));
  everFenced = true;
}

void Warp::checkFenced(const Operand &operand) const {
  for (const Operand &element : operand.elements) {
    if (element.kind != Operand::Register)
      throw Fault(FaultKind::Trap, "an MMA with operands that are not registers");
    if (!everFenced || isUnfenced[element.reg])
      throw Fault(FaultKind::Race, "a register of an MMA was written, without a wgmma.fence.sync.aligned between");
  }
}

std::byte *Warp::local(int lane, uint64_t offset, int64_t bytes) {
  uint64_t size = uint64_t(block.function.localBytes);
  if (offset > size || uint64_t(bytes) > size - offset)
    throw Fault(FaultKind::OutOfBounds, std::to_string(bytes) + " bytes at " + std::to_string(int64_t(offset)) +
                                            " of local memory, of which a thread has " + std::to_string(size));
  return localMemory.data() + size_t(lane) * size + offset;
}

Warp::Group Warp::pick() const {
  Group group;
  group.place = group.others = INT_MAX;
  // Lanes that wait for others run with them, and are not picked separately.
  for (uint32_t ready = live & ~held; ready; ready &= ready - 1)
    group.place = std::min(group.place, places[__builtin_ctz(ready)]);
  for (uint32_t rest = live; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    if (places[lane] == group.place)
      group.mask |= 1u << lane;
    else if (!(held >> lane & 1) || places[lane] > group.place)
      group.others = std::min(group.others, places[lane]);
  }
  return group;
}

void Warp::settle(const Group &group) {
  for (uint32_t rest = group.mask; rest; rest &= rest - 1)
    places[__builtin_ctz(rest)] = group.place;
}

void Warp::stuck() const {
  std::string text;
  for (uint32_t rest = held & live; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    text += (text.empty() ? "lane " : ", lane ") + std::to_string(lane) + " at line " +
            std::to_string(block.function.code[places[lane]].line);
  }
  throw Fault(FaultKind::Divergence, "lanes wait for each other in instructions of a whole warp: " + text);
}

// True if all lanes that have to execute the instruction together have arrived; those that waited here join the group.
bool Warp::gather(Group &group, const Instruction &instruction) {
  for (uint32_t rest = held & live; rest; rest &= rest - 1)
    if (int lane = __builtin_ctz(rest); places[lane] == group.place)
      group.mask |= 1u << lane;
  uint32_t wanted = live;
  if (instruction.members >= 0) {
    Lanes<uint32_t> masks = read<uint32_t>(instruction.operands[instruction.members]);
    wanted = masks[__builtin_ctz(group.mask)];
    for (uint32_t rest = group.mask; rest; rest &= rest - 1) {
      int lane = __builtin_ctz(rest);
      if (masks[lane] != wanted)
        throw Fault(FaultKind::Divergence, "its lanes name different masks");
      if (!(wanted >> lane & 1))
        throw Fault(FaultKind::Divergence, "lane " + std::to_string(lane) + " executes it and is not in its mask");
    }
    if (wanted & ~live)
      throw Fault(FaultKind::Divergence, "its mask names a lane that has exited");
  }
  if ((group.mask & wanted) == wanted) {
    if (wanted & ~guarded(instruction, group.mask))
      throw Fault(FaultKind::Divergence, "its predicate is false in a lane that has to take part");
    held &= ~group.mask;
    return true;
  }
  held |= group.mask;
  return false;
}

uint32_t Warp::guarded(const Instruction &instruction, uint32_t mask) const {
  if (instruction.guard < 0)
    return mask;
  uint32_t result = 0;
  const Lanes<uint64_t> &predicate = registers[instruction.guard];
  for (int lane = 0; lane < lanes; ++lane)
    result |= uint32_t(bool(predicate[lane]) != instruction.guardNegated) << lane;
  return result & mask;
}

bool Warp::branch(Group &group, const Instruction &instruction, uint32_t taken) {
  if (instruction.flow == Flow::IndexedBranch) {
    Lanes<uint32_t> number = read<uint32_t>(instruction.operands[0]);
    const std::vector<Operand> &targets = instruction.operands[1].elements;
    ++group.place;
    settle(group);
    for (uint32_t rest = taken; rest; rest &= rest - 1) {
      int lane = __builtin_ctz(rest);
      if (number[lane] >= targets.size())
        throw Fault(FaultKind::Trap, "an index beyond the list of targets");
      places[lane] = int(targets[number[lane]].value);
    }
    group.mask = 0;
    return false;
  }
  int target = int(instruction.operands[0].value);
  if (taken == group.mask) {
    group.place = target;
    return group.place < group.others;
  }
  ++group.place;
  if (!taken)
    return group.place < group.others;
  settle(group);
  for (uint32_t rest = taken; rest; rest &= rest - 1)
    places[__builtin_ctz(rest)] = target;
  group.mask = 0;
  return false;
}

// One instruction; false if another group has to be picked, or the warp waits at a barrier.
bool Warp::execute(Group &group, const Instruction &instruction) {
  uint32_t active = guarded(instruction, group.mask);
  switch (instruction.flow) {
  case Flow::Branch:
  case Flow::IndexedBranch:
    return branch(group, instruction, active);
  case Flow::Exit:
    live &= ~active;
    group.mask &= ~active;
    ++group.place;
    return group.mask != 0 && group.place < group.others;
  case Flow::Converge:
  case Flow::BlockBarrier:
    if (active && !gather(group, instruction))
      return false;
    active = guarded(instruction, group.mask);
    break;
  case Flow::Next:
    break;
  }
  if (active) {
    if (productsUnderWay && instruction.name() != "wgmma")
      for (const Operand &operand : instruction.operands)
        checkNotUnderWay(operand);
    if (!loading.empty())
      for (const Operand &operand : instruction.operands)
        checkLoaded(operand);
    instruction.execute(*this, instruction, active);
    if (again) {
      again = false;
      return false;
    }
  }
  ++group.place;
  return group.place < group.others && state == State::Running;
}

Warp::State Warp::run(int64_t limit) {
  const std::vector<Instruction> &code = block.function.code;
  while (live) {
    if (!(live & ~held))
      stuck();
    Group group = pick();
    for (bool together = true; together && limit > 0; --limit) {
      if (group.place >= int(code.size())) { // the end of the code is a return
        live &= ~group.mask;
        group.mask = 0;
        break;
      }
      block.current = &code[group.place];
      block.countInstruction();
      together = execute(group, code[group.place]);
    }
    settle(group);
    if (live && (limit <= 0 || state == State::AtBarrier))
      return state;
  }
  return state = State::Done;
}

uint64_t Warp::special(Special special, int lane) const {
  uint32_t thread = uint32_t(index * lanes + lane);
  const auto &size = block.shape.block;
  uint32_t bit = 1u << lane;
  switch (special) {
  case Special::ThreadX:
    return thread % size[0];
  case Special::ThreadY:
    return thread / size[0] % size[1];
  case Special::ThreadZ:
    return thread / (size[0] * size[1]);
  case Special::BlockDimX:
    return size[0];
  case Special::BlockDimY:
    return size[1];
  case Special::BlockDimZ:
    return size[2];
  case Special::BlockX:
    return block.place[0];
  case Special::BlockY:
    return block.place[1];
  case Special::BlockZ:
    return block.place[2];
  case Special::GridDimX:
    return block.shape.grid[0];
  case Special::GridDimY:
    return block.shape.grid[1];
  case Special::GridDimZ:
    return block.shape.grid[2];
  case Special::Lane:
    return uint64_t(lane);
  case Special::WarpIndex:
    return uint64_t(index);
  case Special::WarpCount:
    return (size[0] * size[1] * size[2] + lanes - 1) / lanes;
  case Special::LaneMaskEq:
    return bit;
  case Special::LaneMaskLt:
    return bit - 1;
  case Special::LaneMaskLe:
    return (bit - 1) | bit;
  case Special::LaneMaskGt:
    return ~((bit - 1) | bit);
  case Special::LaneMaskGe:
    return ~(bit - 1);
  case Special::DynamicShared:
    return block.shape.sharedBytes;
  case Special::TotalShared:
    return uint64_t(block.shared.size());
  case Special::Multiprocessor:
    return block.place[0] % 132;
  case Special::MultiprocessorCount:
    return 132;
  case Special::Clock:
    return uint64_t(block.instructions);
  case Special::WarpSize:
    return lanes;
  }
  return 0;
}

} // namespace ptx
