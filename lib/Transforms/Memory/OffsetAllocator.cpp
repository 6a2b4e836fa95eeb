// Best-fit offsets for live ranges, and the checker that does not trust it.
#include "ppc/Transforms/Memory/OffsetAllocator.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::ppc {

static int64_t alignedSize(const LiveBuffer &buffer) { return llvm::alignTo(buffer.bytes, kBufferAlignment); }

static bool meet(const LiveBuffer &a, const LiveBuffer &b) { return a.first <= b.last && b.first <= a.last; }

int64_t assignOffsets(MutableArrayRef<LiveBuffer> buffers) {
  SmallVector<LiveBuffer *> order;
  for (LiveBuffer &buffer : buffers)
    order.push_back(&buffer);
  llvm::stable_sort(order, [](LiveBuffer *a, LiveBuffer *b) { return a->bytes > b->bytes; });
  SmallVector<LiveBuffer *> placed; // sorted by offset
  int64_t total = 0;
  for (LiveBuffer *buffer : order) {
    int64_t size = alignedSize(*buffer), bestGap = INT64_MAX, bestOffset = -1, end = 0;
    for (LiveBuffer *other : placed) {
      if (!meet(*buffer, *other))
        continue;
      int64_t gap = other->offset - end;
      if (gap >= size && gap < bestGap) {
        bestGap = gap;
        bestOffset = end;
      }
      end = std::max(end, other->offset + alignedSize(*other));
    }
    buffer->offset = bestOffset >= 0 ? bestOffset : end;
    total = std::max(total, buffer->offset + size);
    placed.insert(llvm::upper_bound(placed, buffer, [](LiveBuffer *a, LiveBuffer *b) { return a->offset < b->offset; }),
                  buffer);
  }
  return total;
}

int64_t liveBytesAtPeak(ArrayRef<LiveBuffer> buffers) {
  int64_t peak = 0;
  for (const LiveBuffer &point : buffers) { // the peak is at the start of some buffer
    int64_t sum = 0;
    for (const LiveBuffer &buffer : buffers)
      if (buffer.first <= point.first && point.first <= buffer.last)
        sum += alignedSize(buffer);
    peak = std::max(peak, sum);
  }
  return peak;
}

std::optional<std::pair<size_t, size_t>> findOverlap(ArrayRef<LiveBuffer> buffers) {
  for (size_t i = 0; i < buffers.size(); ++i)
    for (size_t j = i + 1; j < buffers.size(); ++j) {
      const LiveBuffer &a = buffers[i], &b = buffers[j];
      if (meet(a, b) && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes)
        return std::pair(i, j);
    }
  return std::nullopt;
}

} // namespace mlir::ppc
