// The memory that a rank computes in, wherever it is. What the runtime itself reads and writes of it (initial values,
// checkpoints, files of weights, inputs, checks, metrics) goes through copies; addresses are for code of the device and
// for transports alone.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ppcrt {

// Allocated as zeros when it is made, and given back with it. Places are bytes from the beginning; what the program
// keeps in the memory of the host lies behind what is on the device (Device::hostStart).
class DeviceMemory {
public:
  virtual ~DeviceMemory() = default;

  virtual int64_t size() const = 0;
  // Where a byte lies for the device. Host code neither reads nor writes there.
  virtual std::byte *address(int64_t place) const = 0;
  // Each is done when it returns.
  virtual void clear(int64_t place, int64_t bytes) = 0;
  virtual void copyIn(int64_t place, const void *from, int64_t bytes) = 0;
  virtual void copyOut(int64_t place, void *to, int64_t bytes) const = 0;
  // Within the memory; the two parts do not overlap.
  virtual void copy(int64_t to, int64_t from, int64_t bytes) = 0;
  // The same beside what the device does: begins when all that was issued before has been done, and after the copies
  // that were started before. A number for the next two; `done` where it is done already.
  using Copy = int64_t;
  static constexpr Copy done = -1;
  virtual Copy startCopy(int64_t to, int64_t from, int64_t bytes) {
    copy(to, from, bytes);
    return done;
  }
  // Lets what is issued from now on wait for it.
  virtual void await(Copy) {}
  virtual bool hasEnded(Copy) { return true; }
  // Bytes of the device's that have been touched, in whole pages; all where the device does not tell.
  virtual int64_t touchedBytes() const { return size(); }

  // A number at `place`.
  template <typename T> T read(int64_t place) const {
    T value;
    copyOut(place, &value, sizeof value);
    return value;
  }
  template <typename T> void write(int64_t place, T value) { copyIn(place, &value, sizeof value); }
};

} // namespace ppcrt
