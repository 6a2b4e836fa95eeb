// The memory of a rank of a program that is executed in time: one copy of each byte, which buffers may share.
#ifndef PPC_TEST_LIB_TIMEDMEMORY_H
#define PPC_TEST_LIB_TIMEDMEMORY_H

#include "dialects/ppc/Ppc.h"
#include "dialects/ppcrt/PpcRt.h"
#include <map>
#include <vector>

namespace mlir::ppc::test {

/// Location of a buffer on each rank of its device. Offsets, strides and sizes in bytes.
struct BufferPlace {
  ppcrt::BufferOp buffer;
  int64_t offset, stride, slots;
  int64_t elements, elementBytes; ///< elements of one slot
  ArrayRef<int64_t> places;       ///< slots of micro-batches; empty: by their numbers

  int64_t bytes() const { return elements * elementBytes; }
  int64_t slotOf(int64_t microBatch) const {
    return microBatch < int64_t(places.size()) ? places[microBatch] : microBatch % slots;
  }
  int64_t begin(int64_t slot) const { return offset + slot * stride; }
};

/// The buffers of a device, at their offsets in its arena. Those without an offset, and those in host memory, follow it
/// on separate bytes.
class MemoryLayout {
public:
  /// "", or what is wrong with an offset or a stride: past the arena, or not a multiple of the elements.
  std::string read(ppcrt::DeviceOp device);
  /// Null when the device has no such buffer.
  const BufferPlace *find(StringRef name) const;
  ArrayRef<BufferPlace> all() const { return places; }
  int64_t bytes() const { return end; }
  /// Bytes that are addressed one by one: the size of the smallest element.
  int64_t unit() const { return cellBytes; }

private:
  std::vector<BufferPlace> places;
  std::map<std::string, size_t> byName;
  int64_t end = 0, cellBytes = 8;
};

/// Holds numbers as f64 in cells of `unit` bytes: an element of several cells is in each of them, and reads as NaN
/// where they differ. Poison is NaN too, of another bit pattern than arithmetic gives.
class RankMemory {
public:
  explicit RankMemory(const MemoryLayout &layout);

  void poison(int64_t begin, int64_t end);
  void write(const BufferPlace &place, int64_t slot, ArrayRef<double> values);
  ReferenceTensor read(const BufferPlace &place, int64_t slot) const;
  /// The cells of a slot, which tell contents apart.
  ArrayRef<double> cells(const BufferPlace &place, int64_t slot) const;

private:
  int64_t unit;
  std::vector<double> memory;
};

} // namespace mlir::ppc::test

#endif // PPC_TEST_LIB_TIMEDMEMORY_H
