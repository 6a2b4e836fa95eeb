// A lock that forgets nobody who waits for it at the end: they wait for good.
#include "runtime/mpi/MpiCalls.h"
#include "runtime/base/Clock.h"

#include <unistd.h>

namespace ppcrt {

void MpiCalls::lock() {
  mutex.lock();
  if (pid_t one = keeper; one && one != gettid()) {
    mutex.unlock();
    for (;;) // the process ends
      ::pause();
  }
  holder = gettid();
}

void MpiCalls::unlock() {
  holder = 0;
  mutex.unlock();
}

void MpiCalls::keep(double seconds) {
  constexpr unsigned pauseMicroseconds = 1000;
  keeper = gettid();
  if (holder == gettid())
    return;
  for (double deadline = now() + seconds; now() < deadline; usleep(pauseMicroseconds))
    if (mutex.try_lock()) {
      holder = gettid();
      return;
    }
}

} // namespace ppcrt
