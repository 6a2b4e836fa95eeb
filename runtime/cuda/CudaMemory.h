// The memory of a rank on a GPU: the arena on the device, and behind it what the program keeps in the memory of the
// host. Copies are ordered behind what the rank has issued before; `address` is the device's, or the host's.
#pragma once

#include "runtime/cuda/CudaDevice.h"
#include "runtime/program/Manifest.h"
#include "runtime/transport/DeviceMemory.h"

#include <algorithm>
#include <deque>

namespace ppcrt::cuda {

class CudaMemory final : public DeviceMemory {
public:
  CudaMemory(CudaDevice &device, const Device &layout);
  ~CudaMemory() override;
  CudaMemory(const CudaMemory &) = delete;
  CudaMemory &operator=(const CudaMemory &) = delete;

  // Takes another arena, at another address, in which only what the buffers hold from step to step is zero. What a
  // program reads before it has written it is then found by tools that know of memory that nobody has written.
  void renew();

  int64_t size() const override { return layout.memoryBytes(); }
  std::byte *address(int64_t place) const override {
    return isOnHost(place) ? onHost(place) : reinterpret_cast<std::byte *>(onDevice(place));
  }
  void clear(int64_t place, int64_t count) override;
  void copyIn(int64_t place, const void *from, int64_t count) override;
  void copyOut(int64_t place, void *to, int64_t count) const override;
  void copy(int64_t to, int64_t from, int64_t count) override { copy(to, from, count, device.stream); }

  // On a stream beside the rank's, one after the other.
  Copy startCopy(int64_t to, int64_t from, int64_t count) override;
  void await(Copy copy) override;
  bool hasEnded(Copy copy) override;

  // Where an address of the device lies in the arena, or -1.
  int64_t placeOf(const void *address) const {
    auto at = reinterpret_cast<uintptr_t>(address);
    return at >= arena && at - arena < Address(arenaBytes()) ? int64_t(at - arena) : -1;
  }

private:
  static constexpr int64_t leastBytes = 4096; // as everywhere

  int64_t arenaBytes() const { return std::max<int64_t>(layout.arenaBytes, leastBytes); }
  bool isOnHost(int64_t place) const { return layout.hostBytes > 0 && place >= layout.hostStart(); }
  std::byte *onHost(int64_t place) const { return host + (place - layout.hostStart()); }
  Address onDevice(int64_t place) const { return arena + Address(place); }
  void copy(int64_t to, int64_t from, int64_t count, StreamHandle *on);

  CudaDevice &device;
  const Device &layout;
  Address arena;
  std::byte *host = nullptr;
  StreamHandle *copies = nullptr;  // made with the first of them, as the events
  EventHandle *issued = nullptr;   // what the rank has issued before a copy
  std::deque<EventHandle *> ended; // of copies, by number modulo how many there are
  std::deque<Copy> numbers;        // [event]: the copy that it stands for
  Copy started = 0;
};

} // namespace ppcrt::cuda
