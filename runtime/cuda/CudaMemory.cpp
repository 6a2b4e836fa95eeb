// Copies within and between the two memories.
#include "runtime/cuda/CudaMemory.h"

#include <cstring>

namespace ppcrt::cuda {

CudaMemory::CudaMemory(CudaDevice &device, const Device &layout)
    : device(device), layout(layout), arena(device.allocate(arenaBytes(), "the arena")) {
  if (layout.hostBytes)
    host = device.allocateOnHost(layout.hostBytes);
}

CudaMemory::~CudaMemory() {
  for (EventHandle *event : ended)
    device.driver.eventDestroy(event);
  if (copies) {
    device.driver.eventDestroy(issued);
    device.driver.streamDestroy(copies);
  }
  if (host)
    device.freeOnHost(host);
  device.free(arena);
}

void CudaMemory::renew() {
  device.free(arena);
  arena = device.reserve(arenaBytes(), "the arena");
  for (const Buffer &buffer : layout.buffers)
    if (buffer.role != Role::Saved && buffer.role != Role::Scratch && buffer.role != Role::Message &&
        buffer.role != Role::Input && buffer.role != Role::Gathered)
      clear(buffer.offset, buffer.bytes);
}

void CudaMemory::clear(int64_t place, int64_t count) {
  if (!isOnHost(place))
    return device.clear(onDevice(place), count);
  device.finish();
  std::memset(onHost(place), 0, size_t(count));
}

void CudaMemory::copyIn(int64_t place, const void *from, int64_t count) {
  if (!isOnHost(place))
    return device.copyIn(onDevice(place), from, count);
  device.finish();
  std::memcpy(onHost(place), from, size_t(count));
}

void CudaMemory::copyOut(int64_t place, void *to, int64_t count) const {
  if (!isOnHost(place))
    return device.copyOut(onDevice(place), to, count);
  device.finish();
  std::memcpy(to, onHost(place), size_t(count));
}

void CudaMemory::copy(int64_t to, int64_t from, int64_t count, StreamHandle *on) {
  if (!count)
    return;
  if (isOnHost(from) && isOnHost(to)) { // nothing does so yet
    device.finish();
    std::memmove(onHost(to), onHost(from), size_t(count));
  } else if (isOnHost(from)) {
    device.copyFromHost(onDevice(to), onHost(from), count, on);
  } else if (isOnHost(to)) {
    device.copyToHost(onHost(to), onDevice(from), count, on);
  } else {
    device.check(device.driver.copyAsync(onDevice(to), onDevice(from), size_t(count), on), "cuMemcpyDtoDAsync");
  }
}

DeviceMemory::Copy CudaMemory::startCopy(int64_t to, int64_t from, int64_t count) {
  if (!copies) {
    copies = device.addStream();
    issued = device.addEvent();
  }
  device.record(issued, device.stream);
  device.await(copies, issued);
  copy(to, from, count, copies);
  // Events of copies that have ended are used again.
  size_t place = 0;
  while (place < ended.size() && !hasEnded(numbers[place]))
    ++place;
  if (place == ended.size()) {
    ended.push_back(device.addEvent());
    numbers.push_back(done);
  }
  device.record(ended[place], copies);
  return numbers[place] = started++;
}

void CudaMemory::await(Copy copy) {
  auto place = std::find(numbers.begin(), numbers.end(), copy);
  if (copy != done && place != numbers.end())
    device.await(device.stream, ended[size_t(place - numbers.begin())]);
}

bool CudaMemory::hasEnded(Copy copy) {
  auto place = std::find(numbers.begin(), numbers.end(), copy);
  if (copy == done || place == numbers.end())
    return true;
  Status status = device.driver.eventQuery(ended[size_t(place - numbers.begin())]);
  if (status == notReady)
    return false;
  device.check(status, "cuEventQuery");
  *place = done;
  return true;
}

} // namespace ppcrt::cuda
