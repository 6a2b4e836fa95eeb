// Ranks that only the store connects: who gives puts, who takes gets, and reductions are computed where their results
// are wanted, in the order of the members' index, so that they give the same bits as other transports. Everything goes
// through the process of rank 0: enough for numbers of the runtime, little for gradients.
#pragma once

#include "runtime/tcp/StoreClient.h"
#include "runtime/transport/Transport.h"

#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace ppcrt::tcp {

class StoreTransport final : public Transport {
public:
  // `groups`: members by index; empty where this rank is none of them. `name` tells the values of this object from
  // those of others on the same store, which is borrowed.
  StoreTransport(StoreClient &store, int rank, int ranks, std::vector<std::vector<int>> groups, std::string name = "");

  int rank() const override { return me; }
  int rankCount() const override { return ranks; }
  int groupCount() const override { return int(links.size()) - 1; }
  int groupSize(int group) const override { return int(link(group).members.size()); }
  int groupIndex(int group) const override { return link(group).index; }

  Request start(const Collective &call) override;
  Request startSend(int destination, MessageKey key, const void *bytes, int64_t size) override;
  Request startReceive(int source, MessageKey key, void *bytes, int64_t size) override;
  bool test(Request request) override;
  void wait(Request request) override;
  void waitAny(double deadline) override;
  int64_t clockOffset() override;

private:
  using Bytes = std::vector<std::byte>;
  struct Link {
    std::vector<int> members;
    int index = 0;
    int64_t calls = 0;
  };
  struct Part {
    int member = 0; // of the group, or 0
    StoreClient::Ticket ticket = 0;
    Bytes value;
    bool isThere = false;
  };
  struct Pending {
    Request request;
    Collective call; // of a receive: `out` and the count of bytes
    bool isMessage;
    Bytes own;               // what this member gives to itself
    std::vector<Part> parts; // from others
    bool isTold = false;     // by waitAny()
  };

  const Link &link(int group) const { return links[group == everyRank ? links.size() - 1 : size_t(group)]; }
  Link &link(int group) { return links[group == everyRank ? links.size() - 1 : size_t(group)]; }
  std::string messageName(int source, int destination, MessageKey key);
  Request keep(Pending pending);
  std::vector<Pending>::iterator find(Request request);
  // Takes what has arrived; whether that was the last of it.
  bool hasArrived(Pending &pending);
  void conclude(const Pending &pending) const;

  StoreClient &store;
  const std::string space;
  int me, ranks;
  std::vector<Link> links;                                        // the last one is the group of all ranks
  std::map<std::tuple<int, int, int64_t, int64_t>, int64_t> sent; // messages so far, at either end
  std::vector<Pending> outstanding;
  Request nextRequest = endedAtOnce + 1;
};

} // namespace ppcrt::tcp
