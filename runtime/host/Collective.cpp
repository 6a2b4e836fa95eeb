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

constexpr int64_t smallReduceBytes = 32 << 10; // everybody reduces everything: members times the work
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

} // namespace

void LocalTransport::allReduce(int group, void *buffer, int64_t count, DataType type, Reduction kind) {
  Link &link = this->link(group);
  int64_t element = info(type).bytes, bytes = count * element;
  if (link.size == 1 || count == 0)
    return;
  unsigned parity = link.turn++ & 1;
  std::vector<const void *> sources(link.size);
  if (bytes <= smallReduceBytes) {
    std::memcpy(link.stage(parity, link.index), buffer, bytes);
    link.barrier->wait(link.size);
    for (int member = 0; member < link.size; ++member)
      sources[member] = link.stage(parity, member);
    return reduce(buffer, sources.data(), link.size, count, type, kind);
  }
  void *mine = const_cast<void *>(shareable(buffer, bytes));
  std::vector<const void *> addresses = exchange(link, parity, mine);
  auto [begin, end] = chunk(count, link.size, link.index);
  for (int member = 0; member < link.size; ++member)
    sources[member] = at(addresses[member], begin * element);
  auto firstChunk = chunk(count, link.size, 0);
  bool staged = (firstChunk.second - firstChunk.first) * element <= LocalWorld::stagingBytes;
  // Nobody but this member touches chunk `index` of its buffer before the next barrier, so it may be written in place.
  reduce(staged ? link.stage(parity, link.index) : at(mine, begin * element), sources.data(), link.size, end - begin,
         type, kind);
  link.barrier->wait(link.size);
  for (int member = 0; member < link.size; ++member) {
    auto [from, to] = chunk(count, link.size, member);
    const std::byte *source = staged ? link.stage(parity, member) : at(addresses[member], from * element);
    if (source != at(buffer, from * element))
      std::memcpy(at(buffer, from * element), source, (to - from) * element);
  }
  if (!staged)
    link.barrier->wait(link.size);
}

void LocalTransport::allGather(int group, const void *in, void *out, int64_t count, DataType type) {
  Link &link = this->link(group);
  int64_t bytes = count * info(type).bytes;
  if (bytes == 0)
    return;
  if (link.size == 1) {
    std::memmove(out, in, bytes);
    return;
  }
  unsigned parity = link.turn++ & 1;
  if (bytes <= smallMoveBytes) {
    std::memcpy(link.stage(parity, link.index), in, bytes);
    link.barrier->wait(link.size);
    for (int member = 0; member < link.size; ++member)
      std::memcpy(at(out, member * bytes), link.stage(parity, member), bytes);
    return;
  }
  std::vector<const void *> addresses = exchange(link, parity, shareable(in, bytes));
  for (int member = 0; member < link.size; ++member)
    if (addresses[member] != at(out, member * bytes))
      std::memcpy(at(out, member * bytes), addresses[member], bytes);
  link.barrier->wait(link.size);
}

void LocalTransport::reduceScatter(int group, const void *in, void *out, int64_t count, DataType type, Reduction kind) {
  Link &link = this->link(group);
  int64_t bytes = count * info(type).bytes, total = bytes * link.size;
  if (bytes == 0)
    return;
  if (link.size == 1) {
    std::memmove(out, in, bytes);
    return;
  }
  unsigned parity = link.turn++ & 1;
  std::vector<const void *> sources(link.size);
  if (total <= smallMoveBytes) {
    std::memcpy(link.stage(parity, link.index), in, total);
    link.barrier->wait(link.size);
    for (int member = 0; member < link.size; ++member)
      sources[member] = at(link.stage(parity, member), link.index * bytes);
    return reduce(out, sources.data(), link.size, count, type, kind);
  }
  const void *mine = shareable(in, total);
  std::vector<const void *> addresses = exchange(link, parity, mine);
  for (int member = 0; member < link.size; ++member)
    sources[member] = at(addresses[member], link.index * bytes);
  // Peers still read `in`, so a result that would overwrite a part of theirs waits for them.
  bool late = mine == in && out != at(in, link.index * bytes) && overlap(in, out, total, bytes);
  std::vector<std::byte> held(late ? bytes : 0);
  reduce(late ? held.data() : out, sources.data(), link.size, count, type, kind);
  link.barrier->wait(link.size);
  if (late)
    std::memcpy(out, held.data(), bytes);
}

void LocalTransport::allToAll(int group, const void *in, void *out, int64_t count, DataType type) {
  Link &link = this->link(group);
  int64_t bytes = count * info(type).bytes, total = bytes * link.size;
  if (bytes == 0)
    return;
  if (link.size == 1) {
    std::memmove(out, in, bytes);
    return;
  }
  unsigned parity = link.turn++ & 1;
  if (total <= smallMoveBytes) {
    std::memcpy(link.stage(parity, link.index), in, total);
    link.barrier->wait(link.size);
    for (int member = 0; member < link.size; ++member)
      std::memcpy(at(out, member * bytes), at(link.stage(parity, member), link.index * bytes), bytes);
    return;
  }
  std::vector<const void *> addresses = exchange(link, parity, shareable(in, total));
  for (int member = 0; member < link.size; ++member)
    std::memcpy(at(out, member * bytes), at(addresses[member], link.index * bytes), bytes);
  link.barrier->wait(link.size);
}

} // namespace ppcrt
