// Making communicators.
#include "runtime/cuda/Communicators.h"
#include "runtime/base/Error.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

namespace ppcrt::cuda {
namespace {

using Key = std::pair<int64_t, int64_t>; // tag and micro-batch

// What goes from one device to another in the order of one end's lists, if it is on one stream there.
std::optional<std::vector<Key>> orderAt(const Device &device, bool sends, int64_t peer) {
  std::vector<Key> order;
  std::set<int> streams;
  auto add = [&](int64_t, const Action &action, int64_t microBatch) {
    if (action.kind != (sends ? ActionKind::Send : ActionKind::Receive))
      return;
    const MessageEnd &end = device.messages[size_t(action.number)];
    if (end.peer != peer)
      return;
    order.emplace_back(end.tag, microBatch);
    streams.insert(action.stream);
  };
  device.step.forEach(add);
  if (device.evaluate)
    device.evaluate->forEach(add);
  return streams.size() <= 1 ? std::optional(order) : std::nullopt;
}

bool isInOneOrder(const Manifest &manifest, int64_t from, int64_t to) {
  auto sent = orderAt(manifest.devices[size_t(from)], true, to);
  auto received = orderAt(manifest.devices[size_t(to)], false, from);
  return sent && received && *sent == *received;
}

} // namespace

Communicators::Communicators(CudaDevice &device, const Manifest &manifest, Transport &host, std::byte *mirror)
    : device(device) {
  connectGroups(manifest, host);
  connectMessages(manifest, host, mirror);
}

Communicators::~Communicators() {
  auto end = [&](const One &one) {
    if (one.handle)
      nccl.destroy(one.handle);
    if (one.stream)
      device.driver.streamDestroy(one.stream);
  };
  for (const One &one : groups)
    end(one);
  for (const auto &[route, one] : routes)
    end(one);
}

// Makes it, and adds up a number over its members: libraries put off until then what takes memory.
void Communicators::connect(One &one, const CommunicatorId &id) {
  nccl.check(nccl.initRank(&one.handle, one.members, id, one.index), ("ncclCommInitRank of " + one.name).c_str());
  one.stream = device.addStream();
  Address sum = device.allocate(4, "a communicator");
  device.finish();
  auto *place = reinterpret_cast<void *>(sum);
  nccl.check(nccl.allReduce(place, place, 1, Nccl::numberOf(DataType::F32), 0, one.handle, one.stream),
             ("ncclAllReduce of " + one.name).c_str());
  device.check(device.driver.streamSynchronize(one.stream), ("the first call of " + one.name).c_str());
  device.free(sum);
}

// All ranks take the groups in one order.
void Communicators::connectGroups(const Manifest &manifest, Transport &host) {
  groups.resize(manifest.groups.size());
  for (int number = 0; number < int(groups.size()); ++number) {
    One &one = groups[size_t(number)];
    one.members = host.groupSize(number), one.index = host.groupIndex(number);
    one.name = format("group %d (ranks", number);
    std::vector<int> members = groupMembers(manifest.grid, manifest.groups[size_t(number)], host.rank());
    for (size_t i = 0; i < members.size(); ++i)
      one.name += (i ? ", " : " ") + std::to_string(members[i]);
    one.name += ")";
    if (one.members < 2)
      continue;
    std::vector<CommunicatorId> ids(size_t(one.members) + 1);
    CommunicatorId &mine = ids.back();
    if (one.index == 0)
      nccl.check(nccl.getUniqueId(&mine), "ncclGetUniqueId");
    host.allGather(number, &mine, ids.data(), int64_t(sizeof mine / sizeof(int32_t)), DataType::I32);
    connect(one, ids.front());
  }
}

// And the routes by the lower rank, then the higher, then upwards before downwards. The sender says what it is by the
// first message of the route, which nobody has sent yet.
void Communicators::connectMessages(const Manifest &manifest, Transport &host, std::byte *mirror) {
  int rank = host.rank();
  std::map<std::tuple<int, int, bool>, Key> first;
  manifest.deviceOf(rank).forEachMessage([&](const MessageEnd &end, int64_t microBatch) {
    int peer = int(manifest.grid.rankAtStage(rank, end.peer));
    bool isUpwards = end.isSent == (rank < peer);
    Key key(end.tag, microBatch);
    auto [found, isNew] = first.emplace(std::tuple(std::min(rank, peer), std::max(rank, peer), !isUpwards), key);
    if (!isNew)
      found->second = std::min(found->second, key);
  });
  for (const auto &[route, key] : first) {
    auto [low, high, isDownwards] = route;
    int from = isDownwards ? high : low, to = isDownwards ? low : high;
    if (!isInOneOrder(manifest, manifest.grid.stageOf(from), manifest.grid.stageOf(to)))
      continue;
    One one;
    one.members = 2, one.index = rank == from ? 0 : 1;
    one.name = format("messages from rank %d to rank %d", from, to);
    CommunicatorId id{};
    MessageKey message{key.first, key.second};
    if (rank == from) {
      nccl.check(nccl.getUniqueId(&id), "ncclGetUniqueId");
      std::memcpy(mirror, &id, sizeof id);
      host.wait(host.startSend(to, message, mirror, sizeof id));
    } else {
      host.receive(from, message, mirror, sizeof id);
      std::memcpy(&id, mirror, sizeof id);
    }
    connect(one, id);
    routes[{from, to}] = one;
  }
}

const Communicators::One *Communicators::ofMessages(int from, int to) const {
  auto found = routes.find({from, to});
  return found == routes.end() ? nullptr : &found->second;
}

std::string Communicators::fault() const {
  std::string found;
  auto look = [&](const One &one) {
    constexpr Status inProgress = 7;
    Status status = success;
    if (!found.empty() || !one.handle || nccl.getAsyncError(one.handle, &status) != success || status == inProgress)
      return;
    try {
      nccl.check(status, one.name.c_str());
    } catch (const InputError &error) {
      found = error.what();
    }
  };
  for (const One &one : groups)
    look(one);
  for (const auto &[route, one] : routes)
    look(one);
  return found;
}

void Communicators::abort() {
  for (One &one : groups)
    if (one.handle)
      nccl.abort(std::exchange(one.handle, nullptr));
  for (auto &[route, one] : routes)
    if (one.handle)
      nccl.abort(std::exchange(one.handle, nullptr));
}

} // namespace ppcrt::cuda
