// Copies around calls.
#include "runtime/cuda/StagedTransport.h"

namespace ppcrt::cuda {

std::byte *StagedTransport::staged(const void *address) const {
  int64_t place = memory.placeOf(address);
  return place >= 0 ? mirror + place : static_cast<std::byte *>(const_cast<void *>(address));
}

void StagedTransport::copyOut(const void *address, int64_t bytes) {
  if (int64_t place = memory.placeOf(address); place >= 0 && bytes > 0)
    memory.copyOut(place, mirror + place, bytes);
}

Transport::Request StagedTransport::keep(Request request, const void *address, int64_t bytes) {
  int64_t place = memory.placeOf(address);
  if (place < 0 || bytes <= 0)
    return request;
  if (request == endedAtOnce)
    memory.copyIn(place, mirror + place, bytes);
  else
    results[request] = {place, bytes};
  return request;
}

void StagedTransport::finish(Request request) {
  auto found = results.find(request);
  if (found == results.end())
    return;
  memory.copyIn(found->second.place, mirror + found->second.place, found->second.bytes);
  results.erase(found);
}

Transport::Request StagedTransport::start(const Collective &call) {
  int64_t block = call.bytes(), members = groupSize(call.group);
  bool readsAll = call.kind == CollectiveKind::ReduceScatter || call.kind == CollectiveKind::AllToAll;
  bool writesAll = call.kind == CollectiveKind::AllGather || call.kind == CollectiveKind::AllToAll;
  copyOut(call.in, readsAll ? block * members : block);
  Collective onHost = call;
  onHost.in = staged(call.in);
  onHost.out = staged(call.out);
  return keep(host.start(onHost), call.out, writesAll ? block * members : block);
}

Transport::Request StagedTransport::startSend(int destination, MessageKey key, const void *bytes, int64_t size) {
  copyOut(bytes, size);
  return host.startSend(destination, key, staged(bytes), size);
}

Transport::Request StagedTransport::startReceive(int source, MessageKey key, void *bytes, int64_t size) {
  return keep(host.startReceive(source, key, staged(bytes), size), bytes, size);
}

bool StagedTransport::test(Request request) {
  if (!host.test(request))
    return false;
  finish(request);
  return true;
}

void StagedTransport::wait(Request request) {
  host.wait(request);
  finish(request);
}

} // namespace ppcrt::cuda
