// The rate that matrix products reach on the machine in use: what MFU is measured against.
#pragma once

#include "runtime/transport/Transport.h"

namespace ppcrt {

// Edge of the square products that measure it.
inline constexpr int64_t peakProductEdge = 512;

// FLOP/s of all ranks together: each computes products for `seconds` at the same time as the others, with the threads
// that it trains with, so cores that ranks share count once. `type` is what the products read, f32 or bf16; the results
// are f32. Every rank calls it; all get the same number.
double measurePeakRate(Transport &transport, DataType type, double seconds = 0.06);

} // namespace ppcrt
