// The functions of the driver that the runtime uses, as cuda.h declares them: devices, contexts, memory, streams,
// events.
#include "test/CudaStandIn/Driver/Machine.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace standin;

namespace {

constexpr auto Read = ptx::Use::Read, Write = ptx::Use::Write;

// Host pointer to device memory that allows this use; else a fault.
std::byte *bytesAt(ptx::Use use, uint64_t address, size_t bytes, const char *what) {
  if (std::byte *found = Machine::get().memory.use(use, address, int64_t(bytes)))
    return found;
  char text[96];
  std::snprintf(text, sizeof text, "%s: %zu bytes at 0x%llx are not in one allocation", what, bytes,
                static_cast<unsigned long long>(address));
  throw ptx::Fault(ptx::FaultKind::OutOfBounds, text);
}

int enqueue(Stream *stream, const char *name, Work work) {
  Machine &machine = Machine::get();
  Lock lock(machine.mutex);
  if (int status = machine.status())
    return status;
  if (!stream)
    return machine.fail(InvalidHandle, "the default stream is not used here");
  machine.enqueue(stream, name, std::move(work));
  return machine.status();
}

} // namespace

extern "C" {

int cuInit(unsigned) {
  Lock lock(Machine::get().mutex);
  Machine &machine = Machine::get();
  if (!machine.devices)
    return NoDevice;
  machine.initialize();
  return Success;
}

int cuDriverGetVersion(int *version) {
  Lock lock(Machine::get().mutex);
  *version = Machine::get().version;
  return Success;
}

int cuGetErrorName(int status, const char **text) {
  switch (status) {
#define NAME(value, name)                                                                                              \
  case value:                                                                                                          \
    *text = #name;                                                                                                     \
    return Success;
    NAME(Success, CUDA_SUCCESS)
    NAME(InvalidValue, CUDA_ERROR_INVALID_VALUE)
    NAME(OutOfMemory, CUDA_ERROR_OUT_OF_MEMORY)
    NAME(NotInitialized, CUDA_ERROR_NOT_INITIALIZED)
    NAME(NoDevice, CUDA_ERROR_NO_DEVICE)
    NAME(InvalidDevice, CUDA_ERROR_INVALID_DEVICE)
    NAME(InvalidContext, CUDA_ERROR_INVALID_CONTEXT)
    NAME(NoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU)
    NAME(InvalidPtx, CUDA_ERROR_INVALID_PTX)
    NAME(InvalidHandle, CUDA_ERROR_INVALID_HANDLE)
    NAME(NotFound, CUDA_ERROR_NOT_FOUND)
    NAME(NotReady, CUDA_ERROR_NOT_READY)
    NAME(IllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS)
    NAME(LaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT)
    NAME(MisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS)
    NAME(LaunchFailed, CUDA_ERROR_LAUNCH_FAILED)
    NAME(NotPermitted, CUDA_ERROR_NOT_PERMITTED)
    NAME(CaptureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
#undef NAME
  default:
    *text = nullptr;
    return InvalidValue;
  }
}

int cuGetErrorString(int status, const char **text) {
  const char *name;
  *text = "error of a stand-in";
  return cuGetErrorName(status, &name);
}

int cuDeviceGetCount(int *count) {
  Lock lock(Machine::get().mutex);
  *count = Machine::get().devices;
  return Success;
}

int cuDeviceGet(int *device, int ordinal) {
  Lock lock(Machine::get().mutex);
  *device = ordinal;
  return ordinal >= 0 && ordinal < Machine::get().devices ? Success : InvalidDevice;
}

int cuDeviceGetName(char *name, int length, int) {
  std::snprintf(name, size_t(length), "stand-in");
  return Success;
}

int cuDeviceGetAttribute(int *value, int attribute, int) {
  Lock lock(Machine::get().mutex);
  constexpr int major = 75, minor = 76;
  int chip = Machine::get().chip;
  if (attribute != major && attribute != minor)
    return InvalidValue;
  *value = attribute == major ? chip / 10 : chip % 10;
  return Success;
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
  Lock lock(Machine::get().mutex);
  Machine &machine = Machine::get();
  if (++machine.contexts == 1)
    machine.used += machine.ofContext;
  *context = &machine;
  return machine.status();
}

int cuDevicePrimaryCtxRelease_v2(int) {
  Lock lock(Machine::get().mutex);
  Machine &machine = Machine::get();
  if (machine.contexts-- == 1) {
    machine.finishAll();
    machine.hostHasSeenAll();
    machine.endSteps();
    machine.used -= machine.ofContext;
  }
  return machine.status();
}

int cuCtxSetCurrent(void *context) {
  Lock lock(Machine::get().mutex);
  return context ? Machine::get().status() : InvalidContext;
}

int cuCtxSynchronize() {
  Lock lock(Machine::get().mutex);
  Machine &machine = Machine::get();
  if (!machine.mayPrepare("cuCtxSynchronize"))
    return machine.status();
  machine.finishAll();
  machine.hostHasSeenAll();
  return machine.status();
}

int cuMemGetInfo_v2(size_t *available, size_t *total) {
  Lock lock(Machine::get().mutex);
  Machine &machine = Machine::get();
  *available = size_t(machine.capacity - machine.used);
  *total = size_t(machine.capacity);
  return machine.contexts ? machine.status() : InvalidContext;
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  Lock lock(Machine::get().mutex);
  Machine &machine = Machine::get();
  if (!machine.contexts)
    return InvalidContext;
  if (!bytes)
    return InvalidValue;
  if (machine.status() || !machine.mayPrepare("cuMemAlloc"))
    return machine.status();
  if (bytes > size_t(machine.capacity - machine.used))
    return OutOfMemory;
  *address = allocate(machine, int64_t(bytes));
  return Success;
}

int cuMemFree_v2(uint64_t address) {
  Lock lock(Machine::get().mutex);
  Machine &machine = Machine::get();
  machine.finishAll();
  machine.hostHasSeenAll();
  if (!machine.memory.free(address))
    return InvalidValue;
  machine.giveBack(address);
  return machine.status();
}

int cuMemHostAlloc(void **address, size_t bytes, unsigned) {
  Lock lock(Machine::get().mutex);
  Machine &machine = Machine::get();
  if (!machine.contexts)
    return InvalidContext;
  if (machine.status() || !machine.mayPrepare("cuMemHostAlloc"))
    return machine.status();
  *address = std::malloc(bytes);
  if (!*address)
    return OutOfMemory;
  std::memset(*address, 0xa5, bytes); // nothing says that it is zero
  return Success;
}

int cuMemFreeHost(void *address) {
  Lock lock(Machine::get().mutex);
  Machine::get().finishAll();
  Machine::get().hostHasSeenAll();
  std::free(address);
  return Machine::get().status();
}

int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, Stream *stream) {
  constexpr const char *name = "cuMemsetD8Async";
  return enqueue(stream, name, [=] { std::memset(bytesAt(Write, to, bytes, name), value, bytes); });
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, Stream *stream) {
  constexpr const char *name = "cuMemcpyHtoDAsync";
  return enqueue(stream, name, [=] { std::memcpy(bytesAt(Write, to, bytes, name), from, bytes); });
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, Stream *stream) {
  constexpr const char *name = "cuMemcpyDtoHAsync";
  return enqueue(stream, name, [=] { std::memcpy(to, bytesAt(Read, from, bytes, name), bytes); });
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, Stream *stream) {
  constexpr const char *name = "cuMemcpyDtoDAsync";
  return enqueue(stream, name,
                 [=] { std::memmove(bytesAt(Write, to, bytes, name), bytesAt(Read, from, bytes, name), bytes); });
}

int cuStreamCreate(Stream **stream, unsigned) {
  Lock lock(Machine::get().mutex);
  Machine &machine = Machine::get();
  *stream = machine.addStream();
  return machine.status();
}

int cuStreamCreateWithPriority(Stream **stream, unsigned flags, int) { return cuStreamCreate(stream, flags); }

int cuCtxGetStreamPriorityRange(int *least, int *most) {
  *least = 0, *most = -5;
  return Success;
}

int cuStreamDestroy_v2(Stream *stream) {
  Lock lock(Machine::get().mutex);
  Machine::get().removeStream(stream);
  return Machine::get().status();
}

int cuStreamSynchronize(Stream *stream) {
  Lock lock(Machine::get().mutex);
  Clock issued = stream->clock;
  int status = Machine::get().finish(stream);
  Machine::get().hostHasSeen(issued);
  return status;
}

int cuStreamQuery(Stream *stream) {
  Lock lock(Machine::get().mutex);
  int status = Machine::get().status();
  if (status || !stream->items.empty())
    return status ? status : NotReady;
  Machine::get().hostHasSeen(stream->clock);
  return Success;
}

int cuStreamWaitEvent(Stream *stream, Event *event, unsigned) {
  Lock lock(Machine::get().mutex);
  Machine::get().await(stream, event);
  return Machine::get().status();
}

int cuEventCreate(Event **event, unsigned flags) {
  constexpr unsigned withoutTimes = 2;
  Lock lock(Machine::get().mutex);
  *event = new Event;
  (*event)->isTimed = !(flags & withoutTimes);
  return Machine::get().status();
}

int cuEventDestroy_v2(Event *event) {
  Lock lock(Machine::get().mutex);
  Machine::get().finish(event);
  delete event;
  return Machine::get().status();
}

int cuEventRecord(Event *event, Stream *stream) {
  Lock lock(Machine::get().mutex);
  Machine::get().record(stream, event);
  return Machine::get().status();
}

int cuEventSynchronize(Event *event) {
  Lock lock(Machine::get().mutex);
  Clock recorded = event->clock;
  int status = Machine::get().finish(event);
  Machine::get().hostHasSeen(recorded);
  return status;
}

int cuEventElapsedTime(float *milliseconds, Event *from, Event *to) {
  Lock lock(Machine::get().mutex);
  for (Event *event : {from, to}) {
    if (!event->isTimed || !event->recorded)
      return InvalidHandle;
    if (!Machine::get().hasHappened(*event))
      return NotReady;
  }
  *milliseconds = float(1e3 * (to->happened - from->happened));
  return Machine::get().status();
}

int cuEventQuery(Event *event) {
  Lock lock(Machine::get().mutex);
  Machine::get().approach(event);
  int status = Machine::get().status();
  if (status || !Machine::get().hasHappened(*event))
    return status ? status : NotReady;
  Machine::get().hostHasSeen(event->clock);
  return Success;
}

} // extern "C"
