// A rank as the C functions of ppcrt.h are handed it: its transport, what they move, and who wants to know of each
// call.
#pragma once

#include "runtime/base/Clock.h"
#include "runtime/include/ppcrt.h"
#include "runtime/transport/Transport.h"

#include <vector>

struct ppcrt_rank {};

namespace ppcrt {

class OperationProfile;
class ProgressMarks;

// Traffic of this rank since the start.
struct Traffic {
  // Bytes that this rank would send on a link: all-reduce 2 (n-1)/n of the buffer, all-gather (n-1) times the input,
  // reduce-scatter and all-to-all (n-1) times the block, permute the block. Indexed by group.
  std::vector<double> groupBytes;
  double messageBytes = 0;   // sent point to point
  double waitedSeconds = 0;  // that this rank has waited in collectives, for messages and for what it had started
  double carriedSeconds = 0; // from the beginning to the end of what was on streams, however much of it was waited for
};

enum class CommunicationKind : int16_t {
  AllReduce,
  AllGather,
  ReduceScatter,
  AllToAll,
  Permute,
  Send,
  Receive,
  Wait,
  Copy
};
inline constexpr const char *communicationNames[] = {
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "permute", "send", "receive", "wait", "copy"};

// Communication of a group (-1: point to point) or of a micro-batch (-1: of none), with the bytes of the buffers that
// it was given. A wait is for what was started before, whatever it is; a copy is from one
// buffer of the rank to another.
struct Communication {
  CommunicationKind kind;
  int group;
  int64_t microBatch;
  int64_t bytes;
};

// Seconds of now() everywhere.
class CommunicationObserver {
public:
  virtual ~CommunicationObserver() = default;
  // The rank was in a call from `begin` to `end`.
  virtual void communicated(const Communication &call, double begin, double end) = 0;
  // What was on a stream of the device (by its number) from `begin` on has ended by `end`; of several sends that were
  // under way, from the end of the one before it.
  virtual void carried(const Communication &call, int stream, double begin, double end) = 0;
};

// Told of what the code of a routine does while it runs.
class RoutineListener {
public:
  virtual ~RoutineListener() = default;
  // It has come to the point from which on early token `entry` is there.
  virtual void reached(int64_t entry) = 0;
  // A call that communicates begins, and has returned: streams may get on. `moment`: when what it waited for ended, on
  // emulated links (Transport::lastEnd); else 0.
  virtual void communicates() = 0;
  virtual void communicated(double moment) = 0;
  // It waits, and something has ended: the same.
  virtual void waits() = 0;
};

class RankContext : public ppcrt_rank {
public:
  explicit RankContext(Transport &transport) : transport(transport) {
    traffic.groupBytes.resize(transport.groupCount());
  }

  // Adds to the traffic what `call` sends.
  void count(const Collective &call);

  Transport &transport;
  Traffic traffic;
  CommunicationObserver *observer = nullptr; // not owned
  OperationProfile *profile = nullptr;       // not owned; null: operations are not timed
  RoutineListener *listener = nullptr;       // not owned; null: nobody asks
  ProgressMarks *marks = nullptr;            // not owned; null: nobody watches

  // What generated code was handed. Ends the process with the name of the C function that was called without a rank.
  static RankContext &of(ppcrt_rank *rank, const char *function);
};

// How observers call a collective of the program.
Communication describe(const Collective &call, int members);

// Adds the time of its life to Traffic::waitedSeconds, and tells the observer and the marks.
class CommunicationTimer {
public:
  CommunicationTimer(RankContext &context, const Communication &call);
  ~CommunicationTimer();

private:
  RankContext &context;
  Communication call;
  double start;
};

} // namespace ppcrt
