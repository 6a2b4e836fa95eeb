// cp.async: asynchronous copies from global to shared memory. They are executed as late as the program allows, when a
// thread waits for them; until then their bytes may not be used.
#include "test/CudaStandIn/Ptx/Access.h"

#include <algorithm>

namespace ptx {
namespace {

// cp.async.ca|cg.shared.global [to], [from], bytes(, source bytes)
void start(Warp &warp, const Instruction &instruction, uint32_t mask) {
  Lanes<uint32_t> bytes = warp.read<uint32_t>(instruction.operands[2]), source = bytes;
  if (instruction.operands.size() > 3)
    source = warp.read<uint32_t>(instruction.operands[3]);
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    uint64_t to = warp.address(instruction.operands[0], lane), from = warp.address(instruction.operands[1], lane);
    if ((to & windowMask) == sharedWindow)
      to -= sharedWindow;
    int count = int(bytes[lane]), read = int(std::min(source[lane], bytes[lane]));
    if ((count != 4 && count != 8 && count != 16) || (count != 16 && instruction.has("cg")))
      throw Fault(FaultKind::Trap, std::to_string(count) + " bytes in one copy");
    if (to % uint64_t(count) || from % uint64_t(count))
      throw Fault(FaultKind::Misaligned, "a copy of " + std::to_string(count) + " bytes");
    if (read)
      bytesAt(warp, lane, Space::Global, from, read == count ? count : 1, Use::Read);
    if (read && read != count && !warp.block.global.use(Use::Read, from, read))
      throw Fault(FaultKind::OutOfBounds, "the source of a copy");
    warp.block.shared.startCopy(to, count, warp.index);
    warp.copies[lane].back().push_back({to, from, count, read});
  }
}

void commit(Warp &warp, const Instruction &, uint32_t mask) {
  for (uint32_t rest = mask; rest; rest &= rest - 1)
    warp.copies[__builtin_ctz(rest)].emplace_back();
}

// Waits until at most `left` of the closed groups are in flight.
void finish(Warp &warp, int lane, size_t left) {
  auto &groups = warp.copies[lane];
  while (groups.size() - 1 > left) {
    for (const Warp::Copy &copy : groups.front()) {
      std::byte *to = warp.block.shared.land(copy.to, copy.bytes, warp.index);
      std::memset(to, 0, size_t(copy.bytes));
      const std::byte *from = warp.block.global.find(copy.from, copy.source);
      if (copy.source && !from)
        throw Fault(FaultKind::OutOfBounds, "the source of a copy");
      if (copy.source)
        std::memcpy(to, from, size_t(copy.source));
    }
    groups.pop_front();
  }
}

void wait(Warp &warp, const Instruction &instruction, uint32_t mask) {
  for (uint32_t rest = mask; rest; rest &= rest - 1)
    finish(warp, __builtin_ctz(rest), size_t(instruction.operands[0].value));
}

void waitAll(Warp &warp, const Instruction &instruction, uint32_t mask) {
  commit(warp, instruction, mask);
  for (uint32_t rest = mask; rest; rest &= rest - 1)
    finish(warp, __builtin_ctz(rest), 0);
}

} // namespace

bool decodeAsyncCopy(Instruction &instruction) {
  if (!instruction.has("async") || instruction.has("bulk") || instruction.has("mbarrier"))
    return false;
  if (instruction.has("commit_group")) {
    instruction.execute = &commit;
    return hasOperands(instruction, 0);
  }
  if (instruction.has("wait_group")) {
    instruction.execute = &wait;
    return hasOperands(instruction, 1) && instruction.operands[0].kind == Operand::Immediate;
  }
  if (instruction.has("wait_all")) {
    instruction.execute = &waitAll;
    return hasOperands(instruction, 0);
  }
  bool spaces = (instruction.has("shared") || instruction.has("shared::cta")) && instruction.has("global");
  instruction.execute = &start;
  return spaces && (instruction.has("ca") || instruction.has("cg")) && instruction.operands.size() >= 3 &&
         instruction.operands.size() <= 4 && instruction.operands[0].kind == Operand::Address &&
         instruction.operands[1].kind == Operand::Address;
}

} // namespace ptx
