// The memory barriers of a block (mbarrier objects in its shared memory): arrivals and bytes of bulk copies that a
// phase still waits for. The eight bytes themselves are opaque: kernels may not read them, and they hold no data here.
#pragma once

#include "test/CudaStandIn/Ptx/SharedMemory.h"

#include <map>

namespace ptx {

class Block;
class Warp;

struct MemoryBarrier {
  int number = 0;                     // index of its time in vector clocks
  uint32_t expected = 0, pending = 0; // arrivals of a phase, and those that are missing
  int64_t bytes = 0;                  // that copies have to bring still; less than 0: brought and not yet expected
  uint64_t phase = 0;                 // completed phases
  uint32_t waiting = 0;               // warps
  int maker = 0;                      // warp that initialized it, and its time then
  uint32_t madeAt = 0;
  bool isVisible = false;   // to the asynchronous proxy, by a fence of that warp
  Knowledge arriving, done; // knowledge of all arrivals so far; of all arrivals at the end of the last phase

  // Whether the last completed phase has this parity.
  bool hasEnded(bool parity) const { return (phase & 1) != uint64_t(parity); }
};

class MemoryBarriers {
public:
  explicit MemoryBarriers(Block &block) : block(block) {}

  void initialize(Warp &warp, uint64_t offset, uint32_t count);
  void invalidate(Warp &warp, uint64_t offset);
  // Throws Fault if no barrier is initialized there, or not for this warp.
  MemoryBarrier &at(Warp &warp, uint64_t offset);
  // Variant for copies: also checks that the asynchronous proxy knows of it.
  MemoryBarrier &forCopy(Warp &warp, uint64_t offset);
  void arrive(Warp &warp, uint64_t offset, uint32_t count);
  // One arrival in the name of who knew this when it asked for it.
  void arriveLater(uint64_t offset, const Knowledge &known);
  void expect(Warp &warp, uint64_t offset, int64_t bytes);
  void bring(uint64_t offset, int64_t bytes);
  MemoryBarrier &landing(uint64_t offset) { return barriers.at(offset); }
  void fence(int warp);
  // Missing arrivals of the barriers that a warp waits for, for error messages.
  std::string missing() const;

private:
  void endPhase(MemoryBarrier &barrier);

  Block &block;
  std::map<uint64_t, MemoryBarrier> barriers; // by offset in shared memory
  int made = 0;
};

} // namespace ptx
