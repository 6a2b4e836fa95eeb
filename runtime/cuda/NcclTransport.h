// Communication between GPUs: each call is issued on the stream of its communicator, behind what the rank has issued
// before, and goes on while the rank does other things. Whoever waits for it makes the rank's stream wait and returns
// at once; whether it has ended is asked of events. What NCCL cannot do (buffers of the host, a permutation in place, a
// reduction onto a part of what it reads) goes through memory of the host.
#pragma once

#include "runtime/cuda/CommunicationWatch.h"
#include "runtime/cuda/StagedTransport.h"

#include <functional>
#include <vector>

namespace ppcrt::cuda {

class NcclTransport final : public Transport {
public:
  // Everything is borrowed.
  NcclTransport(CudaDevice &device, const Communicators &communicators, CudaMemory &memory, StagedTransport &staged,
                CommunicationWatch &watch);
  ~NcclTransport() override;

  int rank() const override { return staged.rank(); }
  int rankCount() const override { return staged.rankCount(); }
  int groupCount() const override { return staged.groupCount(); }
  int groupSize(int group) const override { return staged.groupSize(group); }
  int groupIndex(int group) const override { return staged.groupIndex(group); }

  Request start(const Collective &call) override;
  Request startSend(int destination, MessageKey key, const void *bytes, int64_t size) override;
  Request startReceive(int source, MessageKey key, void *bytes, int64_t size) override;
  bool test(Request request) override;
  void wait(Request request) override;
  bool waitBlocks() const override { return false; }
  void waitAny(double deadline) override;
  int64_t clockOffset() override { return staged.clockOffset(); }

private:
  struct Flight {
    Request request;
    EventHandle *ended;
    const std::string *name;
    bool isTold = false; // by waitAny()
  };
  static constexpr Request firstRequest = Request(1) << 62; // others are those of `staged`

  bool isForDevice(const Collective &call) const;
  Request issue(const CommunicationWatch::Call &what, const std::function<Status()> &call);
  Status collective(const Communicators::One &one, const Collective &call) const;
  Status exchange(const Communicators::One &one, const Collective &call) const;
  bool hasEnded(const Flight &flight) const;
  std::vector<Flight>::iterator find(Request request);
  void forget(std::vector<Flight>::iterator flight);
  Request count(Request request);

  CudaDevice &device;
  const Communicators &communicators;
  const Nccl &nccl;
  CudaMemory &memory;
  StagedTransport &staged;
  CommunicationWatch &watch;
  EventHandle *issued; // what the rank has issued when a call begins
  std::vector<Flight> flights;
  std::vector<EventHandle *> events; // that no flight uses
  int64_t stagedRequests = 0;        // that have not ended
  Request next = firstRequest;
};

} // namespace ppcrt::cuda
