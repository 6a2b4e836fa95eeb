#include "runtime/tcp/StoreTransport.h"
#include "runtime/base/Clock.h"
#include "runtime/base/Error.h"
#include "runtime/base/Machine.h"
#include "runtime/host/Reduce.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace ppcrt::tcp {
namespace {

void copyBytes(void *to, const void *from, int64_t bytes) {
  if (bytes > 0 && to != from)
    std::memmove(to, from, size_t(bytes));
}

const std::byte *at(const void *base, int64_t offset) { return static_cast<const std::byte *>(base) + offset; }
std::byte *at(void *base, int64_t offset) { return static_cast<std::byte *>(base) + offset; }

// Whether each member gets another block of a member's operand, and not all of it.
bool isCut(CollectiveKind kind) { return kind == CollectiveKind::ReduceScatter || kind == CollectiveKind::AllToAll; }

} // namespace

StoreTransport::StoreTransport(StoreClient &store, int rank, int ranks, std::vector<std::vector<int>> groups,
                               std::string name)
    : store(store), space(std::move(name)), me(rank), ranks(ranks) {
  groups.emplace_back(size_t(ranks));
  std::iota(groups.back().begin(), groups.back().end(), 0);
  for (std::vector<int> &members : groups) {
    auto found = std::find(members.begin(), members.end(), me);
    int index = found == members.end() ? 0 : int(found - members.begin());
    links.push_back({std::move(members), index, 0});
  }
}

Transport::Request StoreTransport::keep(Pending pending) {
  pending.request = nextRequest++;
  outstanding.push_back(std::move(pending));
  return outstanding.back().request;
}

Transport::Request StoreTransport::start(const Collective &call) {
  Link &group = link(call.group);
  int members = int(group.members.size()), shift = 0;
  int64_t block = call.kind == CollectiveKind::Barrier ? 0 : call.bytes();
  if (call.kind == CollectiveKind::Permute)
    shift = (call.shift % members + members) % members;
  bool isMoved = call.kind == CollectiveKind::Permute || call.kind == CollectiveKind::Gather;
  std::string name = space + "c/" + std::to_string(call.group) + "/" + std::to_string(group.members.front()) + "/" +
                     std::to_string(group.calls++) + "/";
  auto key = [&](int from, int to) {
    return name + std::to_string(from) + (isCut(call.kind) ? "/" + std::to_string(to) : "");
  };
  Pending pending{0, call, false, {}, {}};
  auto *own = at(call.in, isCut(call.kind) ? group.index * block : 0);
  if (block)
    pending.own.assign(own, own + block);
  // What the others take.
  int64_t readers = call.kind == CollectiveKind::Permute  ? (shift != 0)
                    : call.kind == CollectiveKind::Gather ? (group.index != 0)
                                                          : members - 1;
  if (!isCut(call.kind))
    store.put(key(group.index, 0), call.in, block, readers);
  else
    for (int other = 0; other < members; ++other)
      if (other != group.index)
        store.put(key(group.index, other), at(call.in, other * block), block, 1);
  // What this one takes.
  for (int other = 0; other < members; ++other) {
    bool takes = call.kind == CollectiveKind::Permute  ? other == (group.index + members - shift) % members
                 : call.kind == CollectiveKind::Gather ? group.index == 0
                                                       : true;
    if (other != group.index && (takes || !isMoved))
      pending.parts.push_back({other, store.get(key(other, group.index)), {}, false});
  }
  return keep(std::move(pending));
}

std::string StoreTransport::messageName(int source, int destination, MessageKey key) {
  int64_t turn = sent[{source, destination, key.tag, key.microBatch}]++;
  return space + format("m/%d/%d/%lld/%lld/%lld", source, destination, (long long)key.tag, (long long)key.microBatch,
                        (long long)turn);
}

Transport::Request StoreTransport::startSend(int destination, MessageKey key, const void *bytes, int64_t size) {
  store.put(messageName(me, destination, key), bytes, size, 1);
  return endedAtOnce;
}

