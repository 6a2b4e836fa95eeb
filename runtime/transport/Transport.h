// What ranks need of one another. Communication is started and goes on while its rank does other things; a request
// stands for it until it has ended. The runtime sees only this class: `LocalTransport` implements it for ranks forked
// on one machine, `MpiTransport` for those that a launcher has started. One object per rank, used by one thread.
#pragma once

#include "runtime/base/DataType.h"

#include <cstdint>

namespace ppcrt {

// A message is known by its sender and these numbers; no two outstanding messages of a sender share both.
struct MessageKey {
  int64_t tag;
  int64_t microBatch;
};

enum class CollectiveKind : int16_t { AllReduce, AllGather, ReduceScatter, AllToAll, Permute, Barrier, Gather };
inline constexpr const char *collectiveNames[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all",
                                                  "permute",    "barrier",    "gather"};

// One call of a group, with the semantics of ppcrt.h. `in` is read and `out` written; an all-reduce has its buffer as
// both, and so may others where ppcrt.h allows it.
struct Collective {
  CollectiveKind kind;
  int group;
  const void *in;
  void *out;
  int64_t count; // of elements, as in ppcrt.h; of a gather the bytes of `in`
  DataType type;
  Reduction reduction = Reduction::Sum; // of an all-reduce or a reduce-scatter
  int shift = 0;                        // of a permute: member i sends to member i + shift, modulo their number

  // Bytes of one member's block.
  int64_t bytes() const { return kind == CollectiveKind::Gather ? count : count * info(type).bytes; }
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

  // ---- Communication that goes on ----
  //
  // All members of a group start the same calls in the same order. Until a request has ended, what it reads must not be
  // written and what it writes neither read nor written. It ends when its result is there and what it reads may be
  // changed; for that its peers must have started, and need not have come to a wait of theirs. Each request is waited
  // for, or tested until it has ended, once. Requests are those of this rank, at least 0.
  using Request = int64_t;

  virtual Request start(const Collective &call) = 0;
  virtual Request startSend(int destination, MessageKey key, const void *bytes, int64_t size) = 0;
  virtual Request startReceive(int source, MessageKey key, void *bytes, int64_t size) = 0;

  // Whether it has ended; if so it is gone. Takes no long time.
  virtual bool test(Request request) = 0;
  // Returns when it has ended. While it waits, all outstanding requests of this rank get on.
  virtual void wait(Request request) = 0;
  // Whether wait() does so; else it returns at once, and what the rank issues on its device afterwards waits.
  virtual bool waitBlocks() const { return true; }
  // Lets all outstanding requests get on, and returns when one of them has ended since waitAny() said so of it, or when
  // now() has reached `deadline`; `never` waits for a request, of which there must be one then.
  virtual void waitAny(double deadline) = 0;
  static constexpr double never = 1e300;

  // On emulated links, moments (seconds of now()) are those of the emulated machine, at which this rank may come a
  // little late: what it starts begins at the latest moment that an end of it was given. Elsewhere these say nothing.
  //
  // When what is started next begins; 0: when it is started.
  virtual void setMoment(double) {}
  // When the request ended that wait() or test() said to have ended last; 0: not known.
  virtual double lastEnd() const { return 0; }

  // wait(start(call)).
  virtual void run(const Collective &call) { wait(start(call)); }

  // ---- The same, waiting for the end ----

  void allReduce(int group, void *buffer, int64_t count, DataType type, Reduction kind) {
    run({CollectiveKind::AllReduce, group, buffer, buffer, count, type, kind});
  }
  void allGather(int group, const void *in, void *out, int64_t count, DataType type) {
    run({CollectiveKind::AllGather, group, in, out, count, type});
  }
  void reduceScatter(int group, const void *in, void *out, int64_t count, DataType type, Reduction kind) {
    run({CollectiveKind::ReduceScatter, group, in, out, count, type, kind});
  }
  void allToAll(int group, const void *in, void *out, int64_t count, DataType type) {
    run({CollectiveKind::AllToAll, group, in, out, count, type});
  }
  void permute(int group, const void *in, void *out, int64_t count, DataType type, int shift) {
    run({CollectiveKind::Permute, group, in, out, count, type, Reduction::Sum, shift});
  }
  void barrier(int group) { run({CollectiveKind::Barrier, group, nullptr, nullptr, 0, DataType::I32}); }
  void receive(int source, MessageKey key, void *bytes, int64_t size) { wait(startReceive(source, key, bytes, size)); }

  // What every rank hands to the first: there, out[j * bytes + i] = in[i] of rank j; `out` counts there only. At most
  // gatherLimit bytes, which are the same everywhere.
  static constexpr int64_t gatherLimit = int64_t(1) << 20;
  void gather(const void *in, int64_t bytes, void *out) {
    run({CollectiveKind::Gather, everyRank, in, out, bytes, DataType::I32});
  }

  // Nanoseconds to add to the monotonic clock of this rank to get that of the first. Every rank calls it. 0 on one
  // machine.
  virtual int64_t clockOffset() { return 0; }

protected:
  // Of communication that had nothing to wait for; others have numbers from 1 on.
  static constexpr Request endedAtOnce = 0;
};

} // namespace ppcrt
