// Spin, yield, then futex.
#include "runtime/local/SharedWord.h"
#include "runtime/base/Clock.h"

#include <climits>
#include <cmath>
#include <ctime>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ppcrt {
namespace {
void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}
} // namespace

void SharedWord::ring() {
  value.fetch_add(1, std::memory_order_seq_cst);
  // A waiter counts itself before it looks at the value for the last time, so either it is seen here or it sees the
  // change.
  if (sleepers.load(std::memory_order_seq_cst))
    syscall(SYS_futex, reinterpret_cast<uint32_t *>(&value), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void SharedWord::waitWhile(uint32_t old, Spinning spinning, double deadline) {
  bool isTimed = deadline < Transport::never;
  for (int i = 0; i < spinning.pauses; ++i) {
    if (load() != old)
      return;
    relax();
  }
  for (int i = 0; i < spinning.yields; ++i) {
    if (load() != old || (isTimed && now() >= deadline))
      return;
    sched_yield();
  }
  timespec until{};
  if (isTimed) {
    double whole = std::floor(deadline);
    until = {time_t(whole), long((deadline - whole) * 1e9)};
  }
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  while (value.load(std::memory_order_seq_cst) == old && !(isTimed && now() >= deadline))
    syscall(SYS_futex, reinterpret_cast<uint32_t *>(&value), FUTEX_WAIT_BITSET, old, isTimed ? &until : nullptr,
            nullptr, FUTEX_BITSET_MATCH_ANY); // an absolute time of the monotonic clock
  sleepers.fetch_sub(1, std::memory_order_relaxed);
}

} // namespace ppcrt
