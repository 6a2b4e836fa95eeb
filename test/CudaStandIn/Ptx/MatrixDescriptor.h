// Matrices of 16-bit elements in shared memory, addressed by the descriptors of warpgroup and tensor memory MMAs (PTX
// ISA, "Matrix descriptor", "Shared memory descriptor"). Those with swizzled 16-byte units are executed here:
// with rows of 128 bytes, bits 4 to 6 of an address are changed by its bits 7 to 9 (fewer with rows of 64 or 32). A
// matrix has its K dimension along rows of 64 elements, eight rows in 1024 bytes, eight rows further after `stride`
// bytes; or its other dimension, 64 elements further after `leading` bytes and eight K further after `stride`.
#pragma once

#include "test/CudaStandIn/Ptx/Fault.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ptx {

constexpr int productDepth = 16; // K of one instruction, in 16-bit elements

struct MatrixDescriptor {
  uint64_t start, leading, stride; // bytes
  uint64_t width;                  // bytes of a row of eight, whose 16-byte units are swizzled

  // `architecture`: 90 for sm_90a. Throws Fault.
  MatrixDescriptor(uint64_t bits, int architecture)
      : start((bits & 0x3fff) << 4), leading((bits >> 16 & 0x3fff) << 4), stride((bits >> 32 & 0x3fff) << 4),
        width(bits >> 62 ? 256 >> (bits >> 62) : 0) {
    if (!width || bits >> 61 & 1)
      throw Fault(FaultKind::Trap, "a matrix descriptor without swizzling of 16 bytes, which is not executed here");
    if (bits >> 49 & 7 || start >> 7 & (width / 16 - 1))
      throw Fault(FaultKind::Trap, "a matrix descriptor whose pattern does not begin at a multiple of eight rows");
    if (architecture >= 100 && ((bits >> 46 & 7) != 1 || bits >> 52 & 0x1ff))
      throw Fault(FaultKind::Trap, "a matrix descriptor of another architecture");
  }

  uint64_t swizzled(uint64_t place) const { return place ^ (place >> 7 & (width / 16 - 1)) << 4; }
  // Address of the 16 bytes with an element: row (of A, or column of B) and k.
  uint64_t place(int row, int k, bool alongRows) const {
    uint64_t along = width / 2; // elements of a row of eight
    uint64_t r = uint64_t(row), s = uint64_t(k);
    return swizzled(start + (alongRows ? r / along * leading + s / 8 * stride + s % 8 * width + r % along * 2
                                       : r / 8 * stride + r % 8 * width + s * 2));
  }
};

// `count` rows from `first` on, [row][k]; `bytesOf(place)` are 16 bytes of shared memory.
template <class BytesOf>
void readMatrix(const MatrixDescriptor &descriptor, int first, int count, bool alongRows, uint16_t *elements,
                const BytesOf &bytesOf) {
  constexpr int together = 8; // elements in 16 bytes
  int steps = alongRows ? productDepth : count, run = alongRows ? count : productDepth;
  for (int step = 0; step < steps; ++step)
    for (int i = 0; i < run; i += together) {
      int row = first + (alongRows ? i : step), k = alongRows ? step : i;
      const std::byte *bytes = bytesOf(descriptor.place(row, k, alongRows));
      for (int j = 0; j < together; ++j) {
        uint16_t &element = alongRows ? elements[(i + j) * productDepth + step] : elements[step * productDepth + i + j];
        std::memcpy(&element, bytes + 2 * j, 2);
      }
    }
}

} // namespace ptx
