// The shared memory of a block, and what was done to each byte of it: whether it was written, by which warp and when,
// and who read it since. Times are vector clocks of the warps (Flanagan and Freund, "FastTrack", PLDI 2009): of two
// uses by different warps, one of them a write, a barrier must order one before the other.
//
// Bulk copies and MMAs of warpgroups access it through the asynchronous proxy. Writes of a warp are visible there only
// if a `fence.proxy.async` executes before or after the synchronization that orders the two. Writes of a bulk copy are
// known to warps that have waited for the phase of the memory barrier that the copy counts for: each memory barrier has
// a time of its own, which is the number of its phases.
#pragma once

#include "test/CudaStandIn/Ptx/Fault.h"
#include "test/CudaStandIn/Ptx/Use.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ptx {

// Vector clock of a warp: times of all warps of its block, then of its memory barriers, then of its MMAs.
constexpr int mostWarps = 32, mostMemoryBarriers = 64, mostTimes = mostWarps + mostMemoryBarriers + 1;
constexpr int timeOfProducts = mostTimes - 1; // how many of those in tensor memory are done
using VectorClock = std::array<uint32_t, mostTimes>;

// Knowledge of a warp, or knowledge that a waiter acquires: operations that have happened before, and those of them
// that the asynchronous proxy sees.
struct Knowledge {
  VectorClock clock{}, visible{};
  void add(const Knowledge &other);
};

class SharedMemory {
public:
  // Everything uninitialized; earlier uses have happened before.
  void reset(int64_t bytes, int warps);

  int64_t size() const { return int64_t(data.size()); }
  // The warps of `arrived` come to a barrier; those of `leaving` continue after all of them.
  void synchronize(uint32_t arrived, uint32_t leaving);
  // Variants for one warp: `release` adds its knowledge to `to`, `acquire` adds `from` to its knowledge.
  void release(int warp, Knowledge &to);
  void acquire(int warp, const Knowledge &from) { known[warp].add(from); }
  // Makes all operations that the warp knows of visible to the asynchronous proxy (fence.proxy.async).
  void fence(int warp);
  uint32_t timeOfWarp(int warp) const { return known[warp].clock[warp]; }
  // Whether what another did at that time of its own has happened before what the warp does now.
  bool before(uint32_t when, int of, int warp) const { return of == warp || when <= known[warp].clock[of]; }
  const VectorClock &clockOf(int warp) const { return known[warp].clock; }
  // Phase `phase` (from 1) of a memory barrier, or MMA `phase` in tensor memory, as a time.
  uint32_t timeOfPhase(uint64_t phase) const { return begin + uint32_t(phase); }
  static int timeOf(int memoryBarrier) { return mostWarps + memoryBarrier; }

  // The bytes, after a check of the use. Throws Fault.
  std::byte *use(Use use, uint64_t offset, int64_t bytes, int warp);
  // Overload for a read by the asynchronous proxy on behalf of a warp.
  const std::byte *useAsync(uint64_t offset, int64_t bytes, int warp);
  // Use by a tensor memory MMA, number `number`, that starts now and reads the bytes when it completes; and that read.
  void useByProduct(uint64_t offset, int64_t bytes, int warp, uint64_t number);
  const std::byte *readByProduct(uint64_t offset) const { return data.data() + offset; }
  // Marks the target of an asynchronous copy that has started: until it completes no warp may use these bytes.
  void startCopy(uint64_t offset, int64_t bytes, int warp);
  std::byte *land(uint64_t offset, int64_t bytes, int warp);
  // Variant for the asynchronous proxy, whose copies count for a phase of a memory barrier.
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
  std::vector<Shadow> shadow;         // state of each byte
  std::vector<uint32_t> readClocks;   // read times of each two bytes and warp
  std::vector<uint32_t> productReads; // last tensor memory MMA that reads each 16 bytes; empty before the first
  std::vector<Knowledge> known;       // knowledge of each warp, including its own time
  uint32_t begin = 0;                 // the time at which the block began
  int warps = 0;
};

} // namespace ptx
