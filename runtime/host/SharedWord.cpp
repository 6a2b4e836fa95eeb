// Spin, yield, then futex.
#include "runtime/host/SharedWord.h"

#include <climits>
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

void SharedWord::store(uint32_t next) {
  value.store(next, std::memory_order_seq_cst);
  // A waiter counts itself before it looks at the value for the last time, so either it is seen here or it sees `next`.
  if (sleepers.load(std::memory_order_seq_cst))
    syscall(SYS_futex, reinterpret_cast<uint32_t *>(&value), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

uint32_t SharedWord::waitWhile(uint32_t old, Spinning spinning) {
  uint32_t now;
  for (int i = 0; i < spinning.pauses; ++i) {
    if ((now = load()) != old)
      return now;
    relax();
  }
  for (int i = 0; i < spinning.yields; ++i) {
    if ((now = load()) != old)
      return now;
    sched_yield();
  }
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  while ((now = value.load(std::memory_order_seq_cst)) == old)
    syscall(SYS_futex, reinterpret_cast<uint32_t *>(&value), FUTEX_WAIT, old, nullptr, nullptr, 0);
  sleepers.fetch_sub(1, std::memory_order_relaxed);
  return now;
}

void SharedBarrier::wait(uint32_t members, Spinning spinning) {
  uint32_t current = generation.load();
  if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == members) {
    arrived.store(0, std::memory_order_relaxed);
    generation.store(current + 1);
  } else {
    generation.waitWhile(current, spinning);
  }
}

} // namespace ppcrt
