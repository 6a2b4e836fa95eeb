// Requests over Open MPI, and the thread that lets them get on while the rank computes.
#include "runtime/mpi/MpiTransport.h"
#include "runtime/base/Clock.h"
#include "runtime/base/Error.h"
#include "runtime/base/Machine.h"

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstring>
#include <optional>
#include <sched.h>

namespace ppcrt {
namespace {

constexpr std::chrono::microseconds helpEvery(200);
constexpr std::chrono::milliseconds tellEvery(100); // where nothing is under way
constexpr std::chrono::microseconds pauseUntilDeadline(20);
constexpr int clockTag = 0;        // of messages between all ranks that are none of a collective
constexpr int tagsOfCalls = 32000; // more calls are never under way; MPI promises tags up to 32767

} // namespace

MpiTransport::MpiTransport(const OpenMpi &mpi, const RankShape &shape, MpiCalls &calls) : mpi(mpi), calls(calls) {
  mpi.Comm_rank(mpi.world, &me);
  mpi.Comm_size(mpi.world, &ranks);
  for (const std::vector<int> &members : shape.groups) {
    auto found = std::find(members.begin(), members.end(), me);
    MpiGroup made{int(members.size()), int(found - members.begin()), mpi.commNull, &pool, 0};
    // Members of a group agree on its smallest rank; no two groups of one kind share it.
    int color = members.empty() ? OpenMpi::undefined : *std::min_element(members.begin(), members.end());
    mpi.Comm_split(mpi.world, color, made.index, &made.comm);
    links.push_back(made);
  }
  links.push_back({ranks, me, mpi.world, &pool, 0});
  mpi.Comm_dup(mpi.world, &messageComm);

  // Sender and receiver see the same messages between them and number them alike: in the order of their keys.
  for (const RankShape::Message &message : shape.messages)
    tags.emplace(std::tuple(message.source, message.destination, message.key.tag, message.key.microBatch), 0);
  int number = 0;
  std::pair<int, int> ends{-1, -1};
  for (auto &[key, value] : tags) {
    std::pair<int, int> now{std::get<0>(key), std::get<1>(key)};
    number = now == ends ? number + 1 : 0;
    ends = now;
    value = number;
  }
  int provided;
  mpi.Query_thread(&provided);
  if (provided >= OpenMpi::threadSerialized && ranks > 1)
    helper = std::thread([this] { helpRequests(); });
}

MpiTransport::~MpiTransport() {
  if (helper.joinable()) {
    std::unique_lock<MpiCalls> lock(calls);
    isEnding = true;
    lock.unlock();
    requestBegan.notify_one();
    helper.join();
  }
  if (watching)
    watching->finish();
  for (MpiGroup &link : links)
    if (link.comm != mpi.commNull && link.comm != mpi.world)
      mpi.Comm_free(&link.comm);
  mpi.Comm_free(&messageComm);
}

void MpiTransport::watch(RankProgress &ownProgress, RankWatch watch, bool quiet) {
  if (!helper.joinable())
    return;
  std::lock_guard<MpiCalls> lock(calls);
  progress = &ownProgress;
  watching = std::make_unique<MpiProgress>(mpi, ownProgress, std::move(watch), quiet);
}

void MpiTransport::tellProgress() {
  if (watching)
    watching->exchange(now());
}

void MpiTransport::helpRequests() {
  std::unique_lock<MpiCalls> lock(calls);
  while (!isEnding) {
    requestBegan.wait_for(lock, tellEvery, [this] { return isHelping || isEnding; });
    tellProgress();
    while (isHelping && !isEnding) {
      if (!isWaiting) {
        isHelping = advanceAll();
        tellProgress();
      }
      lock.unlock();
      std::this_thread::sleep_for(helpEvery);
      lock.lock();
    }
  }
}

void MpiTransport::wakeHelper() {
  if (isHelping || !helper.joinable())
    return;
  isHelping = true;
  requestBegan.notify_one();
}

void MpiTransport::advance(Pending &pending) {
  while (!pending.hasEnded && pending.messages.haveEnded()) {
    pending.hasEnded = !pending.exchange || !pending.exchange->next(pending.messages);
    ++rounds;
  }
}

bool MpiTransport::advanceAll() {
  bool some = false;
  for (Pending &pending : outstanding) {
    advance(pending);
    some |= !pending.hasEnded;
  }
  return some;
}

bool MpiTransport::helpOnce() {
  uint64_t before = rounds;
  advanceAll();
  tellProgress();
  return rounds != before;
}

MpiTransport::Request MpiTransport::keep(Pending pending) {
  pending.request = nextRequest++;
  outstanding.push_back(std::move(pending));
  return outstanding.back().request;
}

MpiTransport::Pending &MpiTransport::find(Request request) {
  auto found = std::find_if(outstanding.begin(), outstanding.end(),
                            [&](const Pending &pending) { return pending.request == request; });
  if (found == outstanding.end())
    fatal("request %lld is waited for, and is not under way", (long long)request);
  return *found;
}

void MpiTransport::forget(Request request) {
  outstanding.erase(outstanding.begin() + (&find(request) - outstanding.data()));
}

MpiTransport::Request MpiTransport::begin(const Collective &call) {
  MpiGroup &link = links[place(call.group)];
  if (link.size == 1 && call.bytes() > 0 && call.out != call.in)
    std::memmove(call.out, call.in, size_t(call.bytes()));
  if (link.size == 1 || (call.bytes() == 0 && call.kind != CollectiveKind::Barrier))
    return endedAtOnce;
  Pending pending{0, MpiMessages(mpi, link.comm, clockTag + 1 + link.calls), makeExchange(call, link),
                  collectiveNames[int(call.kind)], call.group};
  link.calls = (link.calls + 1) % tagsOfCalls;
  pending.exchange->next(pending.messages);
  return keep(std::move(pending));
}

MpiTransport::Request MpiTransport::start(const Collective &call) {
  std::lock_guard<MpiCalls> lock(calls);
  Request request = begin(call);
  if (request != endedAtOnce)
    wakeHelper();
  return request;
}

// The helper would only be in the way.
void MpiTransport::run(const Collective &call) {
  Request request;
  {
    std::lock_guard<MpiCalls> lock(calls);
    request = begin(call);
  }
  wait(request);
}

MpiTransport::Request MpiTransport::startSend(int destination, MessageKey key, const void *bytes, int64_t size) {
  std::lock_guard<MpiCalls> lock(calls);
  Pending pending{0, MpiMessages(mpi, messageComm, tag(me, destination, key)), nullptr, "send", destination, key};
  pending.messages.send(destination, bytes, size);
  wakeHelper();
  return keep(std::move(pending));
}

MpiTransport::Request MpiTransport::startReceive(int source, MessageKey key, void *bytes, int64_t size) {
  std::lock_guard<MpiCalls> lock(calls);
  Pending pending{0, MpiMessages(mpi, messageComm, tag(source, me, key)), nullptr, "receive", source, key};
  pending.messages.receive(source, bytes, size);
  wakeHelper();
  return keep(std::move(pending));
}

bool MpiTransport::test(Request request) {
  if (request == endedAtOnce)
    return true;
  std::lock_guard<MpiCalls> lock(calls);
  Pending &pending = find(request);
  advance(pending);
  if (!pending.hasEnded)
    return false;
  forget(request);
  return true;
}

void MpiTransport::wait(Request request) {
  if (request == endedAtOnce)
    return;
  std::unique_lock<MpiCalls> lock(calls);
  isWaiting = true;
  const Pending &shown = find(request); // nothing is added or taken out meanwhile
  Waiting waiting(*progress, shown.name, shown.first, shown.key);
  while (advance(find(request)), !find(request).hasEnded) {
    if (helpOnce())
      waiting.gotOn();
    lock.unlock(); // MPI itself yields where processes share cores
    lock.lock();
  }
  isWaiting = false;
  forget(request);
}

void MpiTransport::waitAny(double deadline) {
  std::unique_lock<MpiCalls> lock(calls);
  auto shown = std::find_if(outstanding.begin(), outstanding.end(), [](const Pending &one) { return !one.isTold; });
  if (deadline >= never && shown == outstanding.end())
    fatal("waits for communication, and none is under way");
  std::optional<Waiting> waiting;
  if (shown != outstanding.end())
    waiting.emplace(*progress, shown->name, shown->first, shown->key);
  isWaiting = true;
  for (bool any = false; !any && (deadline >= never || now() < deadline);) {
    if (helpOnce() && waiting)
      waiting->gotOn();
    for (Pending &pending : outstanding)
      if (pending.hasEnded && !pending.isTold)
        any = pending.isTold = true;
    lock.unlock();
    if (!any && deadline < never)
      std::this_thread::sleep_for(pauseUntilDeadline);
    lock.lock();
  }
  isWaiting = false;
}

int64_t MpiTransport::clockOffset() {
  int64_t mine = machineIdentity();
  std::vector<int64_t> all(ranks);
  allGather(everyRank, &mine, all.data(), 1, DataType::I64);
  bool oneMachine = mine != 0 && std::count(all.begin(), all.end(), mine) == ranks;
  return oneMachine ? 0 : measureClockOffset();
}

int64_t MpiTransport::measureClockOffset() {
  std::lock_guard<MpiCalls> lock(calls);
  constexpr int trips = 20;
  auto clock = [] { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); };
  int64_t best = INT64_MAX, offset = 0, told = 0;
  for (int rank = 1; rank < ranks; ++rank)
    for (int trip = 0; trip < trips && (me == 0 || me == rank); ++trip) {
      Handle request;
      if (me == 0) {
        mpi.Recv(&told, 1, mpi.int64, rank, clockTag, mpi.world, OpenMpi::ignoreStatus);
        told = clock();
        mpi.Isend(&told, 1, mpi.int64, rank, clockTag, mpi.world, &request);
        mpi.Waitall(1, &request, OpenMpi::ignoreStatus);
        continue;
      }
      int64_t asked = clock();
      mpi.Isend(&asked, 1, mpi.int64, 0, clockTag, mpi.world, &request);
      mpi.Recv(&told, 1, mpi.int64, 0, clockTag, mpi.world, OpenMpi::ignoreStatus);
      int64_t answered = clock();
      mpi.Waitall(1, &request, OpenMpi::ignoreStatus);
      if (answered - asked < best) {
        best = answered - asked;
        offset = told - (asked + best / 2);
      }
    }
  return offset;
}

int MpiTransport::tag(int source, int destination, MessageKey key) const {
  auto found = tags.find({source, destination, key.tag, key.microBatch});
  if (found == tags.end())
    fatal("no message with tag %lld and micro-batch %lld from rank %d to rank %d was announced", (long long)key.tag,
          (long long)key.microBatch, source, destination);
  return found->second;
}

} // namespace ppcrt
