// What the C functions of ppcrt.h need to know: which transport this process uses. Also counts what they move.
#pragma once

#include "runtime/host/Transport.h"

#include <vector>

namespace ppcrt {

// Traffic of this rank since the start.
struct Traffic {
  // Bytes that this rank would send on a link: all-reduce 2 (n-1)/n of the buffer, all-gather (n-1) times the input,
  // reduce-scatter and all-to-all (n-1) times the block. Indexed by group.
  std::vector<double> groupBytes;
  double messageBytes = 0; // sent point to point
  double seconds = 0;      // spent in collectives and point-to-point calls, waiting included
};

class RankContext {
public:
  explicit RankContext(Transport &transport) : transport(transport) {
    traffic.groupBytes.resize(transport.groupCount());
  }

  Transport &transport;
  Traffic traffic;

  // The context of this process; null until set. Not owned.
  static RankContext *current;
};

// Adds the time of its life to Traffic::seconds.
class TrafficTimer {
public:
  explicit TrafficTimer(Traffic &traffic);
  ~TrafficTimer();

private:
  Traffic &traffic;
  double start;
};

// Seconds of a monotonic clock.
double now();

} // namespace ppcrt
