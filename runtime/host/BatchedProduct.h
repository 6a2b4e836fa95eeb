// Many small f32 products of one shape as one oneDNN matmul with batch dimensions: less overhead for each, and all
// threads get work. Primitives are created once for each shape and kept.
#pragma once

#include "runtime/host/Gemm.h"

namespace ppcrt {

// Runs the products of all loops of a normalized problem (every loop has a C stride that is not 0, every size is at
// least 1). False, with nothing done, when oneDNN has no fast implementation for these strides.
bool runBatched(const GemmProblem &problem, bool accumulate, const float *a, const float *b, float *c);

} // namespace ppcrt
