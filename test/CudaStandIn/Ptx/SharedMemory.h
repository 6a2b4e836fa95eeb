// The shared memory of a block, and what was done to each byte of it: whether it was written, by which warp and when,
// and who read it since. Times are vector clocks of the warps (Flanagan and Freund, "FastTrack", PLDI 2009): of two
// uses by different warps, one of them a write, a barrier must order one before the other.
//
// Bulk copies and products of warpgroups use it through a proxy of their own, the asynchronous one. What a warp has
// written is seen there only if a `fence.proxy.async` lies between, before or after whatever orders the two. What a
// bulk copy has written is known to who has waited for the phase of the memory barrier that the copy counts for: each
// memory barrier has a time of its own, which is the number of its phases.
#pragma once

#include "test/CudaStandIn/Ptx/Fault.h"
#include "test/CudaStandIn/Ptx/Use.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ptx {

// When a warp is, in the times of all warps of its block, then of its memory barriers, then of its products.
constexpr int mostWarps = 32, mostMemoryBarriers = 64, mostTimes = mostWarps + mostMemoryBarriers + 1;
constexpr int timeOfProducts = mostTimes - 1; // how many of those in tensor memory are done
using VectorClock = std::array<uint32_t, mostTimes>;

// What a warp knows, or what is handed on to whoever waits: what has happened before, and what of it the asynchronous
// proxy sees.
struct Knowledge {
  VectorClock clock{}, visible{};
  void add(const Knowledge &other);
};

class SharedMemory {
public:
  // Everything uninitialized; earlier uses have happened before.
  void reset(int64_t bytes, int warps);

  int64_t size() const { return int64_t(data.size()); }
  // The warps of `arrived` come to a barrier; those of `leaving` go on after all of them.
  void synchronize(uint32_t arrived, uint32_t leaving);
  // The same for one warp alone: what it has done goes into `to`, or it goes on after `from`.
  void release(int warp, Knowledge &to);
  void acquire(int warp, const Knowledge &from) { known[warp].add(from); }
  // What the warp knows of is seen by the asynchronous proxy (fence.proxy.async).
  void fence(int warp);
  uint32_t timeOfWarp(int warp) const { return known[warp].clock[warp]; }
  // Whether what another did at that time of its own has happened before what the warp does now.
  bool before(uint32_t when, int of, int warp) const { return of == warp || when <= known[warp].clock[of]; }
  const VectorClock &clockOf(int warp) const { return known[warp].clock; }
  // Phase `phase` (from 1) of a memory barrier, or product `phase` in tensor memory, as a time.
  uint32_t timeOfPhase(uint64_t phase) const { return begin + uint32_t(phase); }
  static int timeOf(int memoryBarrier) { return mostWarps + memoryBarrier; }

  // The bytes, after a check of the use. Throws Fault.
  std::byte *use(Use use, uint64_t offset, int64_t bytes, int warp);
  // The same for a read by the asynchronous proxy in the name of a warp.
  const std::byte *useAsync(uint64_t offset, int64_t bytes, int warp);
  // The same for a product in tensor memory that begins now and reads the bytes when it is done, product `number`; and
  // then.
  void useByProduct(uint64_t offset, int64_t bytes, int warp, uint64_t number);
  const std::byte *readByProduct(uint64_t offset) const { return data.data() + offset; }
  // An asynchronous copy into these bytes has been started: until it lands nobody may use them.
  void startCopy(uint64_t offset, int64_t bytes, int warp);
  std::byte *land(uint64_t offset, int64_t bytes, int warp);
  // The same by the asynchronous proxy, whose copies count for a phase of a memory barrier.
  void startBulkCopy(uint64_t offset, int64_t bytes, int warp);
  std::byte *landBulkCopy(uint64_t offset, int64_t bytes, int memoryBarrier, uint64_t phase);

private:
  struct Shadow {
    uint32_t writeClock = 0;
    uint8_t writeWarp = 0; // or timeOf() a memory barrier
    bool initialized = false, inFlight = false, atomic = false;
    uint32_t readers = 0; // warps since the last write
  };
  void checkBounds(uint64_t offset, int64_t bytes) const;
  void recordWrite(uint64_t byte, int warp, uint32_t when, bool atomic);
  uint32_t &now(int warp) { return known[warp].clock[warp]; }
  // That what a warp last wrote there is seen by the asynchronous proxy.
  void checkVisible(uint64_t offset, int64_t bytes, int warp) const;
  [[noreturn]] void race(const char *what, uint64_t offset, int warp, int other) const;

  std::vector<std::byte> data;
  std::vector<Shadow> shadow;         // of each byte
  std::vector<uint32_t> readClocks;   // of each two bytes and warp
  std::vector<uint32_t> productReads; // of each 16 bytes, by the last product in tensor memory; empty before the first
  std::vector<Knowledge> known;       // of each warp; its own time among them
  uint32_t begin = 0;                 // the time at which the block began
  int warps = 0;
};

} // namespace ptx
