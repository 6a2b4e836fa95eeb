#include "test/CudaStandIn/Ptx/GlobalMemory.h"

#include <algorithm>
#include <iterator>

namespace ptx {

uint64_t GlobalMemory::allocate(int64_t bytes, int64_t alignment) {
  constexpr uint64_t gap = 4096;
  uint64_t multiple = uint64_t(std::max<int64_t>(alignment, 1));
  uint64_t address = (next + multiple - 1) / multiple * multiple;
  auto data = std::make_unique<std::byte[]>(size_t(std::max<int64_t>(bytes, 1)));
  allocations[address] = {address, uint64_t(bytes), data.get()};
  storage[address] = std::move(data);
  next = address + uint64_t(bytes) + gap;
  return address;
}

bool GlobalMemory::free(uint64_t address) {
  last = {};
  allocations.erase(address);
  return storage.erase(address) == 1;
}

std::byte *GlobalMemory::find(uint64_t address, int64_t bytes) {
  if (address - last.first >= last.bytes) { // also where the address is below it
    auto after = allocations.upper_bound(address);
    if (after == allocations.begin())
      return nullptr;
    last = std::prev(after)->second;
  }
  uint64_t offset = address - last.first;
  if (offset > last.bytes || uint64_t(bytes) > last.bytes - offset)
    return nullptr;
  return last.data + offset;
}

} // namespace ptx
