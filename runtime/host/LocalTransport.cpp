// The shared region's layout, and each rank's view of it.
#include "runtime/host/LocalTransport.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <numeric>

namespace ppcrt {

LocalWorld::LocalWorld(const LocalWorldShape &shape) {
  RegionLayout layout;
  size_t ranks = shape.arenaBytes.size();
  statuses = layout.add(ranks * sizeof(RankStatus));
  mailbox = layout.add(shape.messages.size() * sizeof(Mail));
  for (size_t i = 0; i < shape.messages.size(); ++i) {
    const auto &[source, destination, key] = shape.messages[i];
    mail.emplace(MailKey(source, destination, key.tag, key.microBatch), i);
  }
  std::vector<std::vector<std::vector<int>>> allGroups = shape.groups;
  std::vector<int> everybody(ranks);
  std::iota(everybody.begin(), everybody.end(), 0);
  allGroups.push_back({everybody});
  for (const auto &instances : allGroups) {
    groups.emplace_back();
    for (const std::vector<int> &members : instances)
      groups.back().push_back({members, layout.add(sizeof(SharedBarrier)), layout.add(2 * 64 * members.size()),
                               layout.add(members.size() > 1 ? 2 * stagingBytes * members.size() : 0)});
  }
  bounceBytes = (int64_t(64) << 20) + *std::max_element(shape.arenaBytes.begin(), shape.arenaBytes.end());
  for (int64_t bytes : shape.arenaBytes) {
    arenas.push_back(layout.add(bytes));
    bounces.push_back(layout.add(bounceBytes));
  }
  region = std::make_unique<SharedRegion>(layout.total());
  for (size_t rank = 0; rank < ranks; ++rank)
    region->useLargePages(arenas[rank], shape.arenaBytes[rank]);
}

LocalTransport::LocalTransport(LocalWorld &world, int rank, bool ranksHaveTheirOwnCores)
    : world(world), me(rank), spinning(Spinning::of(ranksHaveTheirOwnCores)), links(world.groups.size()) {
  std::byte *base = world.region->data();
  for (size_t group = 0; group < world.groups.size(); ++group)
    for (const LocalWorld::Communicator &communicator : world.groups[group]) {
      auto found = std::find(communicator.members.begin(), communicator.members.end(), rank);
      if (found != communicator.members.end())
        links[group] = {int(communicator.members.size()), int(found - communicator.members.begin()),
                        reinterpret_cast<SharedBarrier *>(base + communicator.barrier), base + communicator.published,
                        base + communicator.staging};
    }
}

LocalTransport::Announcement &LocalTransport::Link::announcement(unsigned parity, int member) const {
  return *reinterpret_cast<Announcement *>(published + 64 * (size_t(parity) * size + member));
}

std::byte *LocalTransport::Link::stage(unsigned parity, int member) const {
  return staging + LocalWorld::stagingBytes * (size_t(parity) * size + member);
}

const void *LocalTransport::shareable(const void *in, int64_t bytes) {
  if (world.region->contains(in, bytes))
    return in;
  if (bytes > world.bounceBytes)
    fatal("a collective of %lld bytes on a buffer outside the arena exceeds the limit of %lld", (long long)bytes,
          (long long)world.bounceBytes);
  return __builtin_memcpy(world.region->data() + world.bounces[me], in, bytes);
}

unsigned LocalTransport::meet(int group, const Announcement &mine, const void *stagedInput, int64_t stagedBytes) {
  Link &link = this->link(group);
  unsigned parity = link.turn++ & 1;
  link.announcement(parity, link.index) = mine;
  if (stagedInput)
    __builtin_memcpy(link.stage(parity, link.index), stagedInput, stagedBytes);
  link.barrier->wait(link.size, spinning);
  for (int member = 0; member < link.size; ++member) {
    const Announcement &other = link.announcement(parity, member);
    if (other.name != mine.name || other.count != mine.count || other.type != mine.type || other.kind != mine.kind)
      fatal("the members of group %d disagree: member %d calls %s of %lld %s (kind %d), member %d %s of %lld %s (kind "
            "%d)",
            group, link.index, mine.name, (long long)mine.count, info(mine.type).name, int(mine.kind), member,
            other.name, (long long)other.count, info(other.type).name, int(other.kind));
  }
  return parity;
}

void LocalTransport::barrier(int group) {
  Waiting waiting(world.status(me), "barrier", group);
  if (link(group).size > 1)
    link(group).barrier->wait(link(group).size, spinning);
}

LocalTransport::Waiting::Waiting(RankStatus &status, const char *name, int64_t first, MessageKey key) : status(status) {
  status.name.store(name, std::memory_order_relaxed);
  status.first.store(first, std::memory_order_relaxed);
  status.tag.store(key.tag, std::memory_order_relaxed);
  status.microBatch.store(key.microBatch, std::memory_order_relaxed);
  status.waits.store(status.waits.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

LocalTransport::Waiting::~Waiting() {
  status.waits.store(status.waits.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

std::string describeWait(const RankStatus &status) {
  std::string text = status.name.load();
  if (status.tag >= 0)
    return text + format(" of micro-batch %lld, tag %lld, rank %lld", (long long)status.microBatch,
                         (long long)status.tag, (long long)status.first);
  return text + (status.first < 0 ? " of all ranks" : format(" of group %lld", (long long)status.first));
}

} // namespace ppcrt
