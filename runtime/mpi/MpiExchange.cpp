// A reduction of large buffers goes in segments: each member gets its chunk of the segment from everybody, adds in the
// order of the members, and, in an all-reduce, hands the result to everybody. That moves 2 (n-1)/n of the buffer, as
// much as a ring. Small buffers are gathered whole and added by everybody.
#include "runtime/mpi/MpiExchange.h"
#include "runtime/host/Reduce.h"

#include <algorithm>
#include <cstring>

namespace ppcrt {
namespace {

constexpr int64_t smallReduceBytes = 16 << 10; // of all members together
constexpr int64_t segmentBytes = 4 << 20;      // of the buffer that is reduced: what stays in the cache
constexpr int64_t partBytes = 1 << 30;         // of one message of MPI, whose counts are ints

const std::byte *at(const void *base, int64_t offset) { return static_cast<const std::byte *>(base) + offset; }
std::byte *at(void *base, int64_t offset) { return static_cast<std::byte *>(base) + offset; }

bool overlap(const void *a, const void *b, int64_t aBytes, int64_t bBytes) {
  return at(a, 0) < at(b, bBytes) && at(b, 0) < at(a, aBytes);
}

void copyBytes(void *out, const void *in, int64_t bytes) {
  if (bytes > 0 && out != in)
    std::memmove(out, in, size_t(bytes));
}

// Memory of the pool for the time of an exchange.
class Space {
public:
  explicit Space(SparePool &pool) : pool(pool) {}
  ~Space() { pool.giveBack(std::move(memory)); }
  Space(const Space &) = delete;
  Space &operator=(const Space &) = delete;

  std::byte *atLeast(int64_t bytes) {
    if (int64_t(memory.size()) < bytes) {
      pool.giveBack(std::move(memory));
      memory = pool.take(bytes);
    }
    return memory.data();
  }
  std::byte *data() { return memory.data(); }

private:
  SparePool &pool;
  std::vector<std::byte> memory;
};

std::vector<const void *> blocks(const std::byte *base, int count, int64_t bytes) {
  std::vector<const void *> result(count);
  for (int i = 0; i < count; ++i)
    result[i] = base + i * bytes;
  return result;
}

// Block i of `in` goes to member i, that of member i to block i of `out`; the own one is copied. Each member begins
// with the next one, so that not all send to the same.
void exchangeBlocks(const MpiGroup &group, MpiMessages &messages, const void *in, void *out, int64_t bytes) {
  for (int step = 1; step < group.size; ++step) {
    int from = (group.index + group.size - step) % group.size;
    messages.receive(from, at(out, from * bytes), bytes);
  }
  for (int step = 1; step < group.size; ++step) {
    int to = (group.index + step) % group.size;
    messages.send(to, at(in, to * bytes), bytes);
  }
  copyBytes(at(out, group.index * bytes), at(in, group.index * bytes), bytes);
}

// `in` goes to everybody; `in` may be the own block of `out`.
void gatherBlocks(const MpiGroup &group, MpiMessages &messages, const void *in, void *out, int64_t bytes) {
  for (int step = 1; step < group.size; ++step) {
    int from = (group.index + group.size - step) % group.size;
    messages.receive(from, at(out, from * bytes), bytes);
  }
  for (int step = 1; step < group.size; ++step)
    messages.send((group.index + step) % group.size, in, bytes);
  copyBytes(at(out, group.index * bytes), in, bytes);
}

// Those that move bytes and compute nothing, in one round.
class Movement final : public MpiExchange {
public:
  Movement(const Collective &call, const MpiGroup &group) : call(call), group(group), held(*group.pool) {}

  bool next(MpiMessages &messages) override {
    int64_t bytes = call.bytes();
    if (hasBegun)
      return copyBytes(call.out, held.data(), held.data() ? bytes : 0), false;
    hasBegun = true;
    if (call.kind == CollectiveKind::AllGather) {
      gatherBlocks(group, messages, call.in, call.out, bytes);
    } else if (call.kind == CollectiveKind::AllToAll) {
      exchangeBlocks(group, messages, call.in, call.out, bytes);
    } else if (call.kind == CollectiveKind::Barrier) {
      gatherBlocks(group, messages, nullptr, nullptr, 0);
    } else if (call.kind == CollectiveKind::Gather) {
      for (int from = 1; group.index == 0 && from < group.size; ++from)
        messages.receive(from, at(call.out, from * bytes), bytes);
      group.index == 0 ? copyBytes(call.out, call.in, bytes) : messages.send(0, call.in, bytes);
    } else {
      permute(messages, bytes);
    }
    return true;
  }

private:
  void permute(MpiMessages &messages, int64_t bytes) {
    int shift = (call.shift % group.size + group.size) % group.size;
    if (shift == 0)
      return copyBytes(call.out, call.in, bytes);
    void *to = call.out;
    if (overlap(call.in, call.out, bytes, bytes))
      to = held.atLeast(bytes);
    messages.receive((group.index + group.size - shift) % group.size, to, bytes);
    messages.send((group.index + shift) % group.size, call.in, bytes);
  }

  Collective call;
  const MpiGroup &group;
  bool hasBegun = false;
  Space held; // a result that would overwrite what is sent
};

class SmallAllReduce final : public MpiExchange {
public:
  SmallAllReduce(const Collective &call, const MpiGroup &group) : call(call), group(group), all(*group.pool) {}

