// Communication of what lies on a GPU through memory of the host: before a call that reads, what the rank has issued is
// finished and what is read is copied out; when it has ended, what it wrote is copied in. Any transport of hosts then
// connects ranks, several on one GPU, too. What is not in the arena is the host's and goes as it is.
#pragma once

#include "runtime/cuda/CudaMemory.h"
#include "runtime/transport/Transport.h"

#include <map>

namespace ppcrt::cuda {

class StagedTransport final : public Transport {
public:
  // `mirror` is as long as the memory, and where `host` can send from; everything is borrowed.
  StagedTransport(Transport &host, CudaMemory &memory, std::byte *mirror)
      : host(host), memory(memory), mirror(mirror) {}

  int rank() const override { return host.rank(); }
  int rankCount() const override { return host.rankCount(); }
  int groupCount() const override { return host.groupCount(); }
  int groupSize(int group) const override { return host.groupSize(group); }
  int groupIndex(int group) const override { return host.groupIndex(group); }

  Request start(const Collective &call) override;
  Request startSend(int destination, MessageKey key, const void *bytes, int64_t size) override;
  Request startReceive(int source, MessageKey key, void *bytes, int64_t size) override;
  bool test(Request request) override;
  void wait(Request request) override;
  void waitAny(double deadline) override { host.waitAny(deadline); }
  int64_t clockOffset() override { return host.clockOffset(); }

private:
  struct Result {
    int64_t place, bytes; // in the arena
  };
  // Where the host has what lies at `address`, or will have it.
  std::byte *staged(const void *address) const;
  void copyOut(const void *address, int64_t bytes);
  // Remembers what `request` writes to `address`.
  Request keep(Request request, const void *address, int64_t bytes);
  void finish(Request request);

  Transport &host;
  CudaMemory &memory;
  std::byte *mirror;
  std::map<Request, Result> results;
};

} // namespace ppcrt::cuda
