// From one change of rates to the next.
#include "runtime/local/EmulatedLinks.h"
#include "runtime/base/Error.h"

#include <algorithm>
#include <sched.h>

namespace ppcrt {
namespace {

constexpr double instant = 1e-9; // seconds: rounding

} // namespace

WireUse wireUse(const Collective &call, int members) {
  double bytes = double(call.bytes());
  switch (call.kind) {
  case CollectiveKind::AllReduce:
    return {2 * bytes * (members - 1) / members, 2 * (members - 1)};
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
  case CollectiveKind::AllToAll:
    return {bytes * (members - 1), members - 1};
  case CollectiveKind::Permute:
    return {bytes, 1};
  case CollectiveKind::Barrier:
  case CollectiveKind::Gather:
    break;
  }
  return {0, 1};
}

class EmulatedLinks::Locked {
public:
  explicit Locked(Table &table) : table(table) {
    for (int turn = 0; table.lock.exchange(1, std::memory_order_acquire); ++turn)
      if (turn % 64 == 63)
        sched_yield();
  }
  ~Locked() { table.lock.store(0, std::memory_order_release); }
  Locked(const Locked &) = delete;
  Locked &operator=(const Locked &) = delete;

private:
  Table &table;
};

void EmulatedLinks::count(const Transfer &transfer, int sign) {
  for (auto [port, flows] : transfer.route->ports)
    table.flows[port] += sign * flows;
}

double EmulatedLinks::rateOf(const Transfer &transfer) const {
  double rate = Transport::never;
  for (auto [port, flows] : transfer.route->ports)
    rate = std::min(rate, layout.rates[size_t(port)] / table.flows[port]);
  return rate;
}

double EmulatedLinks::nextChange() const {
  double next = Transport::never;
  for (int i = 0; i < table.used; ++i) {
    const Transfer &transfer = table.transfers[i];
    if (!transfer.number)
      continue;
    bool moves = transfer.latencyEnds <= table.time;
    next = std::min(next, moves ? table.time + transfer.bytes / rateOf(transfer) : transfer.latencyEnds);
  }
  return next;
}

void EmulatedLinks::advance(double until) {
  for (;;) {
    double next = std::min(nextChange(), until);
    if (next > table.time) {
      double passed = next - table.time;
      for (int i = 0; i < table.used; ++i) // with the rates before the change
        if (Transfer &transfer = table.transfers[i]; transfer.number && transfer.latencyEnds <= table.time)
          transfer.bytes -= passed * rateOf(transfer);
    }
    bool changed = false;
    double before = table.time;
    table.time = std::max(table.time, next);
    for (int i = 0; i < table.used; ++i) {
      Transfer &transfer = table.transfers[i];
      if (!transfer.number)
        continue;
      if (transfer.latencyEnds > before && transfer.latencyEnds <= table.time) {
        count(transfer, 1);
        changed = true;
      } else if (transfer.latencyEnds <= before && transfer.bytes <= instant * rateOf(transfer)) {
        // What began before it was told of may have ended before.
        table.delivered[transfer.number % capacity] = table.time + std::min(0.0, transfer.bytes) / rateOf(transfer);
        count(transfer, -1);
        transfer.number = 0;
        changed = true;
      }
    }
    while (table.used > 0 && !table.transfers[table.used - 1].number)
      --table.used;
    if (!changed && table.time >= until)
      return;
  }
}

uint64_t EmulatedLinks::begin(const LinkLayout::Route &route, const WireUse &use, double moment) {
  if (route.ports.empty() || use.bytes <= 0)
    return 0;
  Locked locked(table);
  advance(clock());
  int place = 0;
  while (place < table.used && table.transfers[place].number)
    ++place;
  if (place == capacity)
    fatal("more than %d transfers are under way on emulated links", capacity);
  table.used = std::max(table.used, place + 1);
  Transfer &transfer = table.transfers[place];
  transfer = {++table.begun, moment + route.latency * use.steps, use.bytes, &route};
  if (transfer.latencyEnds <= table.time) {
    count(transfer, 1);
    transfer.bytes -= (table.time - transfer.latencyEnds) * rateOf(transfer);
  }
  return transfer.number;
}

bool EmulatedLinks::isDelivered(uint64_t number) {
  if (!number)
    return true;
  Locked locked(table);
  advance(clock());
  return std::none_of(table.transfers, table.transfers + table.used,
                      [&](const Transfer &transfer) { return transfer.number == number; });
}

double EmulatedLinks::nextDelivery() {
  Locked locked(table);
  advance(clock());
  return nextChange();
}

} // namespace ppcrt
