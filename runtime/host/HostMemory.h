// Memory of this process as that of a device: ranks of hosts compute where the host can read.
#pragma once

#include "runtime/host/Memory.h"
#include "runtime/transport/DeviceMemory.h"

#include <cstring>

namespace ppcrt {

class HostMemory final : public DeviceMemory {
public:
  // `bytes` from `arena` on, zeros, borrowed; what is behind the first `deviceBytes` stands for memory beside a
  // device's.
  HostMemory(std::byte *arena, int64_t bytes, int64_t deviceBytes)
      : arena(arena), bytes(bytes), deviceBytes(deviceBytes) {}
  HostMemory(std::byte *arena, int64_t bytes) : HostMemory(arena, bytes, bytes) {}

  int64_t size() const override { return bytes; }
  std::byte *address(int64_t place) const override { return arena + place; }
  void clear(int64_t place, int64_t count) override { std::memset(arena + place, 0, size_t(count)); }
  void copyIn(int64_t place, const void *from, int64_t count) override {
    if (count)
      std::memcpy(arena + place, from, size_t(count));
  }
  void copyOut(int64_t place, void *to, int64_t count) const override {
    if (count)
      std::memcpy(to, arena + place, size_t(count));
  }
  void copy(int64_t to, int64_t from, int64_t count) override { copyIn(to, arena + from, count); }
  int64_t touchedBytes() const override { return residentBytes(arena, deviceBytes); }

private:
  std::byte *arena;
  int64_t bytes, deviceBytes;
};

} // namespace ppcrt
