// One region of memory shared by the launcher and all ranks, mapped before they are forked: every rank sees it at the
// same address, so addresses inside it may be passed between ranks. It has no name, hence nothing to leave behind.
// Pages take memory when first touched; they read as zero until written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ppcrt {

class SharedRegion {
public:
  // Throws InputError when the system refuses.
  explicit SharedRegion(size_t bytes);
  ~SharedRegion();
  SharedRegion(const SharedRegion &) = delete;
  SharedRegion &operator=(const SharedRegion &) = delete;

  std::byte *data() const { return base; }
  size_t size() const { return bytes; }
  // Asks for large pages in a part that will be touched as a whole: fewer page faults, fewer misses of addresses.
  void useLargePages(size_t offset, size_t length) const;
  bool contains(const void *address, int64_t length) const {
    auto begin = reinterpret_cast<uintptr_t>(address), start = reinterpret_cast<uintptr_t>(base);
    return begin >= start && begin + length <= start + bytes;
  }

private:
  std::byte *base;
  size_t bytes;
  void *reserved; // what `base` was aligned in
};

// Hands out consecutive page-aligned parts of a region; measured first with no region, then repeated to place.
class RegionLayout {
public:
  // Offset of a new part of `bytes`.
  size_t add(size_t bytes) {
    size_t offset = used;
    used += (bytes + pageBytes - 1) / pageBytes * pageBytes;
    return offset;
  }
  size_t total() const { return used; }

  static constexpr size_t pageBytes = 4096;

private:
  size_t used = 0;
};

// Bytes of [data, data + bytes) that occupy memory.
int64_t residentBytes(const std::byte *data, int64_t bytes);

// Largest memory this process has occupied so far, shared pages that it touched included.
int64_t peakResidentBytes();

} // namespace ppcrt
