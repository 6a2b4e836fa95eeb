// Search for infinities and NaNs among the values of a buffer.
#pragma once

#include "runtime/base/DataType.h"

#include <cstddef>
#include <cstdint>

namespace ppcrt {

// Index of the first of `count` values at `data` that is infinite or NaN; -1 if there is none, and for integers.
int64_t firstNotFinite(const std::byte *data, DataType type, int64_t count);

} // namespace ppcrt
