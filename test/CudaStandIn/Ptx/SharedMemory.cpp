#include "test/CudaStandIn/Ptx/SharedMemory.h"

#include <algorithm>

namespace ptx {

void Knowledge::add(const Knowledge &other) {
  for (int i = 0; i < mostTimes; ++i) {
    clock[i] = std::max(clock[i], other.clock[i]);
    visible[i] = std::max(visible[i], other.visible[i]);
  }
}

void SharedMemory::reset(int64_t bytes, int count) {
  // All that was recorded for earlier blocks is before `begin`.
  for (const Knowledge &of : known)
    begin = std::max(begin, *std::max_element(of.clock.begin(), of.clock.end()));
  warps = count;
  data.assign(size_t(bytes), std::byte(0xcd));
  shadow.assign(size_t(bytes), {});
  readClocks.assign(size_t((bytes + 1) / 2 * count), 0);
  productReads.clear();
  known.assign(size_t(count), {});
  for (int warp = 0; warp < count; ++warp) {
    known[warp].clock.fill(begin);
    known[warp].visible.fill(begin);
    now(warp) = begin + 1;
  }
}

void SharedMemory::synchronize(uint32_t arrived, uint32_t leaving) {
  Knowledge joined;
  for (int warp = 0; warp < warps; ++warp)
    if (arrived >> warp & 1)
      joined.add(known[warp]);
  for (int warp = 0; warp < warps; ++warp) {
    if (leaving >> warp & 1)
      known[warp].add(joined);
    if (arrived >> warp & 1)
      ++now(warp);
  }
}

void SharedMemory::release(int warp, Knowledge &to) {
  to.add(known[warp]);
  ++now(warp);
}

void SharedMemory::fence(int warp) {
  Knowledge &of = known[warp];
  for (int i = 0; i < mostTimes; ++i)
    of.visible[i] = std::max(of.visible[i], of.clock[i]);
  ++now(warp);
}

void SharedMemory::checkBounds(uint64_t offset, int64_t bytes) const {
  if (offset > data.size() || uint64_t(bytes) > data.size() - offset)
    throw Fault(FaultKind::OutOfBounds, std::to_string(bytes) + " bytes at " + std::to_string(int64_t(offset)) +
                                            " of shared memory, of which the block has " + std::to_string(data.size()));
}

void SharedMemory::race(const char *what, uint64_t offset, int warp, int other) const {
  std::string whom = other < mostWarps ? "warp " + std::to_string(other) + ", without a barrier between"
                                       : "a bulk copy, and has not waited for its memory barrier";
  throw Fault(FaultKind::Race, "byte " + std::to_string(offset) + " of shared memory: warp " + std::to_string(warp) +
                                   " " + what + " " + whom);
}

void SharedMemory::recordWrite(uint64_t byte, int warp, uint32_t when, bool atomic) {
  Shadow &at = shadow[byte];
  at.writeClock = when;
  at.writeWarp = uint8_t(warp);
  at.initialized = true;
  at.atomic = atomic;
  at.readers = 0;
}

std::byte *SharedMemory::use(Use use, uint64_t offset, int64_t bytes, int warp) {
  checkBounds(offset, bytes);
  for (uint64_t byte = offset; byte < offset + uint64_t(bytes); ++byte) {
    Shadow &at = shadow[byte];
    if (at.inFlight)
      throw Fault(FaultKind::Race, "byte " + std::to_string(byte) +
                                       " of shared memory is used while an asynchronous copy into it is in flight");
    if (use != Use::Write && !at.initialized)
      throw Fault(FaultKind::Uninitialized,
                  "byte " + std::to_string(byte) + " of shared memory is read and was never written");
    bool ordered = !at.initialized || before(at.writeClock, at.writeWarp, warp) || (use == Use::Atomic && at.atomic);
    if (!ordered)
      race(use == Use::Read ? "reads what was written by" : "writes over what was written by", byte, warp,
           at.writeWarp);
    if (use == Use::Read) {
      at.readers |= 1u << warp;
      readClocks[byte / 2 * warps + warp] = now(warp);
      continue;
    }
    if (!productReads.empty() && productReads[byte / 16] > known[warp].clock[timeOfProducts])
      throw Fault(FaultKind::Race, "byte " + std::to_string(byte) + " of shared memory: warp " + std::to_string(warp) +
                                       " overwrites an operand of a tensor memory MMA that it has not waited for");
    for (uint32_t readers = at.readers; readers; readers &= readers - 1)
      if (int reader = __builtin_ctz(readers); !before(readClocks[byte / 2 * warps + reader], reader, warp))
        race("writes over what was read by", byte, warp, reader);
    recordWrite(byte, warp, now(warp), use == Use::Atomic);
  }
  return data.data() + offset;
}

void SharedMemory::startCopy(uint64_t offset, int64_t bytes, int warp) {
  use(Use::Write, offset, bytes, warp);
  for (uint64_t byte = offset; byte < offset + uint64_t(bytes); ++byte)
    shadow[byte].inFlight = true;
}

std::byte *SharedMemory::land(uint64_t offset, int64_t bytes, int warp) {
  for (uint64_t byte = offset; byte < offset + uint64_t(bytes); ++byte) {
    shadow[byte].inFlight = false;
    recordWrite(byte, warp, now(warp), false);
  }
  return data.data() + offset;
}

void SharedMemory::checkVisible(uint64_t offset, int64_t bytes, int warp) const {
  for (uint64_t byte = offset; byte < offset + uint64_t(bytes); ++byte)
    if (const Shadow &at = shadow[byte];
        at.initialized && at.writeWarp < mostWarps && at.writeClock > known[warp].visible[at.writeWarp])
      throw Fault(FaultKind::Race, "byte " + std::to_string(byte) + " of shared memory was written by warp " +
                                       std::to_string(at.writeWarp) +
                                       ", and is used by the asynchronous proxy without a fence.proxy.async between");
}

const std::byte *SharedMemory::useAsync(uint64_t offset, int64_t bytes, int warp) {
  const std::byte *found = use(Use::Read, offset, bytes, warp);
  checkVisible(offset, bytes, warp);
  return found;
}

void SharedMemory::useByProduct(uint64_t offset, int64_t bytes, int warp, uint64_t number) {
  useAsync(offset, bytes, warp);
  if (productReads.empty())
    productReads.assign(data.size() / 16 + 1, 0);
  for (uint64_t piece = offset / 16; piece <= (offset + uint64_t(bytes) - 1) / 16; ++piece)
    productReads[piece] = timeOfPhase(number);
}

void SharedMemory::startBulkCopy(uint64_t offset, int64_t bytes, int warp) {
  checkBounds(offset, bytes);
  checkVisible(offset, bytes, warp);
  startCopy(offset, bytes, warp);
}

std::byte *SharedMemory::landBulkCopy(uint64_t offset, int64_t bytes, int memoryBarrier, uint64_t phase) {
  for (uint64_t byte = offset; byte < offset + uint64_t(bytes); ++byte) {
    shadow[byte].inFlight = false;
    recordWrite(byte, timeOf(memoryBarrier), timeOfPhase(phase), false);
  }
  return data.data() + offset;
}

} // namespace ptx
