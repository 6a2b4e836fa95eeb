// One thread, which waits for all connections at once.
#include "runtime/tcp/StoreServer.h"
#include "runtime/base/Clock.h"
#include "runtime/base/Error.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <poll.h>
#include <sys/socket.h>

namespace ppcrt::tcp {

StoreServer::StoreServer(const Address &address, int ranks, StoreLimits limits)
    : address(address), ranks(ranks), limits(limits), listener(listenAt(address)), begun(now()),
      thread([this] { serve(); }) {}

StoreServer::~StoreServer() {
  isEnding = true;
  thread.join();
}

// All have left; or, once something has failed, had the time to hear of it.
bool StoreServer::isDone() const {
  constexpr double patience = 2;
  bool allGone = std::all_of(peers.begin(), peers.end(), [](const auto &peer) { return peer->isGone; });
  auto came = std::count_if(peers.begin(), peers.end(), [](const auto &peer) { return peer->rank >= 0; });
  return isEnding && (hasFailed ? allGone || now() - failed > patience : allGone && came == ranks);
}

void StoreServer::serve() {
  constexpr int pause = 100; // milliseconds
  while (!isDone()) {
    std::vector<pollfd> looked{{listener.number(), POLLIN, 0}};
    for (const auto &peer : peers)
      looked.push_back(
          {peer->isGone ? -1 : peer->socket.number(), short(POLLIN | (peer->out.empty() ? 0 : POLLOUT)), 0});
    poll(looked.data(), looked.size(), pause);
    for (size_t i = 1; i < looked.size(); ++i) {
      Peer &peer = *peers[i - 1];
      if (looked[i].revents & POLLOUT)
        flush(peer);
      if (looked[i].revents & (POLLIN | POLLHUP | POLLERR))
        receive(peer);
    }
    if (looked[0].revents & POLLIN)
      accept();
    lookForSilence(now());
  }
}

void StoreServer::accept() {
  Socket socket(::accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.isOpen())
    return;
  peers.push_back(std::make_unique<Peer>());
  peers.back()->socket = std::move(socket);
  peers.back()->heard = now();
}

void StoreServer::receive(Peer &peer) {
  FrameReader::State state = peer.reader.readFrom(peer.socket.number());
  peer.heard = now();
  for (Frame frame; !peer.isGone && peer.reader.take(frame);)
    take(peer, frame);
  if (state == FrameReader::State::Open && !peer.reader.isBroken() && !peer.isGone)
    return;
  peer.isGone = true;
  peer.socket = Socket(); // which is what one that takes leave waits for
  if (peer.rank >= 0 && !peer.hasLeft)
    fail(nameOf(peer) + " has ended, and the others wait for it", &peer, false);
}

void StoreServer::take(Peer &peer, Frame &frame) {
  if (peer.rank < 0) // nobody of ours speaks before it has said who it is
    return frame.head.kind == FrameKind::Hello ? welcome(peer, frame) : void(peer.isGone = true);
  switch (frame.head.kind) {
  case FrameKind::Put: {
    Entry &entry = entries[frame.key];
    entry.value = std::move(frame.value);
    entry.readers = frame.head.readers;
    entry.isThere = true;
    return answer(frame.key, entry);
  }
  case FrameKind::Get: {
    Entry &entry = entries[frame.key];
    entry.waiting.push_back({&peer, frame.head.number});
    return answer(frame.key, entry);
  }
  case FrameKind::Time: {
    FrameHead head{FrameHead::rightMark, FrameKind::Value, frame.head.number};
    int64_t time = std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
    return send(peer, encode(head, "", &time, sizeof time));
  }
  case FrameKind::Failure:
    return fail(frame.text(), &peer, true);
  case FrameKind::Bye:
    peer.hasLeft = true;
    return;
  default:
    return;
  }
}

void StoreServer::welcome(Peer &peer, const Frame &frame) {
  int64_t rank = frame.head.number;
  peer.host = frame.text();
  for (const auto &other : peers)
    if (other->rank == rank)
      return fail("two processes say that they are rank " + std::to_string(rank) + ", on " + other->host + " and on " +
                      peer.host + ": each needs a number of its own, or each run a port of its own (--store HOST:PORT)",
                  &peer, false);
  if (rank < 0 || rank >= ranks)
    return fail("a process on " + peer.host + " says that it is rank " + std::to_string(rank) + ", and there are " +
                    std::to_string(ranks) + ": another run may use the port; give one with --store HOST:PORT",
                &peer, false);
  peer.rank = int(rank);
  if (hasFailed)
    send(peer, encode({FrameHead::rightMark, FrameKind::Failure, -1}, "", failure.data(), failure.size()));
}

void StoreServer::answer(const std::string &key, Entry &entry) {
  for (; entry.isThere && !entry.waiting.empty(); entry.waiting.pop_front()) {
    const Request &request = entry.waiting.front();
    FrameHead head{FrameHead::rightMark, FrameKind::Value, request.number};
    send(*request.peer, encode(head, "", entry.value.data(), entry.value.size()));
    if (--entry.readers <= 0) {
      entries.erase(key);
      return;
    }
  }
}

void StoreServer::lookForSilence(double time) {
  constexpr double every = 1; // seconds between two signs of life
  if (time - beaten < every)
    return;
  beaten = time;
  for (const auto &peer : peers)
    if (!peer->isGone && peer->rank >= 0)
      send(*peer, encode({FrameHead::rightMark, FrameKind::Beat}, "", nullptr, 0));
  if (hasFailed)
    return;
  for (const auto &peer : peers)
    if (!peer->isGone && peer->rank >= 0 && time - peer->heard > limits.still)
      return fail(nameOf(*peer) + format(" has not been heard of for %.0f s: its process is stopped, or its machine "
                                         "cannot be reached",
                                         time - peer->heard),
                  peer.get(), false);
  if (time - begun < limits.join)
    return;
  std::vector<bool> came(size_t(ranks), false);
  for (const auto &peer : peers)
    if (peer->rank >= 0)
      came[size_t(peer->rank)] = true;
  std::string missing;
  int count = 0;
  constexpr int most = 8;
  for (int rank = 0; rank < ranks; ++rank)
    if (!came[size_t(rank)] && ++count <= most)
      missing += (count > 1 ? ", " : "") + std::to_string(rank);
  if (count)
    fail(format("%d of %d ranks ha%s not come to %s within %.0f s: %s%s; --join-timeout SECONDS waits longer", count,
                ranks, count == 1 ? "s" : "ve", show(address).c_str(), limits.join, missing.c_str(),
                count > most ? ", ..." : ""),
         nullptr, false);
}

void StoreServer::send(Peer &peer, std::vector<std::byte> bytes) {
  if (peer.isGone)
    return;
  peer.out.push_back(std::make_shared<const std::vector<std::byte>>(std::move(bytes)));
  flush(peer);
}

void StoreServer::flush(Peer &peer) {
  while (!peer.out.empty()) {
    const std::vector<std::byte> &first = *peer.out.front();
    ssize_t count =
        ::send(peer.socket.number(), first.data() + peer.sent, first.size() - peer.sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0)
      return; // later, or its end is noticed when it is read
    peer.sent += size_t(count);
    if (peer.sent < first.size())
      return;
    peer.sent = 0;
    peer.out.pop_front();
  }
}

void StoreServer::fail(const std::string &text, const Peer *culprit, bool isSaid) {
  if (hasFailed)
    return;
  hasFailed = true;
  failed = now();
  failure = text;
  int speaker = ranks;
  for (const auto &peer : peers)
    if (!peer->isGone && peer->rank >= 0 && peer.get() != culprit)
      speaker = std::min(speaker, peer->rank);
  for (const auto &peer : peers)
    if (!peer->isGone)
      send(*peer,
           encode({FrameHead::rightMark, FrameKind::Failure, isSaid ? -1 : speaker}, "", text.data(), text.size()));
}

std::string StoreServer::nameOf(const Peer &peer) const {
  return "rank " + std::to_string(peer.rank) + " on " + peer.host;
}

} // namespace ppcrt::tcp
