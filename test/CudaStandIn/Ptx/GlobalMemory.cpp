#include "test/CudaStandIn/Ptx/GlobalMemory.h"
#include "test/CudaStandIn/Ptx/Fault.h"

#include <algorithm>
#include <iterator>

namespace ptx {

uint64_t GlobalMemory::allocate(int64_t bytes, int64_t alignment) {
  constexpr uint64_t gap = 4096;
  uint64_t multiple = uint64_t(std::max<int64_t>(alignment, 1));
  uint64_t address = (next + multiple - 1) / multiple * multiple;
  Storage &made = storage[address];
  made.data = std::make_unique<std::byte[]>(size_t(std::max<int64_t>(bytes, 1)));
  if (watched) {
    made.marks.assign(size_t(bytes), 0);
    made.isTouched.assign(size_t(bytes) / blockBytes + 1, 0);
  }
  allocations[address] = {address, uint64_t(bytes), made.data.get(), made.marks.data(), made.isTouched.data()};
  next = address + uint64_t(bytes) + gap;
  return address;
}

bool GlobalMemory::free(uint64_t address) {
  last = {};
  touched.erase(
      std::remove_if(touched.begin(), touched.end(), [&](const auto &block) { return block.first == address; }),
      touched.end());
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

std::byte *GlobalMemory::use(Use use, uint64_t address, int64_t bytes) {
  std::byte *found = find(address, bytes);
  if (!found || !watched || bytes <= 0)
    return found;
  uint8_t *marks = last.marks + (address - last.first);
  if (use != Use::Write) {
    uint8_t all = IsDefined;
    for (int64_t i = 0; i < bytes; ++i)
      all &= marks[i];
    if (!all) {
      const uint8_t *undefined = std::find_if(marks, marks + bytes, [](uint8_t mark) { return !(mark & IsDefined); });
      const uint8_t *end = std::find_if(undefined, const_cast<const uint8_t *>(marks + bytes),
                                        [](uint8_t mark) { return mark & IsDefined; });
      throw Fault(FaultKind::Uninitialized, describe(address + uint64_t(undefined - marks), uint64_t(end - undefined)) +
                                                " are read, and were never written");
    }
  }
  const uint8_t done = use == Use::Read ? IsRead : use == Use::Write ? IsWritten | IsDefined : IsRead | IsWritten;
  for (int64_t i = 0; i < bytes; ++i)
    marks[i] |= done;
  touch(address - last.first, uint64_t(bytes));
  return found;
}

void GlobalMemory::touch(uint64_t offset, uint64_t bytes) {
  for (uint64_t block = offset / blockBytes; block <= (offset + bytes - 1) / blockBytes; ++block)
    if (!last.isTouched[block]) {
      last.isTouched[block] = 1;
      touched.emplace_back(last.first, block);
    }
}

std::vector<GlobalMemory::Run> GlobalMemory::takeUses() {
  std::vector<Run> runs;
  std::sort(touched.begin(), touched.end());
  for (auto [first, block] : touched) {
    const Allocation &of = allocations.at(first);
    of.isTouched[block] = 0;
    uint64_t end = std::min(of.bytes, (block + 1) * blockBytes);
    for (uint64_t at = block * blockBytes; at < end; ++at) {
      uint8_t used = of.marks[at] & (IsRead | IsWritten);
      if (!used)
        continue;
      of.marks[at] = IsDefined;
      bool isWritten = used & IsWritten;
      if (!runs.empty() && runs.back().first + runs.back().bytes == first + at && runs.back().isWritten == isWritten)
        ++runs.back().bytes;
      else
        runs.push_back({first + at, 1, isWritten});
    }
  }
  touched.clear();
  return runs;
}

std::string GlobalMemory::describe(uint64_t address, uint64_t bytes) const {
  auto after = allocations.upper_bound(address);
  if (after == allocations.begin())
    return "bytes outside of all allocations";
  const Allocation &of = std::prev(after)->second;
  uint64_t begin = address - of.first;
  return "bytes " + std::to_string(begin) + " to " + std::to_string(begin + bytes - 1) + " of an allocation of " +
         std::to_string(of.bytes) + " bytes";
}

} // namespace ptx
