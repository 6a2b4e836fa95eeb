// How a rank begins a collective: buffers that peers cannot reach are copied to where they can.
#include "runtime/base/Error.h"
#include "runtime/local/LocalTransport.h"

#include <cstring>

namespace ppcrt {
namespace {

bool overlap(const void *a, const void *b, int64_t aBytes, int64_t bBytes) {
  auto from = reinterpret_cast<uintptr_t>(a), other = reinterpret_cast<uintptr_t>(b);
  return from < other + size_t(bBytes) && other < from + size_t(aBytes);
}

// memmove that allows null for nothing.
void copyBytes(void *out, const void *in, int64_t bytes) {
  if (bytes > 0 && out != in)
    std::memmove(out, in, size_t(bytes));
}

// What a member reads and writes.
struct Extent {
  int64_t in, out; // bytes
};

Extent extentOf(const Collective &call, int members, int index) {
  int64_t bytes = call.bytes();
  switch (call.kind) {
  case CollectiveKind::AllReduce:
  case CollectiveKind::Permute:
    return {bytes, bytes};
  case CollectiveKind::AllGather:
    return {bytes, bytes * members};
  case CollectiveKind::ReduceScatter:
    return {bytes * members, bytes};
  case CollectiveKind::AllToAll:
    return {bytes * members, bytes * members};
  case CollectiveKind::Gather:
    return {bytes, index == 0 ? bytes * members : 0};
  case CollectiveKind::Barrier:
    break;
  }
  return {0, 0};
}

// Whether others may write into `out` while somebody still reads `in`: results that overlap what is not their own part.
bool mustWriteElsewhere(const Collective &call, const Extent &extent, int index) {
  bool mayOverlap = call.kind == CollectiveKind::ReduceScatter || call.kind == CollectiveKind::Permute;
  const void *ownBlock = static_cast<const std::byte *>(call.in) + index * call.bytes();
  bool inPlace = call.kind == CollectiveKind::ReduceScatter && call.out == ownBlock;
  return mayOverlap && !inPlace && extent.in > 0 && overlap(call.in, call.out, extent.in, extent.out);
}

} // namespace

SharedOperation &LocalTransport::operation(const Link &link, uint64_t call) const {
  size_t place = size_t(call % LocalWorld::ringLength) * SharedOperation::bytesFor(link.size);
  return *reinterpret_cast<SharedOperation *>(world.region->data() + link.communicator->operations + place);
}

void LocalTransport::doAlone(const Collective &call) { copyBytes(call.out, call.in, call.bytes()); }

Collective LocalTransport::reachable(const Collective &call, Pending &pending) {
  const Link &link = this->link(call.group);
  Extent extent = extentOf(call, link.size, link.index);
  bool isInPlace = call.kind == CollectiveKind::AllReduce;
  bool bouncesIn = isOutside(call.in, extent.in);
  bool bouncesOut =
      isInPlace ? bouncesIn : isOutside(call.out, extent.out) || mustWriteElsewhere(call, extent, link.index);
  if (!bouncesIn && !bouncesOut)
    return call;
  int64_t inBytes = bouncesIn ? (extent.in + 63) / 64 * 64 : 0, outBytes = bouncesOut && !isInPlace ? extent.out : 0;
  pending.bounce = bounces.take(inBytes + outBytes);
  if (pending.bounce < 0)
    fatal("a %s of %lld bytes on a buffer outside the arena exceeds, with those that are under way, the limit of %lld",
          pending.name, (long long)(inBytes + outBytes), (long long)world.bounceBytes);
  Collective result = call;
  std::byte *space = world.region->data() + world.bounces[me] + pending.bounce;
  if (bouncesIn)
    result.in = __builtin_memcpy(space, call.in, size_t(extent.in));
  if (bouncesOut) {
    result.out = isInPlace ? space : space + inBytes;
    pending.copyTo = call.out;
    pending.copyFrom = result.out;
    pending.copyBytes = extent.out;
  }
  return result;
}

LocalTransport::Request LocalTransport::start(const Collective &call) {
  Link &link = this->link(call.group);
  if (link.size == 1) {
    doAlone(call);
    return endedAtOnce;
  }
  Pending pending;
  pending.name = collectiveNames[int(call.kind)];
  pending.first = call.group;
  pending.operation = &operation(link, link.calls);
  pending.turn = uint32_t(link.calls++ / LocalWorld::ringLength);
  SharedOperation &operation = *pending.operation;
  if (!operation.isFree(pending.turn))
    helpUntil(pending, never, [&] { return operation.isFree(pending.turn); });
  for (Pending &other : outstanding) // whose number on the links is about to be overwritten
    if (other.operation == &operation)
      hasEnded(other);
  if (operation.arrive(pending.turn, link.size, link.index, reachable(call, pending), startMoment())) {
    bool isSmall = operation.isSmall(link.size); // once it is open, it may end, and the next turn begin
    operation.open(
        pending.turn, link.size,
        beginTransfer(link.communicator->route, wireUse(call, link.size), operation.latestMoment(link.size)));
    if (isSmall)
      while (operation.help(pending.turn, link.size) != SharedOperation::Done::Nothing) {
      }
    ringMembers(call.group);
  }
  return keep(pending);
}

} // namespace ppcrt
