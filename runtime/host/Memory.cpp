// Shared memory and its measurement.
#include "runtime/host/Memory.h"
#include "runtime/base/Error.h"

#include <algorithm>
#include <sys/mman.h>
#include <sys/resource.h>

namespace ppcrt {

static constexpr size_t largePage = size_t(2) << 20;

// Large pages need addresses that are multiples of their size, which the system chooses only when asked.
SharedRegion::SharedRegion(size_t size) : bytes(std::max(size, RegionLayout::pageBytes)) {
  reserved = mmap(nullptr, bytes + largePage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  void *mapped = MAP_FAILED;
  if (reserved != MAP_FAILED) {
    auto aligned = (reinterpret_cast<uintptr_t>(reserved) + largePage - 1) / largePage * largePage;
    mapped = mmap(reinterpret_cast<void *>(aligned), bytes, PROT_READ | PROT_WRITE,
                  MAP_FIXED | MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  if (mapped == MAP_FAILED)
    throw InputError(withErrno("cannot reserve " + formatBytes(double(bytes)) + " of address space for the ranks"));
  base = static_cast<std::byte *>(mapped);
}

SharedRegion::~SharedRegion() { munmap(reserved, bytes + largePage); }

void SharedRegion::useLargePages(size_t offset, size_t length) const {
  size_t begin = (offset + largePage - 1) / largePage * largePage, end = (offset + length) / largePage * largePage;
  if (begin < end)
    madvise(base + begin, end - begin, MADV_HUGEPAGE); // where the system has none, small ones do
}

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
