// OpenMP found by name: the compiled program is linked with oneDNN alone, and GNU's and LLVM's libraries both have
// these calls.
#include "runtime/host/Threads.h"

#include <algorithm>
#include <atomic>
#include <dlfcn.h>
#include <sched.h>

namespace ppcrt {

int availableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

namespace {

struct OpenMp {
  void (*set)(int) = find<void (*)(int)>("omp_set_num_threads");
  int (*get)() = find<int (*)()>("omp_get_max_threads");
  void (*parallel)(void (*)(void *), void *, unsigned,
                   unsigned) = find<void (*)(void (*)(void *), void *, unsigned, unsigned)>("GOMP_parallel");

  template <typename F> static F find(const char *name) { return reinterpret_cast<F>(dlsym(RTLD_DEFAULT, name)); }
  bool complete() const { return set && get && parallel; }
};

const OpenMp &openMp() {
  static OpenMp found;
  return found;
}

// The turns of one caller. The counters are beside what OpenMP does for order, which race detectors do not see: they
// are memory of the calling thread that no constructor writes, and the rest is written before and read after them.
struct Turns {
  std::atomic<int64_t> next, threadsDone;
  int64_t count;
  void (*body)(void *, int64_t);
  void *context;
};

void takeTurns(void *data) {
  OneThread one;
  auto *turns = static_cast<Turns *>(data);
  for (;;) {
    int64_t i = turns->next.fetch_add(1, std::memory_order_acq_rel);
    if (i >= turns->count)
      break;
    turns->body(turns->context, i);
  }
  turns->threadsDone.fetch_add(1, std::memory_order_release);
}

} // namespace

// The environment was read when the library was loaded, so the call is the only way.
void setLibraryThreads(int threads) {
  if (openMp().set)
    openMp().set(threads);
}

int libraryThreads() { return openMp().complete() ? openMp().get() : 1; }

OneThread::OneThread() : before(libraryThreads()) {
  if (before != 1)
    openMp().set(1);
}

OneThread::~OneThread() {
  if (before != 1)
    openMp().set(before);
}

void forEachOnThreads(int64_t count, void (*body)(void *context, int64_t i), void *context) {
  auto threads = unsigned(std::min<int64_t>(count, libraryThreads()));
  if (threads <= 1) {
    OneThread one;
    for (int64_t i = 0; i < count; ++i)
      body(context, i);
    return;
  }
  static thread_local Turns turns; // a turn begins no others: it has one thread
  turns.count = count, turns.body = body, turns.context = context;
  turns.threadsDone.store(0, std::memory_order_relaxed);
  turns.next.store(0, std::memory_order_release);
  openMp().parallel(takeTurns, &turns, threads, 0);
  turns.threadsDone.load(std::memory_order_acquire);
}

} // namespace ppcrt