Transport::Request StoreTransport::startReceive(int source, MessageKey key, void *bytes, int64_t size) {
  Collective receive{CollectiveKind::Gather, everyRank, nullptr, bytes, size, DataType::I32};
  Pending pending{0, receive, true, {}, {}};
  pending.parts.push_back({source, store.get(messageName(source, me, key)), {}, false});
  return keep(std::move(pending));
}

std::vector<StoreTransport::Pending>::iterator StoreTransport::find(Request request) {
  auto found = std::find_if(outstanding.begin(), outstanding.end(),
                            [&](const Pending &pending) { return pending.request == request; });
  if (found == outstanding.end())
    fatal("request %lld is waited for, and is not under way", (long long)request);
  return found;
}

bool StoreTransport::hasArrived(Pending &pending) {
  bool all = true;
  for (Part &part : pending.parts) {
    if (!part.isThere)
      if (auto value = store.take(part.ticket)) {
        part.value = std::move(*value);
        part.isThere = true;
      }
    all &= part.isThere;
  }
  return all;
}

void StoreTransport::conclude(const Pending &pending) const {
  const Collective &call = pending.call;
  int64_t block = call.kind == CollectiveKind::Barrier ? 0 : call.bytes();
  for (const Part &part : pending.parts)
    if (int64_t(part.value.size()) != block)
      fatal("%s: %lld bytes come from rank %d in place of %lld", pending.isMessage ? "a message" : "a collective",
            (long long)part.value.size(),
            pending.isMessage ? part.member : link(call.group).members[size_t(part.member)], (long long)block);
  if (pending.isMessage)
    return copyBytes(call.out, pending.parts.front().value.data(), block);
  const Link &group = link(call.group);
  std::vector<const void *> blocks(group.members.size(), nullptr);
  blocks[size_t(group.index)] = pending.own.data();
  for (const Part &part : pending.parts)
    blocks[size_t(part.member)] = part.value.data();
  switch (call.kind) {
  case CollectiveKind::AllReduce:
  case CollectiveKind::ReduceScatter:
    return reduce(call.out, blocks.data(), int(blocks.size()), call.count, call.type, call.reduction);
  case CollectiveKind::Permute:
    return copyBytes(call.out, pending.parts.empty() ? pending.own.data() : pending.parts.front().value.data(), block);
  case CollectiveKind::Gather:
    if (group.index != 0)
      return;
    break;
  default:
    break;
  }
  for (size_t member = 0; member < blocks.size(); ++member)
    copyBytes(at(call.out, int64_t(member) * block), blocks[member], block);
}

bool StoreTransport::test(Request request) {
  if (request == endedAtOnce)
    return true;
  auto pending = find(request);
  if (!hasArrived(*pending))
    return false;
  conclude(*pending);
  outstanding.erase(pending);
  return true;
}

void StoreTransport::wait(Request request) {
  for (int64_t seen = store.arrivalCount(); !test(request); seen = store.arrivalCount())
    store.waitForArrival(seen, never);
}

void StoreTransport::waitAny(double deadline) {
  if (deadline >= never &&
      std::all_of(outstanding.begin(), outstanding.end(), [](const Pending &pending) { return pending.isTold; }))
    fatal("waits for communication, and none is under way");
  for (;;) {
    int64_t seen = store.arrivalCount();
    bool any = false;
    for (Pending &pending : outstanding)
      if (!pending.isTold && hasArrived(pending))
        any = pending.isTold = true;
    if (any || now() >= deadline)
      return;
    store.waitForArrival(seen, deadline);
  }
}

int64_t StoreTransport::clockOffset() {
  int64_t mine = machineIdentity();
  std::vector<int64_t> all(size_t(ranks), 0);
  allGather(everyRank, &mine, all.data(), 1, DataType::I64);
  bool oneMachine = mine != 0 && std::count(all.begin(), all.end(), mine) == ranks;
  return oneMachine ? 0 : store.clockOffset();
}

} // namespace ppcrt::tcp
