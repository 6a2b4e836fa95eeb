// A GPU as one rank uses it: a context, one stream on which everything is done in the order in which it is issued, and
// memory. Used by one thread, and looked at by another. Everything throws InputError that names the call and the body
// that was issued last.
#pragma once

#include "runtime/cuda/Driver.h"

#include <atomic>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace ppcrt::cuda {

class CudaDevice {
public:
  // `driver` is borrowed; `number` counts from 0.
  CudaDevice(const Driver &driver, int number);
  ~CudaDevice();
  CudaDevice(const CudaDevice &) = delete;
  CudaDevice &operator=(const CudaDevice &) = delete;

  const Driver &driver;
  const int number;
  std::string name;
  int architecture = 0; // major * 10 + minor of its compute capability: 80, 103
  StreamHandle *stream = nullptr;

  // Bytes that can be allocated now.
  int64_t availableBytes() const;
  // What has been taken since the last call, or since the device was made, is called `what` from now on (a literal).
  void nameMemory(const char *what);
  // "of 80.0 GiB the context and other programs take 480.0 MiB, communicators 1.2 GiB"
  std::string describeMemory() const;
  // From a multiple of 256 on: of any content, or zeros. `what` is for the error that names how much there is.
  Address reserve(int64_t bytes, const char *what);
  Address allocate(int64_t bytes, const char *what);
  void free(Address address) { driver.memFree(address); }
  // Zeros in memory of the host that the device copies from and to by itself.
  std::byte *allocateOnHost(int64_t bytes);
  void freeOnHost(std::byte *address) { driver.memFreeHost(address); }

  // Issued; the host may not count on it before finish().
  void clear(Address to, int64_t bytes);
  void copy(Address to, Address from, int64_t bytes);
  // Between memories; the host's is of allocateOnHost. On `on`.
  void copyFromHost(Address to, const std::byte *from, int64_t bytes, StreamHandle *on) {
    check(driver.copyInAsync(to, from, size_t(bytes), on), "cuMemcpyHtoDAsync");
  }
  void copyToHost(std::byte *to, Address from, int64_t bytes, StreamHandle *on) {
    check(driver.copyOutAsync(to, from, size_t(bytes), on), "cuMemcpyDtoHAsync");
  }
  void launch(FunctionHandle *function, int64_t blocks, int64_t threads, int64_t sharedBytes, void **parameters);
  // Done when they return.
  void copyIn(Address to, const void *from, int64_t bytes);
  void copyOut(Address from, void *to, int64_t bytes);
  // All that was issued is done.
  void finish();

  // A stream beside the rank's, for communication: what is on it goes first. The caller destroys it, as it does events.
  StreamHandle *addStream();
  EventHandle *addEvent();
  // An event that knows when it happened.
  EventHandle *addTimedEvent();
  double secondsBetween(EventHandle *from, EventHandle *to) const;
  // The event happens when all that is on the stream has been done; a stream goes on when it has happened.
  void record(EventHandle *event, StreamHandle *on) { check(driver.eventRecord(event, on), "cuEventRecord"); }
  void await(StreamHandle *waits, EventHandle *event) {
    check(driver.streamWaitEvent(waits, event, 0), "cuStreamWaitEvent");
  }

  // What is launched and multiplied in between is not done, but becomes a graph, which the caller destroys.
  void beginGraph();
  GraphInstanceHandle *endGraph();
  void launch(GraphInstanceHandle *graph) { check(driver.graphLaunch(graph, stream), "cuGraphLaunch"); }

  // The body whose operations are issued now, for messages: of a fault the driver says only later that there was one.
  // Borrowed; null: none.
  void issuing(const std::string *body) { current = body ? body : current.load(); }
  const std::string *issuedBody() const { return current; }
  // Since when (now()) the host waits for what was issued; 0: it does not.
  double waitsSince() const { return waiting; }
  // Another thread ends this rank and says why: from now on the one that uses the device goes no further.
  void giveUp() { isGivenUp = true; }
  void stopIfGivenUp() const;
  // The thread that calls it may ask for events of this device from then on.
  void useHere() const { driver.ctxSetCurrent(context); }
  void check(Status status, const char *what) const;

private:
  ContextHandle *context = nullptr;
  std::vector<std::pair<const char *, int64_t>> taken; // by whom, bytes
  std::atomic<const std::string *> current{nullptr};
  std::atomic<double> waiting{0};
  std::atomic<bool> isGivenUp{false};
};

} // namespace ppcrt::cuda
