// A 32-bit word in shared memory that processes can wait on. Waiting spins briefly, then sleeps in a futex, so that
// more ranks than cores work well.
#pragma once

#include "runtime/transport/Transport.h"

#include <atomic>
#include <cstdint>

namespace ppcrt {

// Turns of the spinning phase.
struct Spinning {
  int pauses; // busy turns before yielding
  int yields; // yielding turns before sleeping

  // Few when ranks share cores.
  static constexpr Spinning of(bool ranksHaveTheirOwnCores) {
    return ranksHaveTheirOwnCores ? Spinning{4000, 50} : Spinning{50, 20};
  }
};

// All-zero bytes are a valid initial state: fresh shared memory needs no construction.
class SharedWord {
public:
  uint32_t load() const { return value.load(std::memory_order_acquire); }

  // Changes the value, publishes everything written before, and wakes all who wait.
  void ring();

  // Returns once the value differs from `old`, or when now() has reached `deadline`.
  void waitWhile(uint32_t old, Spinning spinning, double deadline = Transport::never);

private:
  std::atomic<uint32_t> value{0};
  std::atomic<uint32_t> sleepers{0};
};

static_assert(std::atomic<uint32_t>::is_always_lock_free, "words must be shared between processes");

} // namespace ppcrt
