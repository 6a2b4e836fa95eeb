// A rank of a LocalWorld. Peers read and write each other's buffers in place, and whoever waits does what there is to
// be done for all of them (SharedOperation.h): no thread beside the ranks is needed for communication to get on
// (docs/Rationale/ProgressInWaits.md).
#pragma once

#include "runtime/local/BounceSpace.h"
#include "runtime/local/LocalWorld.h"
#include "runtime/transport/Transport.h"

#include <functional>
#include <optional>
#include <vector>

namespace ppcrt {

class LocalTransport final : public Transport {
public:
  // `ranksHaveTheirOwnCores`: waiting may spin for longer. `world` is borrowed.
  LocalTransport(LocalWorld &world, int rank, bool ranksHaveTheirOwnCores = false);

  int rank() const override { return me; }
  int rankCount() const override { return world.rankCount(); }
  int groupCount() const override { return int(links.size()) - 1; }
  int groupSize(int group) const override { return link(group).size; }
  int groupIndex(int group) const override { return link(group).index; }

  Request start(const Collective &call) override;
  // `bytes` of a send must lie in the shared region. Where those of a receive do not, the sender waits for the receiver
  // to come to a wait.
  Request startSend(int destination, MessageKey key, const void *bytes, int64_t size) override;
  Request startReceive(int source, MessageKey key, void *bytes, int64_t size) override;
  bool test(Request request) override;
  void wait(Request request) override;
  void waitAny(double deadline) override;
  void setMoment(double next) override { moment = next; }
  double lastEnd() const override { return ended; }

private:
  // This rank's end of a communicator.
  struct Link {
    int size = 0;
    int index = 0;
    const LocalWorld::Communicator *communicator = nullptr;
    uint64_t calls = 0;
  };

  struct Pending {
    Request request = 0;
    const char *name = nullptr; // of the call: a literal
    int64_t first = 0;          // the group, or the peer
    MessageKey key{-1, -1};
    SharedOperation *operation = nullptr; // of a collective, whose communicator is that of the group `first`
    LocalWorld::Mail *mail = nullptr;     // of a message
    bool isSent = false;
    uint32_t turn = 0;                // of the operation or the mail
    std::optional<uint64_t> transfer; // on emulated links, once it is known
    void *receiveTo = nullptr;        // where a message goes
    int64_t bounce = -1;              // what is held of the bounce space
    void *copyTo = nullptr;           // where the result goes from there
    const void *copyFrom = nullptr;
    int64_t copyBytes = 0;
    bool isTold = false; // by waitAny()
  };

  const Link &link(int group) const { return links[group == everyRank ? links.size() - 1 : size_t(group)]; }
  Link &link(int group) { return links[group == everyRank ? links.size() - 1 : size_t(group)]; }
  SharedWord &bell(int rank) const {
    return reinterpret_cast<LocalWorld::Bell *>(world.region->data() + world.bells)[rank].word;
  }
  SharedOperation &operation(const Link &link, uint64_t call) const;
  LocalWorld::Mail &mail(int source, int destination, MessageKey key) const;
  bool isOutside(const void *data, int64_t bytes) const { return bytes > 0 && !world.region->contains(data, bytes); }

  // `call` on buffers that peers can reach: its own, or copies in the bounce space.
  Collective reachable(const Collective &call, Pending &pending);
  // A collective of this rank alone.
  static void doAlone(const Collective &call);
  Request keep(Pending &pending);
  std::vector<Pending>::iterator find(Request request);

  bool hasEnded(Pending &pending) const;
  // What both ends of a message, or all members, have begun takes its time on emulated links from now on.
  uint64_t beginTransfer(const LinkLayout::Route *route, const WireUse &use, double begin) const;
  // When what this rank starts begins, on emulated links.
  double startMoment() const;
  void match(const Pending &pending) const;
  // Does a piece of what `pending` or any outstanding request needs, if there is one to do.
  bool help(const Pending &pending);
  bool helpAny();
  // The same for a message: copies it when both of its ends have started.
  bool deliver(const Pending &pending) const;
  void ringMembers(int64_t group) const;
  // Helps until `done` holds or now() has reached the deadline; tells the launcher that it waits for `shown`.
  void helpUntil(const Pending &shown, double deadline, const std::function<bool()> &done);
  double nextLook(double deadline) const;
  // Takes the result where it belongs and forgets the request.
  void finish(std::vector<Pending>::iterator pending);

  LocalWorld &world;
  int me;
  Spinning spinning;
  std::vector<Link> links;
  BounceSpace bounces;
  std::vector<Pending> outstanding; // in the order in which they were started
  Request nextRequest = endedAtOnce + 1;
  double moment = 0, ended = 0; // setMoment() and lastEnd()
};

} // namespace ppcrt
