// Collectives and messages over Open MPI.
//
// A reduction of large buffers goes in segments: each member gets its chunk of the segment from everybody (all-to-all),
// adds in the order of the members, and, in an all-reduce, hands the result to everybody (all-gather). That moves
// 2 (n-1)/n of the buffer, as much as a ring. Small buffers are gathered whole and added by everybody.
#include "runtime/host/MpiTransport.h"
#include "runtime/core/Error.h"
#include "runtime/core/Machine.h"
#include "runtime/host/Reduce.h"

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstring>

namespace ppcrt {
namespace {

constexpr int64_t smallReduceBytes = 16 << 10; // of all members together
constexpr int64_t segmentBytes = 4 << 20;      // of the buffer that is reduced: what stays in the cache
constexpr int64_t partBytes = 1 << 30;         // of one message of MPI, whose counts are ints
constexpr int64_t eagerBytes = 16 << 10;       // of messages that leave at once on every network
constexpr std::chrono::microseconds helpEvery(200);
constexpr int clockTag = 0; // of messages between all ranks, which are none of the program's

const std::byte *at(const void *base, int64_t offset) { return static_cast<const std::byte *>(base) + offset; }
std::byte *at(void *base, int64_t offset) { return static_cast<std::byte *>(base) + offset; }

bool overlap(const void *a, const void *b, int64_t aBytes, int64_t bBytes) {
  return at(a, 0) < at(b, bBytes) && at(b, 0) < at(a, aBytes);
}

void copyBytes(void *out, const void *in, int64_t bytes) {
  if (bytes > 0 && out != in)
    std::memmove(out, in, bytes);
}

std::vector<const void *> blocks(const std::byte *base, int count, int64_t bytes) {
  std::vector<const void *> result(count);
  for (int i = 0; i < count; ++i)
    result[i] = base + i * bytes;
  return result;
}

} // namespace

MpiTransport::MpiTransport(const OpenMpi &mpi, const RankShape &shape) : mpi(mpi) {
  mpi.Comm_rank(mpi.world, &me);
  mpi.Comm_size(mpi.world, &ranks);
  for (const std::vector<int> &members : shape.groups) {
    auto found = std::find(members.begin(), members.end(), me);
    Link made{int(members.size()), int(found - members.begin()), mpi.commNull};
    // Members of a group agree on its smallest rank; no two groups of one kind share it.
    int color = members.empty() ? OpenMpi::undefined : *std::min_element(members.begin(), members.end());
    mpi.Comm_split(mpi.world, color, made.index, &made.comm);
    links.push_back(made);
  }
  links.push_back({ranks, me, mpi.world});
  mpi.Comm_dup(mpi.world, &messageComm);

  // Sender and receiver see the same messages between them and number them alike: in the order of their keys.
  for (const RankShape::Message &message : shape.messages)
    tags.emplace(std::tuple(message.source, message.destination, message.key.tag, message.key.microBatch), 0);
  int number = 0;
  std::pair<int, int> ends{-1, -1};
  for (auto &[key, value] : tags) {
    std::pair<int, int> now{std::get<0>(key), std::get<1>(key)};
    number = now == ends ? number + 1 : 0;
    ends = now;
    value = number;
  }
  int provided;
  mpi.Query_thread(&provided);
  if (provided >= OpenMpi::threadSerialized && !shape.messages.empty())
    helper = std::thread([this] { helpSends(); });
}

MpiTransport::~MpiTransport() {
  if (helper.joinable()) {
    std::unique_lock<std::mutex> lock(calls);
    ending = true;
    lock.unlock();
    sendBegan.notify_one();
    helper.join();
  }
  for (Link &link : links)
    if (link.comm != mpi.commNull && link.comm != mpi.world)
      mpi.Comm_free(&link.comm);
  mpi.Comm_free(&messageComm);
}

void MpiTransport::helpSends() {
  std::unique_lock<std::mutex> lock(calls);
  while (!ending) {
    sendBegan.wait(lock, [this] { return helping || ending; });
    while (helping && !ending) {
      helping = false;
      for (auto &[request, parts] : sends) {
        int done = 0;
        mpi.Testall(int(parts.size()), parts.data(), &done, OpenMpi::ignoreStatus);
        helping |= !done;
      }
      lock.unlock();
      std::this_thread::sleep_for(helpEvery);
      lock.lock(); // a rank that is in a call moves its messages itself
    }
  }
}

std::byte *MpiTransport::space(std::vector<std::byte> &buffer, int64_t bytes) {
  if (int64_t(buffer.size()) < bytes)
    buffer.resize(bytes);
  return buffer.data();
}

void MpiTransport::gatherBlocks(const Link &link, const void *in, void *out, int64_t bytes) {
  // Gathered in pieces where a block is larger than a count of MPI can say.
  const void *own = in == at(out, link.index * bytes) ? OpenMpi::inPlace() : in;
  if (bytes <= INT_MAX) {
    mpi.Allgather(own, int(bytes), mpi.byte, out, int(bytes), mpi.byte, link.comm);
    return;
  }
  for (int64_t done = 0; done < bytes; done += segmentBytes) {
    int64_t length = std::min(segmentBytes, bytes - done);
    std::byte *piece = space(gathered, length * link.size);
    mpi.Allgather(at(in, done), int(length), mpi.byte, piece, int(length), mpi.byte, link.comm);
    for (int member = 0; member < link.size; ++member)
      copyBytes(at(out, member * bytes + done), piece + member * length, length);
  }
}

void MpiTransport::exchangeBlocks(const Link &link, const void *in, void *out, int64_t bytes) {
  if (bytes <= INT_MAX) {
    mpi.Alltoall(in, int(bytes), mpi.byte, out, int(bytes), mpi.byte, link.comm);
    return;
  }
  for (int64_t done = 0; done < bytes; done += segmentBytes) {
    int64_t length = std::min(segmentBytes, bytes - done);
    std::byte *from = space(packed, length * link.size), *to = space(gathered, length * link.size);
    for (int member = 0; member < link.size; ++member)
      copyBytes(from + member * length, at(in, member * bytes + done), length);
    mpi.Alltoall(from, int(length), mpi.byte, to, int(length), mpi.byte, link.comm);
    for (int member = 0; member < link.size; ++member)
      copyBytes(at(out, member * bytes + done), to + member * length, length);
  }
}

void MpiTransport::allReduce(int group, void *buffer, int64_t count, DataType type, Reduction kind) {
  std::lock_guard<std::mutex> lock(calls);
  const Link &link = this->link(group);
  int64_t element = info(type).bytes, bytes = count * element;
  if (link.size == 1 || count == 0)
    return;
  if (bytes * link.size <= smallReduceBytes) {
    std::byte *all = space(gathered, bytes * link.size);
    mpi.Allgather(buffer, int(bytes), mpi.byte, all, int(bytes), mpi.byte, link.comm);
    reduce(buffer, blocks(all, link.size, bytes).data(), link.size, count, type, kind);
    return;
  }
  int64_t segment = std::max<int64_t>(1, segmentBytes / element / link.size) * link.size;
  for (int64_t begin = 0; begin < count; begin += segment) {
    int64_t length = std::min(segment, count - begin);
    int64_t chunk = (length + link.size - 1) / link.size, chunkBytes = chunk * element;
    std::byte *values = at(buffer, begin * element), *all = space(gathered, chunkBytes * link.size);
    bool padded = chunk * link.size != length;
    std::byte *whole = padded ? space(packed, chunkBytes * link.size) : values;
    if (padded) {
      copyBytes(whole, values, length * element);
      std::memset(whole + length * element, 0, chunkBytes * link.size - length * element);
    }
    mpi.Alltoall(whole, int(chunkBytes), mpi.byte, all, int(chunkBytes), mpi.byte, link.comm);
    reduce(whole + link.index * chunkBytes, blocks(all, link.size, chunkBytes).data(), link.size, chunk, type, kind);
    mpi.Allgather(OpenMpi::inPlace(), int(chunkBytes), mpi.byte, whole, int(chunkBytes), mpi.byte, link.comm);
    copyBytes(values, whole, length * element);
  }
}

void MpiTransport::allGather(int group, const void *in, void *out, int64_t count, DataType type) {
  std::lock_guard<std::mutex> lock(calls);
  const Link &link = this->link(group);
  int64_t bytes = count * info(type).bytes;
  if (link.size == 1)
    copyBytes(out, in, bytes);
  else if (count > 0)
    gatherBlocks(link, in, out, bytes);
}

void MpiTransport::reduceScatter(int group, const void *in, void *out, int64_t count, DataType type, Reduction kind) {
  std::lock_guard<std::mutex> lock(calls);
  const Link &link = this->link(group);
  int64_t element = info(type).bytes, bytes = count * element;
  if (link.size == 1) {
    copyBytes(out, in, bytes);
    return;
  }
  int64_t segment = std::max<int64_t>(1, segmentBytes / element / link.size);
  // Later segments are still read from `in`; what this member reads of its own block is gone when it is overwritten.
  bool late = count > segment && out != at(in, link.index * bytes) && overlap(in, out, bytes * link.size, bytes);
  std::vector<std::byte> held(late ? bytes : 0);
  std::byte *target = late ? held.data() : static_cast<std::byte *>(out);
  for (int64_t begin = 0; begin < count; begin += segment) {
    int64_t length = std::min(segment, count - begin), blockBytes = length * element;
    const void *from = in;
    if (length != count) {
      std::byte *pack = space(packed, blockBytes * link.size);
      for (int member = 0; member < link.size; ++member)
        copyBytes(pack + member * blockBytes, at(in, member * bytes + begin * element), blockBytes);
      from = pack;
    }
    std::byte *all = space(gathered, blockBytes * link.size);
    mpi.Alltoall(from, int(blockBytes), mpi.byte, all, int(blockBytes), mpi.byte, link.comm);
    reduce(target + begin * element, blocks(all, link.size, blockBytes).data(), link.size, length, type, kind);
  }
  if (late)
    copyBytes(out, held.data(), bytes);
}

void MpiTransport::allToAll(int group, const void *in, void *out, int64_t count, DataType type) {
  std::lock_guard<std::mutex> lock(calls);
  const Link &link = this->link(group);
  int64_t bytes = count * info(type).bytes;
  if (link.size == 1)
    copyBytes(out, in, bytes);
  else if (count > 0)
    exchangeBlocks(link, in, out, bytes);
}

void MpiTransport::barrier(int group) {
  std::lock_guard<std::mutex> lock(calls);
  mpi.Barrier(link(group).comm);
}

void MpiTransport::gather(const void *in, int64_t bytes, void *out) {
  std::lock_guard<std::mutex> lock(calls);
  mpi.Gather(in, int(bytes), mpi.byte, out, int(bytes), mpi.byte, 0, mpi.world);
}

int64_t MpiTransport::clockOffset() {
  int64_t mine = machineIdentity();
  std::vector<int64_t> all(ranks);
  {
    std::lock_guard<std::mutex> lock(calls);
    mpi.Allgather(&mine, 1, mpi.int64, all.data(), 1, mpi.int64, mpi.world);
  }
  bool oneMachine = mine != 0 && std::count(all.begin(), all.end(), mine) == ranks;
  return oneMachine ? 0 : measureClockOffset();
}

int64_t MpiTransport::measureClockOffset() {
  std::lock_guard<std::mutex> lock(calls);
  constexpr int trips = 20;
  auto clock = [] { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); };
  int64_t best = INT64_MAX, offset = 0, told = 0;
  for (int rank = 1; rank < ranks; ++rank)
    for (int trip = 0; trip < trips && (me == 0 || me == rank); ++trip) {
      Handle request;
      if (me == 0) {
        mpi.Recv(&told, 1, mpi.int64, rank, clockTag, mpi.world, OpenMpi::ignoreStatus);
        told = clock();
        mpi.Isend(&told, 1, mpi.int64, rank, clockTag, mpi.world, &request);
        mpi.Waitall(1, &request, OpenMpi::ignoreStatus);
        continue;
      }
      int64_t asked = clock();
      mpi.Isend(&asked, 1, mpi.int64, 0, clockTag, mpi.world, &request);
      mpi.Recv(&told, 1, mpi.int64, 0, clockTag, mpi.world, OpenMpi::ignoreStatus);
      int64_t answered = clock();
      mpi.Waitall(1, &request, OpenMpi::ignoreStatus);
      if (answered - asked < best) {
        best = answered - asked;
        offset = told - (asked + best / 2);
      }
    }
  return offset;
}

