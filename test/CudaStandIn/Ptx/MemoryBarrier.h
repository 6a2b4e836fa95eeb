// The memory barriers of a block (mbarrier objects in its shared memory): arrivals and bytes of bulk copies that a
// phase still waits for. What is in the eight bytes themselves nobody may look at, and nothing is there.
#pragma once

#include "test/CudaStandIn/Ptx/SharedMemory.h"

#include <map>

namespace ptx {

class Block;
class Warp;

struct MemoryBarrier {
  int number = 0;                     // of its time in vector clocks
  uint32_t expected = 0, pending = 0; // arrivals of a phase, and those that are missing
  int64_t bytes = 0;                  // that copies have to bring still; less than 0: brought and not yet expected
  uint64_t phase = 0;                 // how many have ended
  uint32_t waiting = 0;               // warps
  int maker = 0;                      // warp that initialized it, and its time then
  uint32_t madeAt = 0;
  bool isVisible = false;   // to the asynchronous proxy, by a fence of that warp
  Knowledge arriving, done; // of all who arrived; of all who had when the last phase ended

  // Whether a phase of this parity has ended that the barrier has not gone beyond.
  bool hasEnded(bool parity) const { return (phase & 1) != uint64_t(parity); }
};

class MemoryBarriers {
public:
  explicit MemoryBarriers(Block &block) : block(block) {}

  void initialize(Warp &warp, uint64_t offset, uint32_t count);
  void invalidate(Warp &warp, uint64_t offset);
  // Throws Fault where none is initialized, or not for this warp.
  MemoryBarrier &at(Warp &warp, uint64_t offset);
  // Of a copy: also whether the asynchronous proxy knows of it.
  MemoryBarrier &forCopy(Warp &warp, uint64_t offset);
  void arrive(Warp &warp, uint64_t offset, uint32_t count);
  // One arrival in the name of who knew this when it asked for it.
  void arriveLater(uint64_t offset, const Knowledge &known);
  void expect(Warp &warp, uint64_t offset, int64_t bytes);
  void bring(uint64_t offset, int64_t bytes);
  MemoryBarrier &landing(uint64_t offset) { return barriers.at(offset); }
  void fence(int warp);
  // Of those that somebody waits for: for messages.
  std::string missing() const;

private:
  void endPhase(MemoryBarrier &barrier);

  Block &block;
  std::map<uint64_t, MemoryBarrier> barriers; // by their place in shared memory
  int made = 0;
};

} // namespace ptx
