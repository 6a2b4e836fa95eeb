#include "test/CudaStandIn/Ptx/SharedMemory.h"

#include <algorithm>

namespace ptx {

void SharedMemory::reset(int64_t bytes, int count) {
  // All that was recorded for earlier blocks is before `begin`.
  for (const VectorClock &clock : clocks)
    begin = std::max(begin, *std::max_element(clock.begin(), clock.end()));
  warps = count;
  data.assign(size_t(bytes), std::byte(0xcd));
  shadow.assign(size_t(bytes), {});
  readClocks.assign(size_t((bytes + 1) / 2 * count), 0);
  clocks.assign(size_t(count), {});
  for (int warp = 0; warp < count; ++warp) {
    clocks[warp].fill(begin);
    clocks[warp][warp] = begin + 1;
  }
}

void SharedMemory::synchronize(uint32_t arrived, uint32_t leaving) {
  VectorClock joined{};
  for (int warp = 0; warp < warps; ++warp)
    if (arrived >> warp & 1)
      for (int other = 0; other < warps; ++other)
        joined[other] = std::max(joined[other], clocks[warp][other]);
  for (int warp = 0; warp < warps; ++warp) {
    if (leaving >> warp & 1)
      for (int other = 0; other < warps; ++other)
        clocks[warp][other] = std::max(clocks[warp][other], joined[other]);
    if (arrived >> warp & 1)
      ++clocks[warp][warp];
  }
}

void SharedMemory::checkBounds(uint64_t offset, int64_t bytes) const {
  if (offset > data.size() || uint64_t(bytes) > data.size() - offset)
    throw Fault(FaultKind::OutOfBounds, std::to_string(bytes) + " bytes at " + std::to_string(int64_t(offset)) +
                                            " of shared memory, of which the block has " + std::to_string(data.size()));
}

void SharedMemory::race(const char *what, uint64_t offset, int warp, int other) const {
  throw Fault(FaultKind::Race, "byte " + std::to_string(offset) + " of shared memory: warp " + std::to_string(warp) +
                                   " " + what + " warp " + std::to_string(other) + ", and no barrier lies between");
}

void SharedMemory::recordWrite(uint64_t byte, int warp, bool atomic) {
  Shadow &at = shadow[byte];
  at.writeClock = clocks[warp][warp];
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
                                       " of shared memory is used while an asynchronous copy into it is under way");
    if (use != Use::Write && !at.initialized)
      throw Fault(FaultKind::Uninitialized,
                  "byte " + std::to_string(byte) + " of shared memory is read and was never written");
    bool ordered = !at.initialized || before(at.writeClock, at.writeWarp, warp) || (use == Use::Atomic && at.atomic);
    if (!ordered)
      race(use == Use::Read ? "reads what was written by" : "writes over what was written by", byte, warp,
           at.writeWarp);
    if (use == Use::Read) {
      at.readers |= 1u << warp;
      readClocks[byte / 2 * warps + warp] = clocks[warp][warp];
      continue;
    }
    for (uint32_t readers = at.readers; readers; readers &= readers - 1)
      if (int reader = __builtin_ctz(readers); !before(readClocks[byte / 2 * warps + reader], reader, warp))
        race("writes over what was read by", byte, warp, reader);
    recordWrite(byte, warp, use == Use::Atomic);
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
    recordWrite(byte, warp, false);
  }
  return data.data() + offset;
}

} // namespace ptx
