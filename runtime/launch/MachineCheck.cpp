// Memory, groups, messages.
#include "runtime/launch/MachineCheck.h"
#include "runtime/base/Error.h"
#include "runtime/base/Machine.h"
#include "runtime/executor/RankContext.h"
#include "runtime/program/ActionOrder.h"
#include "runtime/program/IssueOrder.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>
#include <vector>

namespace ppcrt {
namespace {

// The largest of all ranks.
double largest(Transport &transport, double value) {
  transport.allReduce(Transport::everyRank, &value, 1, DataType::F64, Reduction::Max);
  return value;
}

void checkMemory(const Manifest &manifest, Transport &transport) {
  int64_t ranks = transport.rankCount();
  std::vector<int64_t> machines(ranks);
  int64_t mine = machineIdentity();
  transport.allGather(Transport::everyRank, &mine, machines.data(), 1, DataType::I64);
  double needed = 0, available = double(availableMemoryBytes());
  int64_t here = 0;
  for (int64_t rank = 0; rank < ranks; ++rank)
    if (machines[rank] == mine) {
      needed += double(manifest.deviceOf(rank).memoryBytes());
      ++here;
    }
  if (needed > available)
    throw InputError(format("the %lld ranks on %s need %s for their arenas, and %s are available: use more machines, a "
                            "smaller micro-batch, or recomputation",
                            (long long)here, hostName().c_str(), formatBytes(needed).c_str(),
                            formatBytes(available).c_str()));
  double tightest = largest(transport, needed / available);
  size_t count = std::set<int64_t>(machines.begin(), machines.end()).size();
  if (transport.rank() == 0)
    std::printf("memory: the arenas take at most %.1f %% of what is available on %zu machine%s\n", 100 * tightest,
                count, count == 1 ? "" : "s");
}

// Seconds of an all-reduce of `count` values, the best of a few; throws when a sum is wrong.
double timeAllReduce(Transport &transport, int group, int64_t count) {
  constexpr int turns = 5;
  int size = transport.groupSize(group), index = transport.groupIndex(group);
  double best = 1e30;
  std::vector<float> values(count);
  for (int turn = 0; turn < turns; ++turn) {
    for (int64_t i = 0; i < count; ++i)
      values[i] = float(i % 1000 + index);
    transport.barrier(group);
    double start = now();
    transport.allReduce(group, values.data(), count, DataType::F32, Reduction::Sum);
    best = std::min(best, now() - start);
    for (int64_t i = 0; i < count; ++i) // small integers: exact in any order
      if (float expected = float(i % 1000 * size + int64_t(size) * (size - 1) / 2); values[i] != expected)
        throw InputError(
            format("an all-reduce over %d ranks gave %g in place of %g: the transport is not to be trusted", size,
                   values[i], expected));
  }
  return best;
}

void checkGroups(const Manifest &manifest, Transport &transport) {
  constexpr int64_t large = int64_t(1) << 18; // 1 MiB
  for (int group = 0; group < int(manifest.groups.size()); ++group) {
    int size = transport.groupSize(group);
    double small = size > 1 ? timeAllReduce(transport, group, 1) : 0;
    double big = size > 1 ? timeAllReduce(transport, group, large) : 0;
    small = largest(transport, small);
    big = largest(transport, big);
    int64_t members = int64_t(largest(transport, size));
    if (transport.rank() != 0)
      continue;
    std::string name;
    for (int axis : manifest.groups[group].axes)
      name += (name.empty() ? "" : "*") + manifest.grid.axes()[axis].name;
    if (members > 1)
      std::printf("group %d (%s): all-reduce over %lld ranks: 4 B in %.1f us, 1 MiB in %.3f ms\n", group, name.c_str(),
                  (long long)members, small * 1e6, big * 1e3);
  }
}

// Calls body(end, micro-batch) for each message of a step: first for all that are sent, then for all that are received;
// or, where waiting takes place on the device, in the order in which any two ranks agree.
template <typename Body> void forEachMessage(const Manifest &manifest, const Transport &transport, Body body) {
  const Device &device = manifest.deviceOf(transport.rank());
  if (transport.waitBlocks()) {
    for (bool sent : {true, false})
      device.forEachMessage([&](const MessageEnd &end, int64_t microBatch) {
        if (end.isSent == sent)
          body(end, microBatch);
      });
    return;
  }
  ActionOrder actions(device.step, device.streams.size());
  auto order = issueOrder(manifest, [](const Device &of) { return &of.step; });
  for (int64_t place : order[size_t(manifest.grid.stageOf(transport.rank()))])
    if (const auto &[action, microBatch] = actions.at(place); action->kind != ActionKind::Collective)
      body(device.messages[size_t(action->number)], microBatch);
}

// Every message of a step, with a few bytes each.
void checkMessages(const Manifest &manifest, Transport &transport, DeviceMemory &memory) {
  constexpr int64_t bytes = 64;
  int rank = transport.rank();
  std::byte *out = memory.address(0), *in = memory.address(bytes); // every arena has at least a page
  const std::vector<uint8_t> content(bytes, uint8_t(rank & 0xff));
  memory.copyIn(0, content.data(), bytes);
  transport.barrier(Transport::everyRank);
  double start = now();
  std::vector<int64_t> requests;
  auto peer = [&](const MessageEnd &end) { return int(manifest.grid.rankAtStage(rank, end.peer)); };
  forEachMessage(manifest, transport, [&](const MessageEnd &end, int64_t microBatch) {
    if (end.isSent)
      return requests.push_back(transport.startSend(peer(end), {end.tag, microBatch}, out, bytes));
    transport.receive(peer(end), {end.tag, microBatch}, in, bytes);
    auto first = memory.read<uint8_t>(bytes), last = memory.read<uint8_t>(2 * bytes - 1);
    if (first != uint8_t(peer(end) & 0xff) || last != first)
      throw InputError(format("a message from rank %d arrived changed: the transport is not to be trusted", peer(end)));
  });
  for (int64_t request : requests)
    transport.wait(request);
  int64_t sent = int64_t(requests.size());
  double seconds = largest(transport, now() - start);
  transport.allReduce(Transport::everyRank, &sent, 1, DataType::I64, Reduction::Sum);
  if (rank == 0 && sent > 0)
    std::printf("messages: all %lld of a step arrived, %.1f us\n", (long long)sent, seconds * 1e6);
}

} // namespace

void checkMachine(const Manifest &manifest, Transport &transport, DeviceMemory &memory) {
  checkMemory(manifest, transport);
  checkGroups(manifest, transport);
  checkMessages(manifest, transport, memory);
  transport.barrier(Transport::everyRank);
  if (transport.rank() == 0)
    std::printf("machine check passed: %d ranks\n", transport.rankCount());
}

} // namespace ppcrt
