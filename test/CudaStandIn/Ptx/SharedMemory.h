// The shared memory of a block, and what was done to each byte of it: whether it was written, by which warp and when,
// and who read it since. Times are vector clocks of the warps (Flanagan and Freund, "FastTrack", PLDI 2009): of two
// uses by different warps, one of them a write, a barrier must order one before the other.
#pragma once

#include "test/CudaStandIn/Ptx/Fault.h"
#include "test/CudaStandIn/Ptx/Use.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ptx {

// When a warp is, in the times of all warps of its block.
using VectorClock = std::array<uint32_t, 32>;

class SharedMemory {
public:
  // Everything uninitialized; earlier uses have happened before.
  void reset(int64_t bytes, int warps);

  int64_t size() const { return int64_t(data.size()); }
  VectorClock &clock(int warp) { return clocks[warp]; }
  // The warps of `arrived` come to a barrier; those of `leaving` go on after all of them.
  void synchronize(uint32_t arrived, uint32_t leaving);

  // The bytes, after a check of the use. Throws Fault.
  std::byte *use(Use use, uint64_t offset, int64_t bytes, int warp);
  // An asynchronous copy into these bytes has been started: until landed() nobody may use them.
  void startCopy(uint64_t offset, int64_t bytes, int warp);
  std::byte *land(uint64_t offset, int64_t bytes, int warp);

private:
  struct Shadow {
    uint32_t writeClock = 0;
    uint8_t writeWarp = 0;
    bool initialized = false, inFlight = false, atomic = false;
    uint32_t readers = 0; // warps since the last write
  };
  void checkBounds(uint64_t offset, int64_t bytes) const;
  void recordWrite(uint64_t byte, int warp, bool atomic);
  bool before(uint32_t when, int of, int warp) const { return of == warp || when <= clocks[warp][of]; }
  [[noreturn]] void race(const char *what, uint64_t offset, int warp, int other) const;

  std::vector<std::byte> data;
  std::vector<Shadow> shadow;       // of each byte
  std::vector<uint32_t> readClocks; // of each two bytes and warp
  std::vector<VectorClock> clocks;
  uint32_t begin = 0; // the time at which the block began
  int warps = 0;
};

} // namespace ptx
