// The store through which ranks without MPI find and hear each other: values by name, which wait for those that ask for
// them. The process of rank 0 has it, in a thread of its own. It notices a rank that has died, or is not heard of any
// more, and tells all others, one of which says so.
#pragma once

#include "runtime/tcp/Socket.h"

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace ppcrt::tcp {

// Seconds.
struct StoreLimits {
  double join = 120; // until all ranks have come
  double still = 60; // without a sign of life
};

class StoreServer {
public:
  // Listens; throws InputError.
  StoreServer(const Address &address, int ranks, StoreLimits limits);
  // Returns when all ranks have taken their leave, or are gone.
  ~StoreServer();
  StoreServer(const StoreServer &) = delete;
  StoreServer &operator=(const StoreServer &) = delete;

private:
  using Bytes = std::shared_ptr<const std::vector<std::byte>>;
  struct Peer {
    Socket socket;
    FrameReader reader;
    std::deque<Bytes> out;
    size_t sent = 0; // of the first of them
    int rank = -1;
    std::string host;
    double heard = 0;
    bool hasLeft = false, isGone = false;
  };
  struct Request {
    Peer *peer;
    int64_t number;
  };
  struct Entry {
    bool isThere = false;
    std::vector<std::byte> value;
    int64_t readers = 0;
    std::deque<Request> waiting;
  };

  void serve();
  void accept();
  void receive(Peer &peer);
  void take(Peer &peer, Frame &frame);
  void welcome(Peer &peer, const Frame &frame);
  void answer(const std::string &key, Entry &entry);
  void lookForSilence(double time);
  void send(Peer &peer, std::vector<std::byte> bytes);
  void flush(Peer &peer);
  // Tells everybody; one that is there and not `culprit` says it. -1: the culprit has said it itself.
  void fail(const std::string &text, const Peer *culprit, bool isSaid);
  std::string nameOf(const Peer &peer) const;
  bool isDone() const;

  const Address address;
  const int ranks;
  const StoreLimits limits;
  Socket listener;
  std::vector<std::unique_ptr<Peer>> peers; // in the order in which they came
  std::map<std::string, Entry> entries;
  bool hasFailed = false;
  std::string failure; // what those hear who come after it
  double begun, beaten = 0, failed = 0;
  std::atomic<bool> isEnding{false};
  std::thread thread;
};

} // namespace ppcrt::tcp
