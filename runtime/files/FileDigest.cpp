// Chunks, one after the other.
#include "runtime/files/FileDigest.h"
#include "runtime/base/Checksum.h"
#include "runtime/files/File.h"

#include <algorithm>
#include <vector>

namespace ppcrt {

// A bijection of 64 bits (the finalizer of SplitMix64): sums of what it gives do not depend on order, and places count.
static uint64_t mixed(uint64_t value) {
  value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9;
  value = (value ^ value >> 27) * 0x94D049BB133111EB;
  return value ^ value >> 31;
}

uint64_t digestPart(const std::string &path, int64_t bytes, int64_t begin, int64_t end) {
  InputFile file(path);
  std::vector<std::byte> chunk(size_t(std::min(bytes, digestChunkBytes)));
  uint64_t sum = 0;
  for (int64_t i = begin; i < end; ++i) {
    int64_t offset = i * digestChunkBytes, size = std::min(digestChunkBytes, bytes - offset);
    file.readAt(chunk.data(), size, offset);
    sum += mixed(uint64_t(i + 1) << 32 ^ crc32c(chunk.data(), size_t(size)));
  }
  return sum;
}

} // namespace ppcrt
