// Tensor maps of the fake driver: the 128 bytes that cuTensorMapEncodeTiled writes and kernels pass to tensor copies.
// The hardware's own format is not published; this one is private to the fake driver and the emulator.
#pragma once

#include <array>
#include <cstdint>

namespace ptx {

struct TensorMap {
  static constexpr uint32_t expectedMagic = 0x70614d54; // "TMap"
  static constexpr int mostRank = 5;

  uint32_t magic = expectedMagic;
  uint8_t rank = 0, elementBytes = 0;
  uint8_t swizzle = 0; // 0 none, 3: 16-byte units of rows of 128 bytes
  uint8_t unused = 0;
  uint64_t address = 0;                   // in global memory
  std::array<uint32_t, mostRank> sizes{}; // elements, the fastest dimension first
  std::array<uint16_t, mostRank> box{};   // elements of one copy
  uint16_t padding = 0;
  std::array<uint64_t, mostRank> strides{}; // bytes; of dimension 0 one element

  int64_t boxBytes() const;
};
static_assert(sizeof(TensorMap) <= 128);

// First violation of the driver's rules in a map; null if it is valid.
const char *faultOf(const TensorMap &map);

} // namespace ptx
