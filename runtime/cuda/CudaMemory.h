// The arena of a rank on its GPU. Copies are ordered behind what the rank has issued before; `address` is the device's.
#pragma once

#include "runtime/core/DeviceMemory.h"
#include "runtime/core/Manifest.h"
#include "runtime/cuda/CudaDevice.h"

#include <algorithm>

namespace ppcrt::cuda {

class CudaMemory final : public DeviceMemory {
public:
  CudaMemory(CudaDevice &device, int64_t bytes)
      : device(device), bytes(bytes), arena(device.allocate(std::max<int64_t>(bytes, leastBytes), "the arena")) {}
  ~CudaMemory() override { device.free(arena); }
  CudaMemory(const CudaMemory &) = delete;
  CudaMemory &operator=(const CudaMemory &) = delete;

  // Takes other memory, at another address, in which only what the buffers hold from step to step is zero. What a
  // program reads before it has written it is then found by tools that know of memory that nobody has written.
  void renew(const Device &layout) {
    device.free(arena);
    arena = device.reserve(std::max<int64_t>(bytes, leastBytes), "the arena");
    for (const Buffer &buffer : layout.buffers)
      if (buffer.role != Role::Saved && buffer.role != Role::Scratch && buffer.role != Role::Message &&
          buffer.role != Role::Input)
        clear(buffer.offset, buffer.bytes);
  }

  int64_t size() const override { return bytes; }
  std::byte *address(int64_t place) const override { return reinterpret_cast<std::byte *>(arena + Address(place)); }
  void clear(int64_t place, int64_t count) override { device.clear(arena + Address(place), count); }
  void copyIn(int64_t place, const void *from, int64_t count) override {
    device.copyIn(arena + Address(place), from, count);
  }
  void copyOut(int64_t place, void *to, int64_t count) const override {
    device.copyOut(arena + Address(place), to, count);
  }
  void copy(int64_t to, int64_t from, int64_t count) override {
    device.copy(arena + Address(to), arena + Address(from), count);
  }

  // Where an address of the device lies in the arena, or -1.
  int64_t placeOf(const void *address) const {
    auto at = reinterpret_cast<uintptr_t>(address);
    return at >= arena && at - arena < Address(std::max<int64_t>(bytes, leastBytes)) ? int64_t(at - arena) : -1;
  }

private:
  static constexpr int64_t leastBytes = 4096; // as everywhere

  CudaDevice &device;
  int64_t bytes;
  Address arena;
};

} // namespace ppcrt::cuda
