// What ranks need of one another. The runtime sees only this class; `LocalTransport` implements it for ranks forked on
// one machine, another implementation may use MPI. One object per rank, used by one thread.
#pragma once

#include "runtime/core/DataType.h"

#include <cstdint>

namespace ppcrt {

// A message is known by its sender and these numbers; no two outstanding messages of a sender share both.
struct MessageKey {
  int64_t tag;
  int64_t microBatch;
};

class Transport {
public:
  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int rankCount() const = 0;

  // Groups are numbered as in the manifest; `everyRank` is the group of all ranks.
  static constexpr int everyRank = -1;
  virtual int groupCount() const = 0;
  // 0 when this rank does not belong to the group.
  virtual int groupSize(int group) const = 0;
  virtual int groupIndex(int group) const = 0;

  // The semantics of ppcrt.h. All members call; returns when `buffer`/`out` holds the result and `in` may be changed.
  virtual void allReduce(int group, void *buffer, int64_t count, DataType type, Reduction kind) = 0;
  virtual void allGather(int group, const void *in, void *out, int64_t count, DataType type) = 0;
  virtual void reduceScatter(int group, const void *in, void *out, int64_t count, DataType type, Reduction kind) = 0;
  virtual void allToAll(int group, const void *in, void *out, int64_t count, DataType type) = 0;
  virtual void barrier(int group) = 0;

  // What every rank hands to the first: there, out[j * bytes + i] = in[i] of rank j; `out` counts there only. At most
  // gatherLimit bytes, which are the same everywhere.
  static constexpr int64_t gatherLimit = int64_t(1) << 20;
  virtual void gather(const void *in, int64_t bytes, void *out) = 0;
  // Nanoseconds to add to the monotonic clock of this rank to get that of the first. Every rank calls it. 0 on one
  // machine.
  virtual int64_t clockOffset() { return 0; }

  // Starts to send; the bytes must stay untouched until waitSend(request) returns. Each request is waited for once.
  virtual int64_t send(int destination, MessageKey key, const void *bytes, int64_t size) = 0;
  virtual void waitSend(int64_t request) = 0;
  // Returns when the message has arrived in `bytes`.
  virtual void receive(int source, MessageKey key, void *bytes, int64_t size) = 0;
};

} // namespace ppcrt
