// A rank as the C functions of ppcrt.h are handed it: its transport, what they move, and who wants to know of each
// call.
#pragma once

#include "runtime/core/Transport.h"
#include "runtime/include/ppcrt.h"

#include <vector>

struct ppcrt_rank {};

namespace ppcrt {

class OperationProfile;

// Traffic of this rank since the start.
struct Traffic {
  // Bytes that this rank would send on a link: all-reduce 2 (n-1)/n of the buffer, all-gather (n-1) times the input,
  // reduce-scatter and all-to-all (n-1) times the block. Indexed by group.
  std::vector<double> groupBytes;
  double messageBytes = 0; // sent point to point
  double seconds = 0;      // spent in collectives and point-to-point calls, waiting included
};

enum class CommunicationKind : int16_t { AllReduce, AllGather, ReduceScatter, AllToAll, Send, Receive, WaitForSends };
inline constexpr const char *communicationNames[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all",
                                                     "send",       "receive",    "wait_for_sends"};

// A call that communicates: of a group (-1: point to point) or of a micro-batch (-1: a collective), with the bytes of
// the buffer that it was given.
struct Communication {
  CommunicationKind kind;
  int group;
  int64_t microBatch;
  int64_t bytes;
};

class CommunicationObserver {
public:
  virtual ~CommunicationObserver() = default;
  // Seconds of now().
  virtual void communicated(const Communication &call, double begin, double end) = 0;
};

class RankContext : public ppcrt_rank {
public:
  explicit RankContext(Transport &transport) : transport(transport) {
    traffic.groupBytes.resize(transport.groupCount());
  }

  Transport &transport;
  Traffic traffic;
  CommunicationObserver *observer = nullptr; // not owned
  OperationProfile *profile = nullptr;       // not owned; null: operations are not timed

  // What generated code was handed. Ends the process with the name of the C function that was called without a rank.
  static RankContext &of(ppcrt_rank *rank, const char *function);
};

// Adds the time of its life to Traffic::seconds, and tells the observer.
class CommunicationTimer {
public:
  CommunicationTimer(RankContext &context, const Communication &call);
  ~CommunicationTimer();

private:
  RankContext &context;
  Communication call;
  double start;
};

// Seconds of a monotonic clock.
double now();

} // namespace ppcrt
