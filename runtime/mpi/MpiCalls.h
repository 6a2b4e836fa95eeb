// Who may call MPI, which takes one thread of a process at a time: a lock that a thread which ends the process keeps
// for good, so that MPI can be told of it.
#pragma once

#include <atomic>
#include <mutex>
#include <sys/types.h>

namespace ppcrt {

class MpiCalls {
public:
  void lock();
  void unlock();
  // From now on no other thread gets the lock. Who is in a call has so many seconds to leave it; the calling thread may
  // be the one.
  void keep(double seconds);

private:
  std::mutex mutex;
  std::atomic<pid_t> holder{0}, keeper{0}; // threads; 0: nobody
};

} // namespace ppcrt
