// Elementwise reduction of several buffers in a fixed order.
#pragma once

#include "runtime/base/DataType.h"

#include <cstdint>

namespace ppcrt {

// out[i] = reduction over s = 0..sourceCount-1, in this order, of sources[s][i]; bf16 accumulates in f32 and rounds
// once. `out` may be one of the sources.
void reduce(void *out, const void *const *sources, int sourceCount, int64_t count, DataType type, Reduction kind);

} // namespace ppcrt
