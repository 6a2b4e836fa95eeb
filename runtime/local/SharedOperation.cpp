// How each kind of collective is cut into parts, and what a part does.
#include "runtime/local/SharedOperation.h"
#include "runtime/base/Error.h"
#include "runtime/host/Reduce.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace ppcrt {
namespace {

constexpr int64_t mostPartBytes = 64 << 10; // of a member's buffer: what all read and write stays in the cache
constexpr int64_t leastPartBytes = 4 << 10; // below, taking a part costs more than doing it
constexpr int64_t smallCollectiveBytes = int64_t(32) << 10; // that all members read and write together

// A member's block of `count` units, cut into parts of `length`, of which some kinds have several blocks.
struct Cutting {
  int64_t unit; // bytes
  int64_t count, length, perBlock;
  int64_t blocks; // work of the kind is (block, part of it)

  int64_t parts() const { return blocks * perBlock; }
};

Cutting cut(CollectiveKind kind, int64_t count, DataType type, int members) {
  Cutting result{info(type).bytes, count, 0, 0, kind == CollectiveKind::AllReduce ? 1 : members};
  if (kind == CollectiveKind::Gather)
    result.unit = 1;
  int64_t bytes = count * result.unit, wanted = bytes / (2 * members);
  if (kind == CollectiveKind::AllToAll) // a part is of as many blocks as there are members
    wanted = std::min(wanted, mostPartBytes / members);
  wanted = std::clamp(wanted / 64 * 64, leastPartBytes, mostPartBytes);
  result.length = wanted / result.unit;
  result.perBlock = (count + result.length - 1) / result.length;
  return result;
}

void copyPart(std::byte *out, const std::byte *in, int64_t bytes) {
  if (out != in && bytes > 0)
    std::memcpy(out, in, size_t(bytes));
}

} // namespace

void SharedOperation::checkAgreement(int members, int index) const {
  const Entry &mine = entries()[index];
  for (int member = 0; member < members; ++member) {
    const Entry &other = entries()[member];
    if (other.kind != mine.kind || other.count != mine.count || other.type != mine.type ||
        other.reduction != mine.reduction || other.shift != mine.shift)
      fatal("the members of group %d disagree: member %d calls %s of %lld %s (kind %d), member %d %s of %lld %s (kind "
            "%d)",
            mine.group, index, collectiveNames[int(mine.kind)], (long long)mine.count, info(mine.type).name,
            int(mine.reduction), member, collectiveNames[int(other.kind)], (long long)other.count,
            info(other.type).name, int(other.reduction));
  }
}

bool SharedOperation::arrive(uint32_t turn, int members, int index, const Collective &call, double moment) {
  entries()[index] = {static_cast<const std::byte *>(call.in),
                      static_cast<std::byte *>(call.out),
                      call.count,
                      call.group,
                      call.shift,
                      call.type,
                      call.reduction,
                      call.kind,
                      moment};
  if (int(arrived.fetch_add(1, std::memory_order_acq_rel)) + 1 != members)
    return false;
  checkAgreement(members, index);
  return true;
}

double SharedOperation::latestMoment(int members) const {
  double latest = 0;
  for (int member = 0; member < members; ++member)
    latest = std::max(latest, entries()[member].moment);
  return latest;
}

void SharedOperation::open(uint32_t turn, int members, uint64_t ofLinks) {
  const Entry &call = entries()[0];
  int64_t count = cut(call.kind, call.count, call.type, members).parts();
  if (count > int64_t(UINT32_MAX))
    fatal("a %s of %lld %s is too large", collectiveNames[int(call.kind)], (long long)call.count, info(call.type).name);
  arrived.store(0, std::memory_order_relaxed); // until the next turn nobody looks
  parts.store(uint32_t(count), std::memory_order_relaxed);
  left.store(uint32_t(count), std::memory_order_relaxed);
  transfer.store(ofLinks, std::memory_order_relaxed);
  untaken.store(uint64_t(turn + 1) << 32 | uint64_t(count), std::memory_order_release);
  if (count == 0)
    ended.store(turn + 1, std::memory_order_release);
}

std::optional<uint64_t> SharedOperation::transferOf(uint32_t turn) const {
  if (uint32_t(untaken.load(std::memory_order_acquire) >> 32) != turn + 1)
    return std::nullopt;
  return transfer.load(std::memory_order_relaxed);
}

SharedOperation::Done SharedOperation::help(uint32_t turn, int members) {
  uint64_t now = untaken.load(std::memory_order_acquire);
  do { // a turn that is not there yet, or over, has another number
    if (uint32_t(now >> 32) != turn + 1 || uint32_t(now) == 0)
      return Done::Nothing;
  } while (!untaken.compare_exchange_weak(now, now - 1, std::memory_order_acq_rel, std::memory_order_acquire));
  // Until this part is done the turn goes on, and `parts` is of it.
  doPart(members, int64_t(parts.load(std::memory_order_relaxed)) - uint32_t(now));
  if (left.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return Done::Part;
  ended.store(turn + 1, std::memory_order_release);
  return Done::All;
}

bool SharedOperation::isSmall(int members) const {
  const Entry &call = entries()[0];
  Cutting cutting = cut(call.kind, call.count, call.type, members);
  return cutting.count * cutting.unit * cutting.blocks * members <= smallCollectiveBytes;
}

void SharedOperation::doPart(int members, int64_t part) const {
  const Entry *all = entries();
  const Entry &call = all[0];
  Cutting cutting = cut(call.kind, call.count, call.type, members);
  int64_t block = part / cutting.perBlock, first = part % cutting.perBlock * cutting.length;
  int64_t count = std::min(cutting.length, cutting.count - first), bytes = count * cutting.unit;
  int64_t at = first * cutting.unit, blockBytes = cutting.count * cutting.unit;
  std::vector<const void *> sources;
  switch (call.kind) {
  case CollectiveKind::AllReduce:
    // Nobody else touches this part of any buffer, so the first one takes the result in place.
    for (int member = 0; member < members; ++member)
      sources.push_back(all[member].in + at);
    reduce(all[0].out + at, sources.data(), members, count, call.type, call.reduction);
    for (int member = 1; member < members; ++member)
      copyPart(all[member].out + at, all[0].out + at, bytes);
    return;
  case CollectiveKind::ReduceScatter:
    for (int member = 0; member < members; ++member)
      sources.push_back(all[member].in + block * blockBytes + at);
    reduce(all[block].out + at, sources.data(), members, count, call.type, call.reduction);
    return;
  case CollectiveKind::AllGather:
    for (int member = 0; member < members; ++member)
      copyPart(all[member].out + block * blockBytes + at, all[block].in + at, bytes);
    return;
  case CollectiveKind::AllToAll:
    for (int member = 0; member < members; ++member)
      copyPart(all[block].out + member * blockBytes + at, all[member].in + block * blockBytes + at, bytes);
    return;
  case CollectiveKind::Permute: {
    int64_t to = ((block + call.shift) % members + members) % members;
    copyPart(all[to].out + at, all[block].in + at, bytes);
    return;
  }
  case CollectiveKind::Gather:
    copyPart(all[0].out + block * blockBytes + at, all[block].in + at, bytes);
    return;
  case CollectiveKind::Barrier:
    return;
  }
}

} // namespace ppcrt
