// A 32-bit word in shared memory that processes can wait on, and a barrier made of two. Waiting spins briefly, then
// sleeps in a futex, so that more ranks than cores work well.
#pragma once

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

class SharedWord {
public:
  uint32_t load() const { return value.load(std::memory_order_acquire); }

  // Publishes everything written before, and wakes all who wait.
  void store(uint32_t next);

  // Returns the value once it differs from `old`.
  uint32_t waitWhile(uint32_t old, Spinning spinning);

private:
  std::atomic<uint32_t> value{0};
  std::atomic<uint32_t> sleepers{0};
};

// All-zero bytes are a valid initial state, as for SharedWord: fresh shared memory needs no construction.
class SharedBarrier {
public:
  void wait(uint32_t members, Spinning spinning);

private:
  alignas(64) std::atomic<uint32_t> arrived{0};
  alignas(64) SharedWord generation;
};

static_assert(std::atomic<uint32_t>::is_always_lock_free, "words must be shared between processes");

} // namespace ppcrt
