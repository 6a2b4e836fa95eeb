// Calls, events, waiting.
#include "runtime/cuda/NcclTransport.h"
#include "runtime/base/Clock.h"
#include "runtime/base/Error.h"

#include <algorithm>
#include <unistd.h>

namespace ppcrt::cuda {
namespace {

// So many calls may be under way on a rank before events are made in a step; a driver makes those without waiting.
constexpr int eventsAtHand = 64;

bool overlap(const void *a, int64_t aBytes, const void *b, int64_t bBytes) {
  auto *first = static_cast<const char *>(a), *second = static_cast<const char *>(b);
  return first < second + bBytes && second < first + aBytes;
}

} // namespace

NcclTransport::NcclTransport(CudaDevice &device, const Communicators &communicators, CudaMemory &memory,
                             StagedTransport &staged, CommunicationWatch &watch)
    : device(device), communicators(communicators), nccl(communicators.nccl), memory(memory), staged(staged),
      watch(watch), issued(device.addEvent()) {
  for (int i = 0; i < eventsAtHand; ++i)
    events.push_back(device.addEvent());
}

NcclTransport::~NcclTransport() {
  for (const Flight &flight : flights)
    device.driver.eventDestroy(flight.ended);
  for (EventHandle *event : events)
    device.driver.eventDestroy(event);
  device.driver.eventDestroy(issued);
}

bool NcclTransport::isForDevice(const Collective &call) const {
  if (call.group < 0 || communicators.ofGroup(call.group).members < 2 || memory.placeOf(call.in) < 0 ||
      memory.placeOf(call.out) < 0)
    return false;
  int64_t block = call.bytes(), all = block * groupSize(call.group);
  auto *in = static_cast<const char *>(call.in), *out = static_cast<const char *>(call.out);
  int64_t mine = block * groupIndex(call.group);
  switch (call.kind) {
  case CollectiveKind::AllReduce:
    return true;
  case CollectiveKind::AllGather:
    return in == out + mine || !overlap(in, block, out, all);
  case CollectiveKind::ReduceScatter:
    return out == in + mine || !overlap(in, all, out, block);
  case CollectiveKind::AllToAll:
    return true; // they never overlap
  case CollectiveKind::Permute:
    return !overlap(in, block, out, block);
  default:
    return false;
  }
}

// Behind what the rank has issued; an event tells its end.
Transport::Request NcclTransport::issue(const CommunicationWatch::Call &what, const std::function<Status()> &call) {
  const Communicators::One &one = *what.over;
  EventHandle *ended = events.empty() ? device.addEvent() : events.back();
  if (!events.empty())
    events.pop_back();
  device.stopIfGivenUp();
  watch.beginning(what);
  device.record(issued, device.stream);
  device.await(one.stream, issued);
  Status status = call();
  device.stopIfGivenUp();
  nccl.check(status, one.name.c_str());
  device.record(ended, one.stream);
  watch.begun();
  flights.push_back({next, ended, &one.name});
  return next++;
}

Status NcclTransport::collective(const Communicators::One &one, const Collective &call) const {
  int type = Nccl::numberOf(call.type), reduction = Nccl::numberOf(call.reduction);
  auto count = size_t(call.count);
  switch (call.kind) {
  case CollectiveKind::AllReduce:
    return nccl.allReduce(call.in, call.out, count, type, reduction, one.handle, one.stream);
  case CollectiveKind::AllGather:
    return nccl.allGather(call.in, call.out, count, type, one.handle, one.stream);
  case CollectiveKind::ReduceScatter:
    return nccl.reduceScatter(call.in, call.out, count, type, reduction, one.handle, one.stream);
  default:
    return exchange(one, call);
  }
}

// Of a permutation: to the one that is `shift` behind, from the one before; of an all-to-all, with each.
Status NcclTransport::exchange(const Communicators::One &one, const Collective &call) const {
  int type = Nccl::numberOf(call.type);
  auto count = size_t(call.count);
  auto *in = static_cast<const char *>(call.in);
  auto *out = static_cast<char *>(call.out);
  Status status = nccl.groupStart();
  auto move = [&](int to, const char *sent, int from, char *received) {
    status = status ? status : nccl.send(sent, count, type, to, one.handle, one.stream);
    status = status ? status : nccl.receive(received, count, type, from, one.handle, one.stream);
  };
  if (call.kind == CollectiveKind::Permute) {
    int shift = (call.shift % one.members + one.members) % one.members;
    move((one.index + shift) % one.members, in, (one.index + one.members - shift) % one.members, out);
  } else {
    for (int other = 0; other < one.members; ++other)
      move(other, in + other * call.bytes(), other, out + other * call.bytes());
  }
  Status ended = nccl.groupEnd();
  return status ? status : ended;
}

Transport::Request NcclTransport::count(Request request) {
  stagedRequests += request != endedAtOnce;
  return request;
}

Transport::Request NcclTransport::start(const Collective &call) {
  if (!isForDevice(call))
    return count(staged.start(call));
  const Communicators::One &one = communicators.ofGroup(call.group);
  return issue({collectiveNames[int(call.kind)], call.bytes(), &one, -1, device.issuedBody()},
               [&] { return collective(one, call); });
}

Transport::Request NcclTransport::startSend(int destination, MessageKey key, const void *bytes, int64_t size) {
  const Communicators::One *one = communicators.ofMessages(rank(), destination);
  if (!one || memory.placeOf(bytes) < 0)
    return count(staged.startSend(destination, key, bytes, size));
  return issue({"send", size, one, key.microBatch},
               [&] { return nccl.send(bytes, size_t(size), Nccl::typeBytes, 1, one->handle, one->stream); });
}

Transport::Request NcclTransport::startReceive(int source, MessageKey key, void *bytes, int64_t size) {
  const Communicators::One *one = communicators.ofMessages(source, rank());
  if (!one || memory.placeOf(bytes) < 0)
    return count(staged.startReceive(source, key, bytes, size));
  return issue({"receive", size, one, key.microBatch},
               [&] { return nccl.receive(bytes, size_t(size), Nccl::typeBytes, 0, one->handle, one->stream); });
}

std::vector<NcclTransport::Flight>::iterator NcclTransport::find(Request request) {
  auto found =
      std::find_if(flights.begin(), flights.end(), [&](const Flight &flight) { return flight.request == request; });
  if (found == flights.end())
    fatal("request %lld is waited for, and is not under way", (long long)request);
  return found;
}

void NcclTransport::forget(std::vector<Flight>::iterator flight) {
  events.push_back(flight->ended);
  flights.erase(flight);
}

bool NcclTransport::hasEnded(const Flight &flight) const {
  Status status = device.driver.eventQuery(flight.ended);
  if (status != notReady)
    device.check(status, flight.name->c_str());
  return status == success;
}

bool NcclTransport::test(Request request) {
  if (request < firstRequest) {
    bool ended = staged.test(request);
    stagedRequests -= ended && request != endedAtOnce;
    return ended;
  }
  auto flight = find(request);
  if (!hasEnded(*flight))
    return false;
  forget(flight);
  return true;
}

void NcclTransport::wait(Request request) {
  if (request < firstRequest) {
    staged.wait(request);
    stagedRequests -= request != endedAtOnce;
    return;
  }
  auto flight = find(request);
  device.await(device.stream, flight->ended);
  forget(flight);
}

void NcclTransport::waitAny(double deadline) {
  constexpr double patience = 20e-6; // seconds between two looks at events
  for (;;) {
    for (Flight &flight : flights)
      if (!flight.isTold && hasEnded(flight)) {
        flight.isTold = true;
        return;
      }
    double time = now();
    if (time >= deadline)
      return;
    if (stagedRequests == 0) {
      usleep(useconds_t(patience * 1e6));
      continue;
    }
    bool others = std::any_of(flights.begin(), flights.end(), [](const Flight &flight) { return !flight.isTold; });
    double until = others ? std::min(deadline, time + patience) : deadline;
    staged.waitAny(until);
    if (!others || now() < until)
      return;
  }
}

} // namespace ppcrt::cuda
