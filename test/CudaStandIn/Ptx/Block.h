// A block that runs: its warps in turns, its barriers, its shared memory.
#pragma once

#include "test/CudaStandIn/Ptx/GlobalMemory.h"
#include "test/CudaStandIn/Ptx/Launch.h"
#include "test/CudaStandIn/Ptx/MemoryBarrier.h"
#include "test/CudaStandIn/Ptx/SharedMemory.h"
#include "test/CudaStandIn/Ptx/TensorMemory.h"
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
  // Resumes the waiting warps of `those`.
  void wake(uint32_t those);
  // Now one and now the other.
  bool flip() { return (noise = noise * 6364136223846793005u + 1442695040888963407u) >> 63; }
  // Checks that each warp of a warpgroup executes the same MMAs; `what` describes the next one of this warp.
  void sameInWarpgroup(const Warp &warp, uint64_t what);
  // The threads of a warp take `ofThread` registers each from the block's, or give them back (less than 0). False: the
  // block has too few now.
  bool giveRegisters(int64_t ofThread);
  uint32_t wantingRegisters = 0; // warps that wait for some

  const Function &function;
  const LaunchShape &shape;
  const std::byte *parameters;
  GlobalMemory &global;
  SharedMemory &shared;
  LaunchCounts &counts;
  const std::array<uint32_t, 3> place;
  const Instruction *current = nullptr; // that is executed, for messages
  int64_t instructions = 0;

  MemoryBarriers memoryBarriers;
  // Copies into shared memory that have not landed yet.
  struct BulkCopy {
    struct Piece {
      uint64_t to, from;
      int64_t bytes; // that are copied of 16; the others become zero
    };
    uint64_t barrier; // that it counts for
    std::vector<Piece> pieces;
  };
  std::vector<BulkCopy> bulkCopies;
  TensorMemory tensorMemory;

private:
  struct Barrier {
    uint32_t arrived = 0, waiting = 0; // warps
    uint32_t threads = 0, expected = 0, predicates = 0;
    std::vector<std::pair<Warp *, const Instruction *>> reductions;
  };
  void release(Barrier &barrier);
  void land(size_t copy);
  void checkEnd() const;
  [[noreturn]] void stuck() const;

  std::vector<Warp> warps;
  std::array<Barrier, 16> barriers;
  uint32_t threadCount;
  std::vector<std::vector<uint64_t>> products; // [warpgroup]: what its warps execute
  std::vector<size_t> productsOf;              // [warp]: how many of them it has
  int64_t freeRegisters = 0;                   // registers per thread, summed over warps
  uint64_t noise = 0;
};

template <class Draw> void Block::run(Draw draw) {
  noise = draw(~0u);
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
      return checkEnd();
    // A copy completes when no warp can make progress without it, or at any time before.
    if (!bulkCopies.empty() && (!count || draw(4) == 0)) {
      land(draw(uint32_t(bulkCopies.size())));
      continue;
    }
    // MMAs in tensor memory complete likewise, in order.
    if (tensorMemory.isBusy() && (!count || draw(4) == 0)) {
      tensorMemory.advance();
      continue;
    }
    if (!count)
      stuck();
    // Long turns and short ones: a race needs an order of its own to be seen in the numbers, not to be found.
    warps[ready[draw(uint32_t(count))]].run(int64_t(1) << draw(16));
  }
}

} // namespace ptx
