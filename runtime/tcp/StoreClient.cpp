#include "runtime/tcp/StoreClient.h"
#include "runtime/base/Clock.h"
#include "runtime/base/Error.h"
#include "runtime/base/Machine.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>

namespace ppcrt::tcp {

StoreClient::StoreClient(const Address &address, int rank, StoreLimits limits, OnFailure onFailure)
    : address(address), rank(rank), limits(limits), onFailure(std::move(onFailure)),
      socket(connectTo(address, now() + limits.join)) {
  std::string host = hostName();
  send(encode({FrameHead::rightMark, FrameKind::Hello, rank}, "", host.data(), host.size()));
  thread = std::thread([this] { listen(); });
}

StoreClient::~StoreClient() {
  isLeaving = true;
  send(encode({FrameHead::rightMark, FrameKind::Bye}, "", nullptr, 0));
  shutdown(socket.number(), SHUT_WR);
  thread.join();
}

void StoreClient::send(const std::vector<std::byte> &bytes) {
  std::lock_guard<std::mutex> lock(sending);
  sendAll(socket.number(), bytes); // that the connection is gone is noticed where it is read
}

void StoreClient::put(const std::string &key, const void *value, int64_t bytes, int64_t readers) {
  if (readers > 0)
    send(encode({FrameHead::rightMark, FrameKind::Put, 0, readers}, key, value, size_t(bytes)));
}

StoreClient::Ticket StoreClient::get(const std::string &key) {
  Ticket ticket = next++;
  send(encode({FrameHead::rightMark, FrameKind::Get, ticket}, key, nullptr, 0));
  return ticket;
}

std::optional<std::vector<std::byte>> StoreClient::take(Ticket ticket) {
  std::lock_guard<std::mutex> lock(arriving);
  auto found = values.find(ticket);
  if (found == values.end())
    return std::nullopt;
  std::vector<std::byte> value = std::move(found->second);
  values.erase(found);
  return value;
}

int64_t StoreClient::arrivalCount() {
  std::lock_guard<std::mutex> lock(arriving);
  return arrivals;
}

void StoreClient::waitForArrival(int64_t before, double deadline) {
  constexpr double longest = 3600; // of one wait
  std::unique_lock<std::mutex> lock(arriving);
  double seconds = std::clamp(deadline - now(), 0.0, longest);
  arrived.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return arrivals != before; });
}

int64_t StoreClient::clockOffset() {
  constexpr int trips = 20;
  auto clock = [] { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); };
  int64_t best = INT64_MAX, offset = 0;
  for (int trip = 0; trip < trips; ++trip) {
    Ticket ticket = next++;
    int64_t asked = clock(), told = 0;
    send(encode({FrameHead::rightMark, FrameKind::Time, ticket}, "", nullptr, 0));
    std::optional<std::vector<std::byte>> value;
    for (int64_t seen = arrivalCount(); !(value = take(ticket)); seen = arrivalCount())
      waitForArrival(seen, now() + 1);
    int64_t answered = clock();
    std::memcpy(&told, value->data(), sizeof told);
    if (answered - asked < best) {
      best = answered - asked;
      offset = told - (asked + best / 2);
    }
  }
  return offset;
}

void StoreClient::tellFailure(const std::string &text) {
  send(encode({FrameHead::rightMark, FrameKind::Failure, rank}, "", text.data(), text.size()));
}

void StoreClient::listen() {
  constexpr double every = 1; // seconds between two signs of life
  constexpr int pause = 200;  // milliseconds
  FrameReader reader;
  double heard = now(), beaten = now();
  for (;;) {
    pollfd looked{socket.number(), POLLIN, 0};
    bool isReadable = poll(&looked, 1, pause) > 0;
    double time = now();
    FrameReader::State state = isReadable ? reader.readFrom(socket.number()) : FrameReader::State::Open;
    if (isReadable)
      heard = time;
    for (Frame frame; reader.take(frame);) {
      if (frame.head.kind == FrameKind::Failure && !isLeaving)
        onFailure(frame.text(), frame.head.number == rank);
      if (frame.head.kind != FrameKind::Value)
        continue;
      std::lock_guard<std::mutex> lock(arriving);
      values[frame.head.number] = std::move(frame.value);
      ++arrivals;
      arrived.notify_all();
    }
    bool isGone = state != FrameReader::State::Open || reader.isBroken();
    if (isLeaving && isGone)
      return;
    if (isGone)
      onFailure("rank 0 at " + show(address) + " has ended, and the others wait for it", rank == 1);
    if (time - heard > limits.still && !isLeaving)
      onFailure(format("rank 0 at %s has not been heard of for %.0f s: its process is stopped, or its machine cannot "
                       "be reached",
                       show(address).c_str(), time - heard),
                rank == 1);
    if (time - beaten > every && !isLeaving) {
      beaten = time;
      send(encode({FrameHead::rightMark, FrameKind::Beat}, "", nullptr, 0));
    }
  }
}

} // namespace ppcrt::tcp
