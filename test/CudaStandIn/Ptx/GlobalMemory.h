// The memory of the device. Addresses are none of the host's: who follows one there crashes. Where it is watched, it
// knows of each byte whether it was ever written, and what the operation that runs now has done to it.
#pragma once

#include "test/CudaStandIn/Ptx/Use.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ptx {

class GlobalMemory {
public:
  // Without `watched` uses are not recorded.
  explicit GlobalMemory(bool watched = false) : watched(watched) {}

  // Every allocation gets addresses that were never used before, with a gap before the next. It is marked as never
  // written.
  uint64_t allocate(int64_t bytes, int64_t alignment = 256);
  // False if no allocation begins there.
  bool free(uint64_t address);
  // Host address of `bytes` at `address`, or null if they are not within one allocation.
  std::byte *find(uint64_t address, int64_t bytes);
  // Overload for a use, which is recorded. Throws Fault when bytes are read that were never written.
  std::byte *use(Use use, uint64_t address, int64_t bytes);
  // "bytes 64 to 127 of an allocation of 4096 bytes"
  std::string describe(uint64_t address, uint64_t bytes) const;

  // Contiguous bytes that were used in one way.
  struct Run {
    uint64_t first, bytes;
    bool isWritten;
  };
  // All that was used since the last call, in no order.
  std::vector<Run> takeUses();

private:
  enum Mark : uint8_t { IsRead = 1, IsWritten = 2, IsDefined = 4 }; // the first two: since takeUses()
  static constexpr uint64_t blockBytes = 1024;

  struct Allocation {
    uint64_t first = 0, bytes = 0;
    std::byte *data = nullptr;
    uint8_t *marks = nullptr;     // mark of each byte
    uint8_t *isTouched = nullptr; // for each block: it is in `touched`
  };
  struct Storage {
    std::unique_ptr<std::byte[]> data;
    std::vector<uint8_t> marks, isTouched;
  };
  void touch(uint64_t offset, uint64_t bytes);

  const bool watched;
  std::map<uint64_t, Storage> storage;
  std::map<uint64_t, Allocation> allocations;
  std::vector<std::pair<uint64_t, uint64_t>> touched; // first address of an allocation, number of its block
  Allocation last;                                    // found most recently
  uint64_t next = uint64_t(0x70) << 40;
};

} // namespace ptx
