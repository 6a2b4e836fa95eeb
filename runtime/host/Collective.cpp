// Collectives of ranks that can read each other's memory. Three forms by size, all with the same result:
//   small   everybody copies its input to its staging slot; barrier; everybody reads what it needs.        1 barrier
//   medium  (all-reduce) member i reduces chunk i of everybody's buffers into its staging slot; everybody
//           collects the chunks.                                                                           2 barriers
//   large   the same in place or directly between buffers; a last barrier keeps inputs until all are done. 2-3 barriers
// When the slots may be reused is explained at LocalWorld::Communicator.
#include "runtime/core/Error.h"
#include "runtime/host/LocalTransport.h"
#include "runtime/host/Reduce.h"

#include <algorithm>
#include <cstring>

namespace ppcrt {
namespace {

constexpr int64_t smallReduceBytes = 64 << 10; // of all members together: everybody reduces everything
constexpr int64_t smallMoveBytes = 256 << 10;  // one more copy of the input, one barrier less

const std::byte *at(const void *base, int64_t offset) { return static_cast<const std::byte *>(base) + offset; }
std::byte *at(void *base, int64_t offset) { return static_cast<std::byte *>(base) + offset; }

// Chunk `index` of `count` elements cut for `members`, on cache line borders: [first, second).
std::pair<int64_t, int64_t> chunk(int64_t count, int members, int index) {
  int64_t length = (count + members - 1) / members;
  length = (length + 31) / 32 * 32;
  return {std::min(count, length * index), std::min(count, length * (index + 1))};
}

bool overlap(const void *a, const void *b, int64_t aBytes, int64_t bBytes) {
  return at(a, 0) < at(b, bBytes) && at(b, 0) < at(a, aBytes);
}

// memmove that allows null for nothing.
void copyBytes(void *out, const void *in, int64_t bytes) {
  if (bytes > 0)
    std::memmove(out, in, bytes);
}

} // namespace

void LocalTransport::allReduce(int group, void *buffer, int64_t count, DataType type, Reduction kind) {
  Waiting waiting(world.status(me), "all_reduce", group);
  Link &link = this->link(group);
  int64_t element = info(type).bytes, bytes = count * element;
  if (link.size == 1)
    return;
  std::vector<const void *> sources(link.size);
  if (bytes * link.size <= smallReduceBytes) {
    unsigned parity = meet(group, {nullptr, "all_reduce", count, type, kind}, buffer, bytes);
    for (int member = 0; member < link.size; ++member)
      sources[member] = link.stage(parity, member);
    return reduce(buffer, sources.data(), link.size, count, type, kind);
  }
  void *mine = const_cast<void *>(shareable(buffer, bytes));
  unsigned parity = meet(group, {mine, "all_reduce", count, type, kind});
  auto [begin, end] = chunk(count, link.size, link.index);
  for (int member = 0; member < link.size; ++member)
    sources[member] = at(link.announcement(parity, member).address, begin * element);
  auto firstChunk = chunk(count, link.size, 0);
  bool staged = (firstChunk.second - firstChunk.first) * element <= LocalWorld::stagingBytes;
  // Nobody but this member touches chunk `index` of its buffer before the next barrier, so it may be written in place.
  reduce(staged ? link.stage(parity, link.index) : at(mine, begin * element), sources.data(), link.size, end - begin,
         type, kind);
  link.barrier->wait(link.size, spinning);
  for (int member = 0; member < link.size; ++member) {
    auto [from, to] = chunk(count, link.size, member);
    const std::byte *source =
        staged ? link.stage(parity, member) : at(link.announcement(parity, member).address, from * element);
    if (source != at(buffer, from * element))
      std::memcpy(at(buffer, from * element), source, (to - from) * element);
  }
  if (!staged)
    link.barrier->wait(link.size, spinning);
}

void LocalTransport::allGather(int group, const void *in, void *out, int64_t count, DataType type) {
  Waiting waiting(world.status(me), "all_gather", group);
  Link &link = this->link(group);
  int64_t bytes = count * info(type).bytes;
  if (link.size == 1) {
    copyBytes(out, in, bytes);
    return;
  }
  bool small = bytes <= smallMoveBytes;
  unsigned parity = meet(group, {small ? nullptr : shareable(in, bytes), "all_gather", count, type, Reduction::Sum},
                         small ? in : nullptr, bytes);
  for (int member = 0; member < link.size; ++member) {
    const void *source = small ? link.stage(parity, member) : link.announcement(parity, member).address;
    if (source != at(out, member * bytes))
      copyBytes(at(out, member * bytes), source, bytes);
  }
  if (!small)
    link.barrier->wait(link.size, spinning);
}

void LocalTransport::reduceScatter(int group, const void *in, void *out, int64_t count, DataType type, Reduction kind) {
  Waiting waiting(world.status(me), "reduce_scatter", group);
  Link &link = this->link(group);
  int64_t bytes = count * info(type).bytes, total = bytes * link.size;
  if (link.size == 1) {
    copyBytes(out, in, bytes);
    return;
  }
  bool small = total <= smallMoveBytes;
  const void *mine = small ? nullptr : shareable(in, total);
  unsigned parity = meet(group, {mine, "reduce_scatter", count, type, kind}, small ? in : nullptr, total);
  std::vector<const void *> sources(link.size);
  for (int member = 0; member < link.size; ++member)
    sources[member] =
        at(small ? link.stage(parity, member) : link.announcement(parity, member).address, link.index * bytes);
  // Peers still read `in`, so a result that would overwrite a part of theirs waits for them.
  bool late = mine == in && out != at(in, link.index * bytes) && overlap(in, out, total, bytes);
  std::vector<std::byte> held(late ? bytes : 0);
  reduce(late ? held.data() : out, sources.data(), link.size, count, type, kind);
  if (small)
    return;
  link.barrier->wait(link.size, spinning);
  if (late)
    copyBytes(out, held.data(), bytes);
}

void LocalTransport::allToAll(int group, const void *in, void *out, int64_t count, DataType type) {
  Waiting waiting(world.status(me), "all_to_all", group);
  Link &link = this->link(group);
  int64_t bytes = count * info(type).bytes, total = bytes * link.size;
  if (link.size == 1) {
    copyBytes(out, in, bytes);
    return;
  }
  bool small = total <= smallMoveBytes;
  unsigned parity = meet(group, {small ? nullptr : shareable(in, total), "all_to_all", count, type, Reduction::Sum},
                         small ? in : nullptr, total);
  for (int member = 0; member < link.size; ++member)
    copyBytes(at(out, member * bytes),
              at(small ? link.stage(parity, member) : link.announcement(parity, member).address, link.index * bytes),
              bytes);
  if (!small)
    link.barrier->wait(link.size, spinning);
}

void LocalTransport::gather(const void *in, int64_t bytes, void *out) {
  static_assert(gatherLimit <= LocalWorld::stagingBytes, "what a member hands over lies in its staging slot");
  Waiting waiting(world.status(me), "gather", everyRank);
  Link &link = this->link(everyRank);
  if (link.size == 1) {
    copyBytes(out, in, bytes);
    return;
  }
  unsigned parity = meet(everyRank, {nullptr, "gather", bytes, DataType::I32, Reduction::Sum}, in, bytes);
  for (int member = 0; me == 0 && member < link.size; ++member)
    copyBytes(at(out, member * bytes), link.stage(parity, member), bytes);
}

} // namespace ppcrt
