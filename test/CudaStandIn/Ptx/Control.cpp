// Branches, barriers, and instructions that do nothing here.
#include "test/CudaStandIn/Ptx/Access.h"

namespace ptx {
namespace {

void nothing(Warp &, const Instruction &, uint32_t) {}

void trap(Warp &, const Instruction &, uint32_t) { throw Fault(FaultKind::Trap, "the kernel says trap"); }

// bar.sync a(, b); bar.arrive a, b; bar.red.op d, a(, b), p.
void barrier(Warp &warp, const Instruction &instruction, uint32_t mask) {
  size_t first = instruction.variant ? 1 : 0, last = instruction.operands.size() - first;
  int lane = __builtin_ctz(mask);
  auto value = [&](size_t i) { return warp.read<uint32_t>(instruction.operands[i])[lane]; };
  uint32_t predicates = 0;
  if (instruction.variant) {
    Lanes<bool> predicate = warp.read<bool>(instruction.operands[last]);
    for (int i = 0; i < lanes; ++i)
      predicates += predicate[i] && (mask >> i & 1);
  }
  bool counted = last > first + 1;
  warp.block.arrive(warp, int(value(first)), counted ? value(first + 1) : 0, !instruction.has("arrive"), predicates);
}

template <Space space> void isInSpace(Warp &warp, const Instruction &instruction, uint32_t mask) {
  Lanes<uint64_t> address = warp.read<uint64_t>(instruction.operands[1]);
  Lanes<bool> result;
  for (int lane = 0; lane < lanes; ++lane) {
    uint64_t window = address[lane] & windowMask;
    result[lane] = space == Space::Shared  ? window == sharedWindow
                   : space == Space::Local ? window == localWindow
                                           : window == 0;
  }
  warp.write(instruction.operands[0], result, mask);
}

// fence.mbarrier_init, fence.proxy.async: the asynchronous proxy sees what this warp knows of.
void fenceBarriers(Warp &warp, const Instruction &, uint32_t) { warp.block.memoryBarriers.fence(warp.index); }
void fenceProxy(Warp &warp, const Instruction &instruction, uint32_t mask) {
  fenceBarriers(warp, instruction, mask);
  warp.block.shared.fence(warp.index);
}

bool decodeBarrier(Instruction &instruction) {
  if (instruction.has("warp")) { // bar.warp.sync mask
    instruction.flow = Flow::Converge;
    instruction.members = 0;
    instruction.execute = &nothing;
    return hasOperands(instruction, 1);
  }
  if (instruction.has("cluster"))
    return false;
  instruction.flow = Flow::BlockBarrier;
  instruction.execute = &barrier;
  size_t operands = instruction.operands.size();
  if (instruction.has("red")) {
    instruction.variant = instruction.has("and") ? 1 : instruction.has("or") ? 2 : instruction.has("popc") ? 3 : 0;
    return instruction.variant && (operands == 3 || operands == 4);
  }
  return instruction.has("arrive") ? operands == 2 : instruction.has("sync") && (operands == 1 || operands == 2);
}

} // namespace

bool decodeControl(Instruction &instruction) {
  std::string name = instruction.name();
  if (name == "bra") {
    instruction.flow = Flow::Branch;
    return hasOperands(instruction, 1) && instruction.operands[0].kind == Operand::Label;
  }
  if (name == "ret" || name == "exit") {
    instruction.flow = Flow::Exit;
    return hasOperands(instruction, 0);
  }
  if (name == "trap") {
    instruction.execute = &trap;
    return hasOperands(instruction, 0);
  }
  if (name == "bar" || name == "barrier")
    return decodeBarrier(instruction);
  if (name == "isspacep") {
    instruction.execute = instruction.has("shared") || instruction.has("shared::cta") ? &isInSpace<Space::Shared>
                          : instruction.has("local")                                  ? &isInSpace<Space::Local>
                          : instruction.has("global")                                 ? &isInSpace<Space::Global>
                                                                                      : nullptr;
    return instruction.execute && hasOperands(instruction, 2);
  }
  if (name == "brx")
    return false;
  if (name == "fence" && (instruction.has("proxy") || instruction.has("mbarrier_init"))) {
    bool known = instruction.has("mbarrier_init") ||
                 (instruction.has("async") && !instruction.has("alias") && !instruction.has("tensormap"));
    instruction.execute = instruction.has("mbarrier_init") ? &fenceBarriers : &fenceProxy;
    return known && hasOperands(instruction, 0);
  }
  // Fences, prefetches and sleeps: warps run one at a time, and what one writes the others see.
  instruction.execute = &nothing;
  return true;
}

} // namespace ptx
