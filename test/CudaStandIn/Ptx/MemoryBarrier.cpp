// mbarrier.*: barriers that a thread can arrive at without waiting, and that count the bytes of bulk copies.
#include "test/CudaStandIn/Ptx/MemoryBarrier.h"

#include "test/CudaStandIn/Ptx/Access.h"

namespace ptx {

void MemoryBarriers::initialize(Warp &warp, uint64_t offset, uint32_t count) {
  constexpr uint32_t mostArrivals = (1 << 20) - 1;
  if (!count || count > mostArrivals)
    throw Fault(FaultKind::Barrier, "a memory barrier for " + std::to_string(count) + " arrivals");
  if (barriers.count(offset))
    throw Fault(FaultKind::Barrier, "the memory barrier at byte " + std::to_string(offset) +
                                        " is initialized twice, without mbarrier.inval between");
  if (made == mostMemoryBarriers)
    throw Fault(FaultKind::Barrier, "more than " + std::to_string(made) + " memory barriers in a block");
  block.shared.use(Use::Write, offset, 8, warp.index);
  MemoryBarrier &barrier = barriers[offset];
  barrier.number = made++;
  barrier.expected = barrier.pending = count;
  barrier.maker = warp.index;
  barrier.madeAt = block.shared.timeOfWarp(warp.index);
}

void MemoryBarriers::invalidate(Warp &warp, uint64_t offset) {
  at(warp, offset);
  block.shared.use(Use::Write, offset, 8, warp.index);
  barriers.erase(offset);
}

MemoryBarrier &MemoryBarriers::at(Warp &warp, uint64_t offset) {
  auto found = barriers.find(offset);
  if (found == barriers.end())
    throw Fault(FaultKind::Barrier, "no memory barrier is initialized at byte " + std::to_string(offset));
  if (!block.shared.before(found->second.madeAt, found->second.maker, warp.index))
    throw Fault(FaultKind::Race, "warp " + std::to_string(warp.index) + " uses the memory barrier at byte " +
                                     std::to_string(offset) + ", which warp " + std::to_string(found->second.maker) +
                                     " has initialized, without a barrier between");
  block.shared.use(Use::Atomic, offset, 8, warp.index);
  return found->second;
}

MemoryBarrier &MemoryBarriers::forCopy(Warp &warp, uint64_t offset) {
  MemoryBarrier &barrier = at(warp, offset);
  if (!barrier.isVisible)
    throw Fault(FaultKind::Barrier, "the memory barrier at byte " + std::to_string(offset) +
                                        " is not known to the asynchronous proxy: no fence.mbarrier_init or "
                                        "fence.proxy.async followed its initialization");
  return barrier;
}

void MemoryBarriers::arrive(Warp &warp, uint64_t offset, uint32_t count) {
  MemoryBarrier &barrier = at(warp, offset);
  if (count > barrier.pending)
    throw Fault(FaultKind::Barrier, "the memory barrier at byte " + std::to_string(offset) + " is for " +
                                        std::to_string(barrier.expected) + " arrivals a phase, and gets more");
  block.shared.release(warp.index, barrier.arriving);
  barrier.pending -= count;
  endPhase(barrier);
}

void MemoryBarriers::arriveLater(uint64_t offset, const Knowledge &known) {
  MemoryBarrier &barrier = barriers.at(offset);
  if (!barrier.pending)
    throw Fault(FaultKind::Barrier, "the memory barrier at byte " + std::to_string(offset) + " is for " +
                                        std::to_string(barrier.expected) + " arrivals a phase, and gets more");
  barrier.arriving.add(known);
  --barrier.pending;
  endPhase(barrier);
}

void MemoryBarriers::expect(Warp &warp, uint64_t offset, int64_t bytes) {
  constexpr int64_t mostBytes = (1 << 20) - 1;
  MemoryBarrier &barrier = at(warp, offset);
  barrier.bytes += bytes;
  if (barrier.bytes > mostBytes)
    throw Fault(FaultKind::Barrier, "the memory barrier at byte " + std::to_string(offset) + " expects " +
                                        std::to_string(barrier.bytes) + " bytes, of at most " +
                                        std::to_string(mostBytes));
}

void MemoryBarriers::bring(uint64_t offset, int64_t bytes) {
  MemoryBarrier &barrier = barriers.at(offset);
  barrier.bytes -= bytes;
  endPhase(barrier);
}

void MemoryBarriers::endPhase(MemoryBarrier &barrier) {
  if (barrier.pending || barrier.bytes)
    return;
  ++barrier.phase;
  barrier.pending = barrier.expected;
  barrier.arriving.clock[SharedMemory::timeOf(barrier.number)] = block.shared.timeOfPhase(barrier.phase);
  barrier.done = barrier.arriving;
  block.wake(barrier.waiting);
  barrier.waiting = 0;
}

void MemoryBarriers::fence(int warp) {
  for (auto &[offset, barrier] : barriers)
    barrier.isVisible |= barrier.maker == warp;
}

std::string MemoryBarriers::missing() const {
  std::string text;
  for (const auto &[offset, barrier] : barriers)
    if (barrier.waiting)
      text += (text.empty() ? "at the memory barrier at byte " : ", at the memory barrier at byte ") +
              std::to_string(offset) + " phase " + std::to_string(barrier.phase) + " lacks " +
              std::to_string(barrier.pending) + " of " + std::to_string(barrier.expected) + " arrivals and " +
              std::to_string(barrier.bytes) + " bytes";
  return text;
}

namespace {

uint64_t placeOf(Warp &warp, const Operand &operand, int lane) {
  uint64_t address = warp.address(operand, lane);
  if ((address & windowMask) == sharedWindow)
    address -= sharedWindow;
  if (address % 8)
    throw Fault(FaultKind::Misaligned, "a memory barrier is at no multiple of 8");
  return address;
}

// mbarrier.init [address], count
void initialize(Warp &warp, const Instruction &instruction, uint32_t mask) {
  Lanes<uint32_t> count = warp.read<uint32_t>(instruction.operands[1]);
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    warp.block.memoryBarriers.initialize(warp, placeOf(warp, instruction.operands[0], lane), count[lane]);
  }
}

void invalidate(Warp &warp, const Instruction &instruction, uint32_t mask) {
  for (uint32_t rest = mask; rest; rest &= rest - 1)
    warp.block.memoryBarriers.invalidate(warp, placeOf(warp, instruction.operands[0], __builtin_ctz(rest)));
}

enum Arrival : uint32_t { Plain, Expecting, ExpectOnly };

// mbarrier.arrive state, [address](, count); mbarrier.arrive.expect_tx state, [address], bytes; mbarrier.expect_tx
// [address], bytes. The state is not returned: phases are waited for by parity.
void arrive(Warp &warp, const Instruction &instruction, uint32_t mask) {
  size_t first = instruction.variant == ExpectOnly ? 0 : 1;
  Lanes<uint32_t> number;
  number.fill(1);
  if (instruction.operands.size() > first + 1)
    number = warp.read<uint32_t>(instruction.operands[first + 1]);
  MemoryBarriers &barriers = warp.block.memoryBarriers;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    uint64_t place = placeOf(warp, instruction.operands[first], lane);
    if (instruction.variant != Plain)
      barriers.expect(warp, place, number[lane]);
    if (instruction.variant != ExpectOnly)
      barriers.arrive(warp, place, instruction.variant == Plain ? number[lane] : 1);
  }
}

