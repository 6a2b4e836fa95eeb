// The memory that ranks on one machine share: their arenas, and what they communicate through. The launcher builds it
// and forks; threads of one process may be ranks as well.
#pragma once

#include "runtime/host/Memory.h"
#include "runtime/local/EmulatedLinks.h"
#include "runtime/local/SharedOperation.h"
#include "runtime/local/SharedWord.h"
#include "runtime/transport/Transport.h"
#include "runtime/watch/RankProgress.h"

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace ppcrt {

// What a rank tells the launcher while it runs; lies in shared memory.
struct RankStatus : RankProgress {
  char message[2048]; // why it ended itself, see fatal(); empty: it did not
};

struct LocalWorldShape {
  std::vector<int64_t> arenaBytes;                   // per rank
  std::vector<std::vector<std::vector<int>>> groups; // [group][instance] = members by index; a rank is in at most one
  struct Message {
    int source, destination;
    MessageKey key;
  };
  std::vector<Message> messages; // every message of a step
  LinkLayout links;              // empty: memory alone
};

class LocalWorld {
public:
  explicit LocalWorld(const LocalWorldShape &shape);

  int rankCount() const { return int(arenas.size()); }
  std::byte *arena(int rank) const { return region->data() + arenas[rank]; } // 4096-byte aligned, zero
  RankStatus &status(int rank) const { return reinterpret_cast<RankStatus *>(region->data() + statuses)[rank]; }

private:
  friend class LocalTransport;

  // Of one instance of a group. Its collectives lie one after the other in a ring.
  struct Communicator {
    std::vector<int> members;
    size_t operations;              // ringLength of them
    const LinkLayout::Route *route; // null: what it moves takes no time on a link
  };
  // A message, again and again: each end counts its own turns.
  struct Mail {
    alignas(64) std::atomic<uint32_t> sent, wanted, matched, routed, taken, arrived;
    std::atomic<uint64_t> transfer; // on emulated links, of the turn `routed`
    const void *from;               // in the region
    void *to;                       // in the region, or null where the receiver alone can reach it
    int64_t sentBytes, wantedBytes;
    double sentAt, wantedAt; // moments
  };
  using MailKey = std::tuple<int, int, int64_t, int64_t>; // source, destination, tag, micro-batch
  struct alignas(64) Bell {
    SharedWord word; // rung when something that the rank may wait for has happened
  };

  // Collectives of a group that may be under way before one that begins waits for the oldest.
  static constexpr uint32_t ringLength = 64;

  LinkLayout layout;
  std::unique_ptr<SharedRegion> region;
  std::unique_ptr<EmulatedLinks> links; // null: memory alone
  size_t statuses, bells;
  std::vector<size_t> arenas;
  std::vector<size_t> bounces; // per rank, bounceBytes each
  int64_t bounceBytes;
  std::vector<std::vector<Communicator>> groups; // the last one is the group of all ranks
  std::map<MailKey, size_t> mail;                // index of a Mail
  size_t mailbox;
};

} // namespace ppcrt
