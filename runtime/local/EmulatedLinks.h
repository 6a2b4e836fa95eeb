// Links that deliver when links of given rates would have: transfers that are under way at the same time share the
// ports that they go through. Nothing is slowed down by it: what has been copied is only said to have ended later.
#pragma once

#include "runtime/base/Clock.h"
#include "runtime/transport/Transport.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ppcrt {

// The ports, and which of them communication goes through.
struct LinkLayout {
  struct Route {
    std::vector<std::pair<int, int>> ports; // with how many flows go through each; empty: it takes no time
    double latency = 0;                     // seconds of a step
  };
  std::vector<double> rates;                // of each port, bytes per second
  std::vector<std::vector<Route>> groups;   // [group][instance], as in LocalWorldShape
  std::vector<std::vector<Route>> messages; // [source][destination]

  bool empty() const { return rates.empty(); }
};

// What a ring sends for a call: bytes of each member, one message after the other.
struct WireUse {
  double bytes;
  int steps;
};
WireUse wireUse(const Collective &call, int members);

// All ranks share one: the layout is the same everywhere, and what is under way lies in shared memory, where all-zero
// bytes are the beginning.
//
// A transfer waits for its latency, then its flows move bytes at the least of what its ports give them: the rate of a
// port divided by the number of flows through it.
class EmulatedLinks {
public:
  // `clock` tells the time, in seconds.
  EmulatedLinks(const LinkLayout &layout, std::byte *shared, double (*clock)() = now)
      : layout(layout), table(*reinterpret_cast<Table *>(shared)), clock(clock) {}
  static size_t sharedBytes() { return sizeof(Table); }
  static constexpr int mostPorts = 4096;

  // A transfer begins at `moment`, which is past; its number, from 1 on. 0: it takes no time. What it would have moved
  // since then counts as moved; what others have is left as it is.
  uint64_t begin(const LinkLayout::Route &route, const WireUse &use, double moment);
  bool isDelivered(uint64_t transfer);
  // When that was; known until 4096 others have begun after it.
  double deliveredAt(uint64_t transfer) const { return table.delivered[transfer % capacity]; }
  // The time at which the next one will be, if none begins before; Transport::never when none is under way.
  double nextDelivery();

private:
  static constexpr int capacity = 4096; // transfers under way
  struct Transfer {
    uint64_t number;    // 0: this place is free
    double latencyEnds; // time
    double bytes;       // left, of each flow
    const LinkLayout::Route *route;
  };
  struct Table {
    std::atomic<uint32_t> lock;
    uint64_t begun;
    double time; // up to which bytes have moved
    int used;    // places up to the last transfer
    Transfer transfers[capacity];
    double delivered[capacity]; // by number, when transfers have ended
    int flows[mostPorts];       // through each port, of transfers whose latency is over
  };
  class Locked;

  // Moves bytes until `until`.
  void advance(double until);
  double rateOf(const Transfer &transfer) const;
  // The next time at which a latency or a transfer ends.
  double nextChange() const;
  void count(const Transfer &transfer, int sign);

  const LinkLayout &layout;
  Table &table;
  double (*clock)();
};

} // namespace ppcrt