// mbarrier.test_wait.parity|try_wait.parity p, [address], parity(, time). The latter may wait or give up: it waits, and
// now and then gives up, which a kernel has to expect. Lanes of a warp wait together.
void wait(Warp &warp, const Instruction &instruction, uint32_t mask) {
  Lanes<uint32_t> parity = warp.read<uint32_t>(instruction.operands[2]);
  Lanes<bool> ended{};
  bool givesUp = !instruction.variant || warp.block.flip();
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    MemoryBarrier &barrier = warp.block.memoryBarriers.at(warp, placeOf(warp, instruction.operands[1], lane));
    if (parity[lane] > 1)
      throw Fault(FaultKind::Barrier, "a phase has parity 0 or 1, not " + std::to_string(parity[lane]));
    ended[lane] = barrier.hasEnded(parity[lane]);
    if (ended[lane])
      warp.block.shared.acquire(warp.index, barrier.done);
    else if (!givesUp) {
      barrier.waiting |= 1u << warp.index;
      return warp.tryAgain();
    }
  }
  warp.write(instruction.operands[0], ended, mask);
}

} // namespace

bool decodeMemoryBarrier(Instruction &instruction) {
  size_t operands = instruction.operands.size();
  auto isPlace = [&](size_t i) { return i < operands && instruction.operands[i].kind == Operand::Address; };
  if ((!instruction.has("shared") && !instruction.has("shared::cta")) || !instruction.has("b64"))
    return false;
  if (instruction.has("init")) {
    instruction.execute = &initialize;
    return operands == 2 && isPlace(0);
  }
  if (instruction.has("inval")) {
    instruction.execute = &invalidate;
    return operands == 1 && isPlace(0);
  }
  if (instruction.has("test_wait") || instruction.has("try_wait")) {
    instruction.variant = instruction.has("try_wait");
    instruction.execute = &wait;
    return instruction.has("parity") && (operands == 3 || (operands == 4 && instruction.variant)) && isPlace(1);
  }
  instruction.execute = &arrive;
  if (instruction.has("arrive")) {
    instruction.variant = instruction.has("expect_tx") ? Expecting : Plain;
    return isPlace(1) && (operands == 3 || (operands == 2 && instruction.variant == Plain)) &&
           instruction.operands[0].kind == Operand::Discard;
  }
  instruction.variant = ExpectOnly;
  return instruction.has("expect_tx") && operands == 2 && isPlace(0);
}

} // namespace ptx
