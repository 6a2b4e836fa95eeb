// Starting and ending.
#include "runtime/executor/StreamCommunication.h"
#include "runtime/base/Clock.h"
#include "runtime/base/Error.h"
#include "runtime/executor/FiniteCheck.h"

#include <algorithm>

namespace ppcrt {

StreamCommunication::StreamCommunication(const Manifest &manifest, RankContext &context, DeviceMemory &memory)
    : manifest(manifest), device(manifest.deviceOf(context.transport.rank())), context(context), memory(memory),
      flights(device.streams.size()), landed(device.streams.size()) {}

void StreamCommunication::follow(ActionOrder &next, int64_t number, const std::vector<int64_t> *issue) {
  order = &next;
  issueOrder = issue;
  issued = 0;
  step = number;
}

void StreamCommunication::carryOn() {
  while (carryOnOnce()) {
  }
}

// Whether anything has changed, with which more may begin.
bool StreamCommunication::carryOnOnce() {
  bool changed = false;
  for (int stream = 0; stream < int(flights.size()); ++stream) {
    changed |= land(stream);
    int64_t place = order->next(stream);
    if (place == ActionOrder::none || isOfRank(order->at(place).action->kind) || !order->mayBegin(place) ||
        !isTurnOf(place))
      continue;
    order->begin(place);
    ++issued;
    if (issueOrder)
      awaitBefore(place);
    begin(place, flights[size_t(stream)].emplace_back());
    if (issueOrder)
      order->end(place, 0); // whoever comes after it waits on the device
    land(stream);
    changed = true;
  }
  return changed;
}

template <typename Condition> void StreamCommunication::waitUntil(Condition done) {
  carryOn();
  if (done())
    return;
  CommunicationTimer timer(context, {CommunicationKind::Wait, -1, -1, 0});
  while (!done()) {
    context.transport.waitAny(Transport::never);
    carryOn();
  }
}

void StreamCommunication::waitUntilMayBegin(int64_t place) {
  if (issueOrder && !order->mayBegin(place))
    fatal("action %lld of the list comes after communication that is to be begun later", (long long)place);
  if (issueOrder)
    return awaitBefore(place);
  if (!order->mayBegin(place))
    waitUntil([&] { return order->mayBegin(place); });
}

void StreamCommunication::awaitBefore(int64_t place) {
  const Action &action = *order->at(place).action;
  auto isSame = [&](const Action &other) { // communicator, whose calls come one after the other
    const std::vector<MessageEnd> &messages = device.messages;
    const std::vector<CollectiveCall> &calls = device.collectives;
    if (action.kind != other.kind || isOfRank(action.kind))
      return false;
    if (action.kind == ActionKind::Copy)
      return true;
    return action.kind == ActionKind::Collective
               ? calls[size_t(action.number)].group == calls[size_t(other.number)].group
               : action.kind == ActionKind::Send ||
                     messages[size_t(action.number)].peer == messages[size_t(other.number)].peer;
  };
  for (int stream = 0; stream < int(flights.size()); ++stream)
    for (Flight &flight : flights[size_t(stream)]) {
      const Action &other = *order->at(flight.place).action;
      bool isBefore = stream == action.stream && !isSame(other);
      for (const Dependence &after : action.after)
        isBefore |= place - after.distance == flight.place;
      if (isBefore)
        await(flight);
    }
}

void StreamCommunication::await(Flight &flight) {
  for (Transport::Request request : flight.requests)
    context.transport.wait(request);
  flight.requests.clear();
  memory.await(flight.copy);
  flight.copy = DeviceMemory::done;
}

void StreamCommunication::waitForAll() {
  if (issueOrder) {
    carryOn();
    for (int stream = 0; stream < int(flights.size()); ++stream) {
      for (Flight &flight : flights[size_t(stream)])
        await(flight);
      land(stream);
    }
  }
  if (!order->haveAllEnded())
    waitUntil([&] { return order->haveAllEnded(); });
}

bool StreamCommunication::land(int stream) {
  bool any = false;
  for (std::deque<Flight> &queue = flights[size_t(stream)]; !queue.empty(); queue.pop_front()) {
    Flight &flight = queue.front();
    std::vector<Transport::Request> &requests = flight.requests;
    requests.erase(std::remove_if(requests.begin(), requests.end(),
                                  [&](Transport::Request request) {
                                    if (!context.transport.test(request))
                                      return false;
                                    flight.moment = std::max(flight.moment, context.transport.lastEnd());
                                    return true;
                                  }),
                   requests.end());
    if (!requests.empty() || (flight.copy != DeviceMemory::done && !memory.hasEnded(flight.copy)))
      return any;
    double &before = landed[size_t(stream)], begin = std::max(flight.begin, before), end = now();
    before = end;
    context.traffic.carriedSeconds += end - begin;
    if (context.observer)
      context.observer->carried(flight.what, stream, begin, end);
    if (!issueOrder)
      order->end(flight.place, flight.moment);
    any = true;
  }
  return any;
}

void StreamCommunication::begin(int64_t place, Flight &flight) {
  const auto &[action, microBatch] = order->at(place);
  flight.place = place;
  flight.begin = now();
  flight.moment = order->readyAt(place);
  context.transport.setMoment(flight.moment);
  if (action->kind == ActionKind::Collective)
    return beginCollective(device.collectives[size_t(action->number)], microBatch, flight);
  if (action->kind == ActionKind::Copy)
    return beginCopy(device.copies[size_t(action->number)], microBatch, flight);
  const MessageEnd &end = device.messages[size_t(action->number)];
  const Buffer &buffer = device.buffers[size_t(end.buffer)];
  int peer = int(manifest.grid.rankAtStage(context.transport.rank(), end.peer));
  flight.what = {end.isSent ? CommunicationKind::Send : CommunicationKind::Receive, -1, microBatch, buffer.bytes};
  if (!end.isSent) {
    flight.requests = {
        context.transport.startReceive(peer, {end.tag, microBatch}, address(buffer, microBatch), buffer.bytes)};
    return;
  }
  if (check)
    check->beforeSend(step, microBatch, buffer);
  context.traffic.messageBytes += double(buffer.bytes);
  flight.requests = {
      context.transport.startSend(peer, {end.tag, microBatch}, address(buffer, microBatch), buffer.bytes)};
}

// Where the host waits for what it begins, a copy is done when it has been begun.
void StreamCommunication::beginCopy(const CopyCall &call, int64_t microBatch, Flight &flight) {
  const Buffer &from = device.buffers[size_t(call.from)], &to = device.buffers[size_t(call.to)];
  flight.what = {CommunicationKind::Copy, -1, microBatch, from.bytes};
  if (issueOrder)
    flight.copy = memory.startCopy(to.start(microBatch), from.start(microBatch), from.bytes);
  else
    memory.copy(to.start(microBatch), from.start(microBatch), from.bytes);
}

void StreamCommunication::beginCollective(const CollectiveCall &bucket, int64_t microBatch, Flight &flight) {
  int members = context.transport.groupSize(bucket.group);
  int64_t bytes = 0;
  for (size_t i = 0; i < bucket.reads.size(); ++i) {
    const Buffer &in = device.buffers[size_t(bucket.reads[i])], &out = device.buffers[size_t(bucket.writes[i])];
    Collective call{bucket.kind, bucket.group, address(in, microBatch), address(out, microBatch),
                    0,           in.type,      bucket.reduction};
    int64_t read = elementCount(in.shape), written = elementCount(out.shape);
    call.count = bucket.kind == CollectiveKind::ReduceScatter ? written
                 : bucket.kind == CollectiveKind::AllToAll    ? read / members
                                                              : read;
    if (bucket.kind == CollectiveKind::AllReduce && call.in != call.out)
      memory.copy(out.start(microBatch), in.start(microBatch), in.bytes);
    if (bucket.kind == CollectiveKind::AllReduce)
      call.in = call.out;
    context.count(call);
    bytes += describe(call, members).bytes;
    flight.requests.push_back(context.transport.start(call));
  }
  flight.what = {CommunicationKind(bucket.kind), bucket.group, microBatch, bytes};
}

} // namespace ppcrt
