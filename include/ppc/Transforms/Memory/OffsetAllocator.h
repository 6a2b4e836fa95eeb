// Static memory allocation: live ranges in, offsets out. Best fit, largest buffer first; not optimal, but within a few
// per cent of the peak on the programs of interest (offline dynamic storage allocation is NP-complete).
#ifndef PPC_TRANSFORMS_MEMORY_OFFSETALLOCATOR_H
#define PPC_TRANSFORMS_MEMORY_OFFSETALLOCATOR_H

#include "mlir/Support/LLVM.h"
#include <cstdint>
#include <optional>
#include <utility>

namespace mlir::ppc {

/// A buffer of `bytes` that is alive in the closed interval [first, last] of program points.
struct LiveBuffer {
  int64_t bytes = 0;
  int64_t first = 0;
  int64_t last = 0;
  int64_t offset = 0; // result
};

/// Buffers start at multiples of this many bytes.
inline constexpr int64_t kBufferAlignment = 64;

/// Sets the offsets so that buffers alive at a common point do not overlap. Returns the bytes needed in all, a multiple
/// of the alignment. Quadratic in the number of buffers.
int64_t assignOffsets(MutableArrayRef<LiveBuffer> buffers);

/// The largest sum of aligned sizes alive at one point: no assignment needs less.
int64_t liveBytesAtPeak(ArrayRef<LiveBuffer> buffers);

/// The first two buffers that live at a common point and overlap, as indices; std::nullopt if the assignment is
/// right. Compares all pairs, independently of how offsets were found.
std::optional<std::pair<size_t, size_t>> findOverlap(ArrayRef<LiveBuffer> buffers);

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_MEMORY_OFFSETALLOCATOR_H