  bool next(MpiMessages &messages) override {
    if (!all.data()) {
      gatherBlocks(group, messages, call.in, all.atLeast(call.bytes() * group.size), call.bytes());
      return true;
    }
    reduce(call.out, blocks(all.data(), group.size, call.bytes()).data(), group.size, call.count, call.type,
           call.reduction);
    return false;
  }

private:
  Collective call;
  const MpiGroup &group;
  Space all;
};

class LargeAllReduce final : public MpiExchange {
public:
  LargeAllReduce(const Collective &call, const MpiGroup &group)
      : call(call), group(group), element(info(call.type).bytes),
        segment(std::max<int64_t>(1, segmentBytes / element / group.size) * group.size), all(*group.pool),
        padded(*group.pool) {}

  bool next(MpiMessages &messages) override {
    if (state == State::Reduced)
      return collect(messages), true;
    if (state == State::Gathered) {
      copyBytes(values(), whole, length * element);
      begin += length;
    }
    if (begin >= call.count)
      return false;
    return exchange(messages), true;
  }

private:
  enum class State { Begun, Reduced, Gathered }; // with the next round

  std::byte *values() { return at(call.out, begin * element); }

  void exchange(MpiMessages &messages) {
    length = std::min(segment, call.count - begin);
    chunk = (length + group.size - 1) / group.size;
    int64_t bytes = chunk * element * group.size;
    whole = values();
    if (chunk * group.size != length) {
      whole = padded.atLeast(bytes);
      copyBytes(whole, values(), length * element);
      std::memset(whole + length * element, 0, size_t(bytes - length * element));
    }
    exchangeBlocks(group, messages, whole, all.atLeast(bytes), chunk * element);
    state = State::Reduced;
  }

  void collect(MpiMessages &messages) {
    std::byte *own = whole + group.index * chunk * element;
    reduce(own, blocks(all.data(), group.size, chunk * element).data(), group.size, chunk, call.type, call.reduction);
    gatherBlocks(group, messages, own, whole, chunk * element);
    state = State::Gathered;
  }

  Collective call;
  const MpiGroup &group;
  int64_t element, segment;
  State state = State::Begun;
  int64_t begin = 0, length = 0, chunk = 0; // of the segment that is under way, in elements
  std::byte *whole = nullptr;               // its values, or a padded copy
  Space all, padded;
};

class ReduceScatter final : public MpiExchange {
public:
  ReduceScatter(const Collective &call, const MpiGroup &group)
      : call(call), group(group), element(info(call.type).bytes),
        segment(std::max<int64_t>(1, segmentBytes / element / group.size)), all(*group.pool), packed(*group.pool),
        held(*group.pool) {
    // Later segments are still read from `in`; what this member reads of its own block is gone when it is overwritten.
    int64_t bytes = call.bytes();
    if (call.count > segment && call.out != at(call.in, group.index * bytes) &&
        overlap(call.in, call.out, bytes * group.size, bytes))
      held.atLeast(bytes);
  }

  bool next(MpiMessages &messages) override {
    std::byte *out = held.data() ? held.data() : static_cast<std::byte *>(call.out);
    if (length) {
      reduce(out + begin * element, blocks(all.data(), group.size, length * element).data(), group.size, length,
             call.type, call.reduction);
      begin += length;
    }
    if (begin >= call.count) {
      copyBytes(call.out, out, call.bytes());
      return false;
    }
    length = std::min(segment, call.count - begin);
    int64_t bytes = length * element;
    const void *from = call.in;
    if (length != call.count) {
      std::byte *pack = packed.atLeast(bytes * group.size);
      for (int member = 0; member < group.size; ++member)
        copyBytes(pack + member * bytes, at(call.in, member * call.bytes() + begin * element), bytes);
      from = pack;
    }
    exchangeBlocks(group, messages, from, all.atLeast(bytes * group.size), bytes);
    return true;
  }

private:
  Collective call;
  const MpiGroup &group;
  int64_t element, segment;
  int64_t begin = 0, length = 0; // of the segment that is under way, in elements
  Space all, packed, held;
};

} // namespace

std::vector<std::byte> SparePool::take(int64_t bytes) {
  auto enough =
      std::find_if(spares.begin(), spares.end(), [&](const auto &one) { return int64_t(one.size()) >= bytes; });
  if (enough == spares.end())
    return std::vector<std::byte>(size_t(bytes));
  std::vector<std::byte> result = std::move(*enough);
  spares.erase(enough);
  return result;
}

void SparePool::giveBack(std::vector<std::byte> &&memory) {
  if (!memory.empty())
    spares.push_back(std::move(memory));
}

void MpiMessages::send(int to, const void *bytes, int64_t size) {
  int64_t done = 0;
  do {
    int64_t length = std::min(partBytes, size - done);
    parts.push_back(mpi->requestNull);
    mpi->Isend(at(bytes, done), int(length), mpi->byte, to, tag, comm, &parts.back());
    done += length;
  } while (done < size);
}

void MpiMessages::receive(int from, void *bytes, int64_t size) {
  int64_t done = 0;
  do {
    int64_t length = std::min(partBytes, size - done);
    parts.push_back(mpi->requestNull);
    mpi->Irecv(at(bytes, done), int(length), mpi->byte, from, tag, comm, &parts.back());
    done += length;
  } while (done < size);
}

bool MpiMessages::haveEnded() {
  int done = 0;
  mpi->Testall(int(parts.size()), parts.data(), &done, OpenMpi::ignoreStatus);
  if (done)
    parts.clear();
  return done;
}

std::unique_ptr<MpiExchange> makeExchange(const Collective &call, const MpiGroup &group) {
  if (call.kind == CollectiveKind::ReduceScatter)
    return std::make_unique<ReduceScatter>(call, group);
  if (call.kind != CollectiveKind::AllReduce)
    return std::make_unique<Movement>(call, group);
  if (call.bytes() * group.size <= smallReduceBytes)
    return std::make_unique<SmallAllReduce>(call, group);
  return std::make_unique<LargeAllReduce>(call, group);
}

} // namespace ppcrt