int MpiTransport::tag(int source, int destination, MessageKey key) const {
  auto found = tags.find({source, destination, key.tag, key.microBatch});
  if (found == tags.end())
    fatal("no message with tag %lld and micro-batch %lld from rank %d to rank %d was announced", (long long)key.tag,
          (long long)key.microBatch, source, destination);
  return found->second;
}

int64_t MpiTransport::send(int destination, MessageKey key, const void *bytes, int64_t size) {
  std::lock_guard<std::mutex> lock(calls);
  int number = tag(me, destination, key);
  std::vector<Handle> &parts = sends[nextSend];
  int64_t done = 0;
  do {
    int64_t length = std::min(partBytes, size - done);
    parts.push_back(mpi.requestNull);
    mpi.Isend(at(bytes, done), int(length), mpi.byte, destination, number, messageComm, &parts.back());
    done += length;
  } while (done < size);
  if (size > eagerBytes && helper.joinable()) {
    helping = true;
    sendBegan.notify_one();
  }
  return nextSend++;
}

void MpiTransport::waitSend(int64_t request) {
  std::lock_guard<std::mutex> lock(calls);
  auto found = sends.find(request);
  mpi.Waitall(int(found->second.size()), found->second.data(), OpenMpi::ignoreStatus);
  sends.erase(found);
}

void MpiTransport::receive(int source, MessageKey key, void *bytes, int64_t size) {
  std::lock_guard<std::mutex> lock(calls);
  int number = tag(source, me, key);
  int64_t done = 0;
  do {
    int64_t length = std::min(partBytes, size - done);
    mpi.Recv(at(bytes, done), int(length), mpi.byte, source, number, messageComm, OpenMpi::ignoreStatus);
    done += length;
  } while (done < size);
}

} // namespace ppcrt
