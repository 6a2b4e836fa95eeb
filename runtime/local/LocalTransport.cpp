// Requests of a rank, and what it does while it waits.
#include "runtime/local/LocalTransport.h"
#include "runtime/base/Clock.h"
#include "runtime/base/Error.h"

#include <algorithm>

namespace ppcrt {
LocalTransport::LocalTransport(LocalWorld &world, int rank, bool ranksHaveTheirOwnCores)
    : world(world), me(rank), spinning(Spinning::of(ranksHaveTheirOwnCores)), links(world.groups.size()),
      bounces(world.bounceBytes) {
  for (size_t group = 0; group < world.groups.size(); ++group)
    for (const LocalWorld::Communicator &communicator : world.groups[group]) {
      auto found = std::find(communicator.members.begin(), communicator.members.end(), rank);
      if (found != communicator.members.end())
        links[group] = {int(communicator.members.size()), int(found - communicator.members.begin()), &communicator, 0};
    }
}

LocalTransport::Request LocalTransport::keep(Pending &pending) {
  pending.request = nextRequest++;
  outstanding.push_back(pending);
  return pending.request;
}

std::vector<LocalTransport::Pending>::iterator LocalTransport::find(Request request) {
  auto found = std::find_if(outstanding.begin(), outstanding.end(),
                            [&](const Pending &pending) { return pending.request == request; });
  if (found == outstanding.end())
    fatal("request %lld is waited for, and is not under way", (long long)request);
  return found;
}

bool LocalTransport::hasEnded(Pending &pending) const {
  const LocalWorld::Mail *mail = pending.mail;
  if (world.links && !pending.transfer) {
    if (pending.operation)
      pending.transfer = pending.operation->transferOf(pending.turn);
    else if (mail->routed.load(std::memory_order_acquire) == pending.turn)
      pending.transfer = mail->transfer.load(std::memory_order_relaxed);
    if (!pending.transfer)
      return false;
  }
  bool isThere = pending.operation ? pending.operation->hasEnded(pending.turn)
                                   : int32_t(mail->arrived.load(std::memory_order_acquire) - pending.turn) >= 0;
  return isThere && (!world.links || world.links->isDelivered(*pending.transfer));
}

uint64_t LocalTransport::beginTransfer(const LinkLayout::Route *route, const WireUse &use, double begin) const {
  return world.links && route ? world.links->begin(*route, use, begin) : 0;
}

double LocalTransport::startMoment() const {
  if (!world.links)
    return 0;
  double time = now();
  return moment > 0 && moment < time ? moment : time;
}

double LocalTransport::nextLook(double deadline) const {
  return world.links ? std::min(deadline, world.links->nextDelivery()) : deadline;
}

void LocalTransport::finish(std::vector<Pending>::iterator pending) {
  if (pending->copyBytes)
    __builtin_memcpy(pending->copyTo, pending->copyFrom, size_t(pending->copyBytes));
  if (pending->bounce >= 0)
    bounces.giveBack(pending->bounce);
  ended = world.links && pending->transfer.value_or(0) ? world.links->deliveredAt(*pending->transfer) : 0;
  outstanding.erase(pending);
}

bool LocalTransport::helpAny() {
  for (const Pending &pending : outstanding)
    if (help(pending))
      return true;
  return false;
}

void LocalTransport::helpUntil(const Pending &shown, double deadline, const std::function<bool()> &done) {
  Waiting waiting(world.status(me), shown.name, shown.first, shown.key);
  while (!done()) {
    uint32_t before = bell(me).load();
    if (helpAny()) {
      waiting.gotOn();
      continue;
    }
    double look = nextLook(deadline); // before done(): nobody rings for what links deliver
    if (done() || (deadline < never && now() >= deadline))
      return;
    bell(me).waitWhile(before, spinning, look);
  }
}

bool LocalTransport::test(Request request) {
  if (request == endedAtOnce) {
    ended = 0;
    return true;
  }
  auto pending = find(request);
  if (!hasEnded(*pending))
    return false;
  finish(pending);
  return true;
}

void LocalTransport::wait(Request request) {
  if (request == endedAtOnce) {
    ended = 0;
    return;
  }
  size_t place = size_t(find(request) - outstanding.begin()); // nothing is added or taken out meanwhile
  helpUntil(outstanding[place], never, [&] { return hasEnded(outstanding[place]); });
  finish(outstanding.begin() + std::ptrdiff_t(place));
}

void LocalTransport::waitAny(double deadline) {
  auto ended = [&] {
    bool any = false;
    for (Pending &pending : outstanding)
      if (!pending.isTold && hasEnded(pending))
        any = pending.isTold = true;
    return any;
  };
  auto shown = std::find_if(outstanding.begin(), outstanding.end(), [](const Pending &one) { return !one.isTold; });
  if (shown == outstanding.end() && deadline >= never)
    fatal("waits for communication, and none is under way");
  if (shown != outstanding.end())
    return helpUntil(*shown, deadline, ended);
  // Nothing to wait for but the time.
  for (uint32_t before = bell(me).load(); now() < deadline; before = bell(me).load())
    bell(me).waitWhile(before, {0, 0}, deadline);
}

void LocalTransport::ringMembers(int64_t group) const {
  for (int member : link(int(group)).communicator->members)
    if (member != me)
      bell(member).ring();
}

bool LocalTransport::help(const Pending &pending) {
  if (!pending.operation)
    return deliver(pending);
  SharedOperation::Done done = pending.operation->help(pending.turn, link(int(pending.first)).size);
  if (done == SharedOperation::Done::All)
    ringMembers(pending.first);
  return done != SharedOperation::Done::Nothing;
}

} // namespace ppcrt
