// A hash of a file's content that can be formed in parts, by several ranks of one machine that read the same file.
#pragma once

#include <cstdint>
#include <string>

namespace ppcrt {

// Files are cut into chunks of so many bytes, the last one shorter.
inline constexpr int64_t digestChunkBytes = int64_t(1) << 20;
inline int64_t digestChunks(int64_t bytes) { return (bytes + digestChunkBytes - 1) / digestChunkBytes; }

// The part of the hash that chunks [begin, end) make up: the hash is the sum of the parts, modulo 2^64. Each chunk
// gives a number that is another one for another CRC-32C or another place, so that files of one size that differ in up
// to 32 neighbouring bits never have the same hash, and others with a chance of 2^-32. Reads the chunks once, in order.
// Throws InputError when the file cannot be read or is shorter.
uint64_t digestPart(const std::string &path, int64_t bytes, int64_t begin, int64_t end);

} // namespace ppcrt
