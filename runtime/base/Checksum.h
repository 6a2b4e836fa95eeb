// CRC-32C (Castagnoli), the checksum of checkpoints: it finds every error of up to 32 neighbouring bits, and x86 has an
// instruction for it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ppcrt {

uint32_t crc32c(const void *data, size_t bytes);

} // namespace ppcrt
