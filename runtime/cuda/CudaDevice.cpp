// Context, stream, memory.
#include "runtime/cuda/CudaDevice.h"
#include "runtime/base/Clock.h"
#include "runtime/base/Error.h"

#include <cstring>
#include <unistd.h>

namespace ppcrt::cuda {

static constexpr unsigned nonBlocking = 1; // of streams: they do not wait for the stream of nobody

CudaDevice::CudaDevice(const Driver &driver, int number) : driver(driver), number(number) {
  int device = 0, major = 0, minor = 0;
  char text[128] = {};
  driver.check(driver.deviceGet(&device, number), "cuDeviceGet");
  driver.check(driver.deviceGetName(text, sizeof text - 1, device), "cuDeviceGetName");
  driver.check(driver.deviceGetAttribute(&major, computeCapabilityMajor, device), "cuDeviceGetAttribute");
  driver.check(driver.deviceGetAttribute(&minor, computeCapabilityMinor, device), "cuDeviceGetAttribute");
  name = text;
  architecture = major * 10 + minor;
  driver.check(driver.primaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  driver.check(driver.ctxSetCurrent(context), "cuCtxSetCurrent");
  driver.check(driver.streamCreate(&stream, nonBlocking), "cuStreamCreate");
  nameMemory("the context and other programs");
}

CudaDevice::~CudaDevice() {
  driver.streamDestroy(stream);
  driver.primaryCtxRelease(number);
}

StreamHandle *CudaDevice::addStream() {
  int least = 0, most = 0;
  StreamHandle *added = nullptr;
  check(driver.getPriorities(&least, &most), "cuCtxGetStreamPriorityRange");
  check(driver.streamCreateWithPriority(&added, nonBlocking, most), "cuStreamCreateWithPriority");
  return added;
}

EventHandle *CudaDevice::addEvent() {
  constexpr unsigned withoutTimes = 2;
  EventHandle *event = nullptr;
  check(driver.eventCreate(&event, withoutTimes), "cuEventCreate");
  return event;
}

EventHandle *CudaDevice::addTimedEvent() {
  EventHandle *event = nullptr;
  check(driver.eventCreate(&event, 0), "cuEventCreate");
  return event;
}

double CudaDevice::secondsBetween(EventHandle *from, EventHandle *to) const {
  float milliseconds = 0;
  check(driver.eventElapsedTime(&milliseconds, from, to), "cuEventElapsedTime");
  return 1e-3 * double(milliseconds);
}

void CudaDevice::beginGraph() {
  constexpr int ofThisThread = 1;
  check(driver.beginCapture(stream, ofThisThread), "cuStreamBeginCapture");
}

GraphInstanceHandle *CudaDevice::endGraph() {
  GraphHandle *graph = nullptr;
  GraphInstanceHandle *instance = nullptr;
  check(driver.endCapture(stream, &graph), "cuStreamEndCapture");
  Status status = driver.graphInstantiate(&instance, graph, 0);
  driver.graphDestroy(graph);
  check(status, "cuGraphInstantiate");
  return instance;
}

void CudaDevice::check(Status status, const char *what) const {
  if (status == success)
    return;
  stopIfGivenUp();
  try {
    driver.check(status, what);
  } catch (const InputError &error) {
    throw InputError(format("GPU %d: %s%s", number, error.what(),
                            issuedBody()
                                ? (" while \"" + *issuedBody() +
                                   "\" is run (with CUDA_LAUNCH_BLOCKING=1 in the environment that is where it "
                                   "failed, otherwise there or before)")
                                      .c_str()
                                : ""));
  }
}

void CudaDevice::nameMemory(const char *what) {
  size_t available = 0, total = 0;
  check(driver.memGetInfo(&available, &total), "cuMemGetInfo");
  int64_t before = 0;
  for (const auto &[by, bytes] : taken)
    before += bytes;
  taken.emplace_back(what, int64_t(total - available) - before);
}

std::string CudaDevice::describeMemory() const {
  size_t available = 0, total = 0;
  check(driver.memGetInfo(&available, &total), "cuMemGetInfo");
  std::string text = "of " + formatBytes(double(total));
  for (size_t i = 0; i < taken.size(); ++i)
    text += std::string(i ? ", " : " ") + taken[i].first + (i ? " " : " take ") + formatBytes(double(taken[i].second));
  return text;
}

int64_t CudaDevice::availableBytes() const {
  size_t available = 0, total = 0;
  check(driver.memGetInfo(&available, &total), "cuMemGetInfo");
  return int64_t(available);
}

Address CudaDevice::reserve(int64_t bytes, const char *what) {
  Address address = 0;
  Status status = driver.memAlloc(&address, size_t(bytes));
  if (status == outOfMemory)
    throw InputError(format("GPU %d (%s): %s needs %s, and %s are free; %s: compile for more GPUs, a smaller "
                            "micro-batch, or recomputation",
                            number, name.c_str(), what, formatBytes(double(bytes)).c_str(),
                            formatBytes(double(availableBytes())).c_str(), describeMemory().c_str()));
  check(status, "cuMemAlloc");
  return address;
}

Address CudaDevice::allocate(int64_t bytes, const char *what) {
  Address address = reserve(bytes, what);
  clear(address, bytes);
  return address;
}

std::byte *CudaDevice::allocateOnHost(int64_t bytes) {
  void *address = nullptr;
  Status status = driver.memHostAlloc(&address, size_t(bytes), 0);
  if (status == outOfMemory)
    throw InputError(
        format("the host has no %s of memory left that GPU %d (%s) could copy from: compile for more GPUs, "
               "or without --offload",
               formatBytes(double(bytes)).c_str(), number, name.c_str()));
  check(status, "cuMemHostAlloc");
  std::memset(address, 0, size_t(bytes));
  return static_cast<std::byte *>(address);
}

void CudaDevice::clear(Address to, int64_t bytes) {
  if (bytes)
    check(driver.memsetAsync(to, 0, size_t(bytes), stream), "cuMemsetD8Async");
}

void CudaDevice::copy(Address to, Address from, int64_t bytes) {
  if (bytes)
    check(driver.copyAsync(to, from, size_t(bytes), stream), "cuMemcpyDtoDAsync");
}

void CudaDevice::copyIn(Address to, const void *from, int64_t bytes) {
  if (!bytes)
    return;
  check(driver.copyInAsync(to, from, size_t(bytes), stream), "cuMemcpyHtoDAsync");
  finish();
}

void CudaDevice::copyOut(Address from, void *to, int64_t bytes) {
  if (!bytes)
    return;
  check(driver.copyOutAsync(to, from, size_t(bytes), stream), "cuMemcpyDtoHAsync");
  finish();
}

void CudaDevice::finish() {
  waiting = now();
  Status status = driver.streamSynchronize(stream);
  waiting = 0;
  stopIfGivenUp();
  check(status, "cuStreamSynchronize");
}

void CudaDevice::stopIfGivenUp() const {
  while (isGivenUp)
    pause();
}

void CudaDevice::launch(FunctionHandle *function, int64_t blocks, int64_t threads, int64_t sharedBytes,
                        void **parameters) {
  check(driver.launchKernel(function, unsigned(blocks), 1, 1, unsigned(threads), 1, 1, unsigned(sharedBytes), stream,
                            parameters, nullptr),
        "cuLaunchKernel");
}

} // namespace ppcrt::cuda
