// What a rank has issued to NCCL and has not seen the end of. A thread looks at it: a communicator that reports a
// fault, and a call that could begin and does not end for too long, end the rank with the name of the call. So does
// work of the GPU for which the host waits too long.
#pragma once

#include "runtime/cuda/Communicators.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace ppcrt::cuda {

class CommunicationWatch {
public:
  // A call, in words that outlive it: "all_reduce", and the body in which it was issued, or null.
  struct Call {
    const char *what;
    int64_t bytes;
    const Communicators::One *over;
    int64_t microBatch = -1; // of a message
    const std::string *body = nullptr;
  };

  // `limit`: seconds for which a call, or work of the GPU that the host waits for, may take. `communicators` may be
  // null: the rank has none. Both are borrowed.
  CommunicationWatch(CudaDevice &device, Communicators *communicators, double limit);
  ~CommunicationWatch();
  CommunicationWatch(const CommunicationWatch &) = delete;
  CommunicationWatch &operator=(const CommunicationWatch &) = delete;

  // To be called before a call is issued, when all is issued that it comes after, and after it.
  void beginning(const Call &call);
  void begun();

private:
  struct Record {
    Call call;
    EventHandle *mayBegin, *ended;
    double issued;
    double ready = 0; // when it was first seen that it could begin; 0: not yet
  };

  void watch();
  void look(double time);
  void retire();
  bool hasHappened(EventHandle *event) const;
  std::string describe(const Record &record) const;
  // Ends the rank, after it has told NCCL to give up what is under way.
  [[noreturn]] void end(const std::string &why);

  CudaDevice &device;
  Communicators *const communicators;
  const double limit;
  std::mutex mutex; // of all that follows
  std::deque<Record> records;
  std::vector<EventHandle *> events; // that no record uses
  bool isOpen = false;               // the last record has no end yet
  double faultSince = 0;             // when a communicator's fault was seen first; 0: none was
  bool isEnding = false;
  std::condition_variable ending;
  std::thread thread;
};

} // namespace ppcrt::cuda
