// Shared memory and its measurement.
#include "runtime/host/Memory.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <sys/mman.h>
#include <sys/resource.h>

namespace ppcrt {

SharedRegion::SharedRegion(size_t size) : bytes(std::max(size, RegionLayout::pageBytes)) {
  void *mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED)
    throw InputError(withErrno("cannot reserve " + formatBytes(double(bytes)) + " of address space for the ranks"));
  base = static_cast<std::byte *>(mapped);
}

SharedRegion::~SharedRegion() { munmap(base, bytes); }

int64_t residentBytes(const std::byte *data, int64_t bytes) {
  constexpr size_t page = RegionLayout::pageBytes;
  constexpr size_t chunkPages = 4096;
  auto begin = reinterpret_cast<uintptr_t>(data) / page * page;
  auto end = (reinterpret_cast<uintptr_t>(data) + bytes + page - 1) / page * page;
  std::vector<unsigned char> flags(chunkPages);
  int64_t pages = 0;
  for (uintptr_t at = begin; at < end; at += chunkPages * page) {
    size_t count = std::min<size_t>(chunkPages, (end - at) / page);
    if (mincore(reinterpret_cast<void *>(at), count * page, flags.data()) != 0)
      return 0;
    pages += std::count_if(flags.begin(), flags.begin() + count, [](unsigned char flag) { return flag & 1; });
  }
  return pages * int64_t(page);
}

int64_t peakResidentBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t(usage.ru_maxrss) * 1024;
}

} // namespace ppcrt
