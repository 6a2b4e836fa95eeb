// Ranks on one machine, talking through one shared region. The launcher builds a LocalWorld, forks, and each rank makes
// its LocalTransport of it; threads of one process may be ranks as well. Peers read each other's buffers in place;
// reductions run in index order.
#pragma once

#include "runtime/core/Transport.h"
#include "runtime/host/Memory.h"
#include "runtime/host/SharedWord.h"

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace ppcrt {

// What a rank tells the launcher while it runs; lies in shared memory.
struct RankStatus {
  // Odd while the rank is inside a call that may wait for others, even otherwise; every such call adds 2. The fields
  // after it say which call: `name` is a literal, `first` a group or a peer, the rest a message's key.
  std::atomic<uint64_t> waits;
  std::atomic<const char *> name;
  std::atomic<int64_t> first, tag, microBatch;
  std::atomic<int64_t> step; // the step it is in, from 1; 0 before
  char message[2048];        // why it ended itself, see fatal(); empty: it did not
};

struct LocalWorldShape {
  std::vector<int64_t> arenaBytes;                   // per rank
  std::vector<std::vector<std::vector<int>>> groups; // [group][instance] = members by index; a rank is in at most one
  struct Message {
    int source, destination;
    MessageKey key;
  };
  std::vector<Message> messages; // every message of a step
};

class LocalWorld {
public:
  explicit LocalWorld(const LocalWorldShape &shape);

  int rankCount() const { return int(arenas.size()); }
  std::byte *arena(int rank) const { return region->data() + arenas[rank]; } // 4096-byte aligned, zero
  RankStatus &status(int rank) const { return reinterpret_cast<RankStatus *>(region->data() + statuses)[rank]; }

private:
  friend class LocalTransport;

  // Shared between the members of one instance of a group. Members alternate between two sets of slots from call to
  // call: whoever has passed the barrier of a call knows that nobody still reads the slots of the call before it, so a
  // call that only writes slots before its barrier and reads them after it needs no second barrier.
  struct Communicator {
    std::vector<int> members;
    size_t barrier;   // SharedBarrier
    size_t published; // 2 x members x cache line: an Announcement
    size_t staging;   // 2 x members x stagingBytes
  };
  struct Mail {
    alignas(64) SharedWord posted; // 1 from send to receive
    const void *address;
    int64_t size;
    int destination;
    MessageKey key;
  };
  using MailKey = std::tuple<int, int, int64_t, int64_t>; // source, destination, tag, micro-batch

  static constexpr int64_t stagingBytes = int64_t(1) << 20;

  std::unique_ptr<SharedRegion> region;
  size_t statuses;
  std::vector<size_t> arenas;
  std::vector<size_t> bounces; // per rank, bounceBytes each
  int64_t bounceBytes;
  std::vector<std::vector<Communicator>> groups; // the last one is the group of all ranks
  std::map<MailKey, size_t> mail;                // index of a Mail
  size_t mailbox;
};

class LocalTransport final : public Transport {
public:
  // `ranksHaveTheirOwnCores`: waiting may spin for longer. `world` is borrowed.
  LocalTransport(LocalWorld &world, int rank, bool ranksHaveTheirOwnCores = false);

  int rank() const override { return me; }
  int rankCount() const override { return world.rankCount(); }
  int groupCount() const override { return int(links.size()) - 1; }
  int groupSize(int group) const override { return link(group).size; }
  int groupIndex(int group) const override { return link(group).index; }

  void allReduce(int group, void *buffer, int64_t count, DataType type, Reduction kind) override;
  void allGather(int group, const void *in, void *out, int64_t count, DataType type) override;
  void reduceScatter(int group, const void *in, void *out, int64_t count, DataType type, Reduction kind) override;
  void allToAll(int group, const void *in, void *out, int64_t count, DataType type) override;
  void barrier(int group) override;
  void gather(const void *in, int64_t bytes, void *out) override;

  // `bytes` of send must lie in the shared region.
  int64_t send(int destination, MessageKey key, const void *bytes, int64_t size) override;
  void waitSend(int64_t request) override;
  void receive(int source, MessageKey key, void *bytes, int64_t size) override;

private:
  // What a member tells the others before the barrier of a call; equal on all members but for the address.
  struct Announcement {
    const void *address; // of its input; null when that is in its staging slot
    const char *name;    // of the call: a literal
    int64_t count;
    DataType type;
    Reduction kind;
  };
  static_assert(sizeof(Announcement) <= 64, "one cache line");

  // This rank's end of a communicator.
  struct Link {
    int size = 0;
    int index = 0;
    SharedBarrier *barrier = nullptr;
    std::byte *published = nullptr;
    std::byte *staging = nullptr;
    unsigned turn = 0; // its parity is that of the next call's slots

    Announcement &announcement(unsigned parity, int member) const;
    std::byte *stage(unsigned parity, int member) const;
  };

  const Link &link(int group) const { return links[group == everyRank ? links.size() - 1 : size_t(group)]; }
  Link &link(int group) { return links[group == everyRank ? links.size() - 1 : size_t(group)]; }
  // `in`, or a copy of it that peers can read.
  const void *shareable(const void *in, int64_t bytes);
  // Announces a call, waits for the others to announce theirs, ends the process when they differ. Returns the parity of
  // the slots to use.
  unsigned meet(int group, const Announcement &mine, const void *stagedInput = nullptr, int64_t stagedBytes = 0);
  LocalWorld::Mail &mail(int source, int destination, MessageKey key);

  // Keeps RankStatus::waits for the time of a call.
  struct Waiting {
    Waiting(RankStatus &status, const char *name, int64_t first, MessageKey key = {-1, -1});
    ~Waiting();
    RankStatus &status;
  };

  LocalWorld &world;
  int me;
  Spinning spinning;
  std::vector<Link> links;
};

// "all_reduce of group 1", "receive of micro-batch 0, tag 1, rank 2": the call that a rank is in.
std::string describeWait(const RankStatus &status);

} // namespace ppcrt
