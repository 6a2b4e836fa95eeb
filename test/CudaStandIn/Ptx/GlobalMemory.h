// The memory of the device. Addresses are none of the host's: who follows one there crashes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

namespace ptx {

class GlobalMemory {
public:
  // Every allocation gets addresses that were never used before, with a gap before the next.
  uint64_t allocate(int64_t bytes, int64_t alignment = 256);
  // False if no allocation begins there.
  bool free(uint64_t address);
  // Where `bytes` at `address` lie on the host, or null if they are not within one allocation.
  std::byte *find(uint64_t address, int64_t bytes);

private:
  struct Allocation {
    uint64_t first = 0, bytes = 0;
    std::byte *data = nullptr;
  };
  std::map<uint64_t, std::unique_ptr<std::byte[]>> storage;
  std::map<uint64_t, Allocation> allocations;
  Allocation last; // found most recently
  uint64_t next = uint64_t(0x70) << 40;
};

} // namespace ptx
