// Kinds of memory accesses.
#pragma once

#include <cstdint>

namespace ptx {

enum class Use : uint8_t { Read, Write, Atomic };

} // namespace ptx
