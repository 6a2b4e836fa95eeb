// A block that runs: its warps in turns, its barriers, its shared memory.
#pragma once

#include "test/CudaStandIn/Ptx/GlobalMemory.h"
#include "test/CudaStandIn/Ptx/Launch.h"
#include "test/CudaStandIn/Ptx/SharedMemory.h"
#include "test/CudaStandIn/Ptx/Warp.h"

#include <optional>

namespace ptx {

// Addresses of the generic space that are none of global memory.
constexpr uint64_t sharedWindow = uint64_t(1) << 60, localWindow = uint64_t(2) << 60,
                   parameterWindow = uint64_t(3) << 60, windowMask = uint64_t(0xf) << 60;

class Block {
public:
  Block(const Function &function, const LaunchShape &shape, const std::byte *parameters, GlobalMemory &global,
        SharedMemory &shared, LaunchCounts &counts, std::array<uint32_t, 3> place);

  // To the end of all of its threads. `draw(n)` is a number below n, which chooses who goes on and how far.
  template <class Draw> void run(Draw draw);

  // A warp comes to barrier `number`; with `threads` 0 all threads of the block do. It waits there if `waits`.
  // `predicate` is what bar.red combines: for how many threads it holds.
  void arrive(Warp &warp, int number, uint32_t threads, bool waits, uint32_t predicate);
  void countInstruction();

  const Function &function;
  const LaunchShape &shape;
  const std::byte *parameters;
  GlobalMemory &global;
  SharedMemory &shared;
  LaunchCounts &counts;
  const std::array<uint32_t, 3> place;
  const Instruction *current = nullptr; // that is executed, for messages
  int64_t instructions = 0;

private:
  struct Barrier {
    uint32_t arrived = 0, waiting = 0; // warps
    uint32_t threads = 0, expected = 0, predicates = 0;
    std::vector<std::pair<Warp *, const Instruction *>> reductions;
  };
  void release(Barrier &barrier);
  [[noreturn]] void stuck() const;

  std::vector<Warp> warps;
  std::array<Barrier, 16> barriers;
  uint32_t threadCount;
};

template <class Draw> void Block::run(Draw draw) {
  for (;;) {
    std::array<int, 32> ready;
    int count = 0;
    bool done = true;
    for (Warp &warp : warps) {
      done &= warp.state == Warp::State::Done;
      if (warp.state == Warp::State::Running)
        ready[count++] = warp.index;
    }
    if (done)
      return;
    if (!count)
      stuck();
    // Long turns and short ones: a race needs an order of its own to be seen in the numbers, not to be found.
    warps[ready[draw(uint32_t(count))]].run(int64_t(1) << draw(16));
  }
}

} // namespace ptx
