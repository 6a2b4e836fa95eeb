// A rank's connection with the store. A thread of its own takes what arrives, gives signs of life, and hears of a
// failure.
#pragma once

#include "runtime/tcp/StoreServer.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

namespace ppcrt::tcp {

class StoreClient {
public:
  // Of a run that cannot go on: why, and whether this rank is the one that says it. Called in another thread; must not
  // return.
  using OnFailure = std::function<void(const std::string &text, bool isSaidHere)>;

  // Connects, trying until StoreLimits::join; throws InputError.
  StoreClient(const Address &address, int rank, StoreLimits limits, OnFailure onFailure);
  // Takes leave.
  ~StoreClient();
  StoreClient(const StoreClient &) = delete;
  StoreClient &operator=(const StoreClient &) = delete;

  // The store keeps the value until `readers` gets have taken it.
  void put(const std::string &key, const void *value, int64_t bytes, int64_t readers);
  // Asks for a value, which arrives some time after it was put.
  using Ticket = int64_t;
  Ticket get(const std::string &key);
  // The value, once it has arrived.
  std::optional<std::vector<std::byte>> take(Ticket ticket);
  // Returns when anything has arrived since `arrivals` was what arrivalCount() gave, or now() is `deadline`.
  int64_t arrivalCount();
  void waitForArrival(int64_t arrivals, double deadline);

  // Nanoseconds to add to the monotonic clock here to get that of the store.
  int64_t clockOffset();
  // Tells the others that this rank, which has said why, ends.
  void tellFailure(const std::string &text);

private:
  void listen();
  void send(const std::vector<std::byte> &bytes);

  const Address address;
  const int rank;
  const StoreLimits limits;
  const OnFailure onFailure;
  Socket socket;
  std::mutex sending, arriving;
  std::condition_variable arrived;
  std::map<Ticket, std::vector<std::byte>> values;
  int64_t arrivals = 0;
  Ticket next = 1;
  std::atomic<bool> isLeaving{false};
  std::thread thread;
};

} // namespace ppcrt::tcp
