#include "test/CudaStandIn/Ptx/Launch.h"

#include "test/CudaStandIn/Ptx/Block.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace ptx {
namespace {

uint64_t volume(const std::array<uint32_t, 3> &sizes) { return uint64_t(sizes[0]) * sizes[1] * sizes[2]; }

std::string text(const std::array<uint32_t, 3> &sizes) {
  return std::to_string(sizes[0]) + " x " + std::to_string(sizes[1]) + " x " + std::to_string(sizes[2]);
}

void checkShape(const Function &function, const LaunchShape &shape) {
  auto fail = [&](const std::string &what) {
    throw Fault(FaultKind::Launch, "kernel '" + function.name + "': " + what);
  };
  uint64_t threads = volume(shape.block);
  if (volume(shape.grid) == 0 || threads == 0 || threads > 1024 || shape.grid[0] > 0x7fffffffu ||
      shape.grid[1] > 65535 || shape.grid[2] > 65535 || shape.block[2] > 64)
    fail("no grid of " + text(shape.grid) + " blocks of " + text(shape.block) + " threads");
  if (volume(function.requiredThreads) && function.requiredThreads != shape.block)
    fail("it wants blocks of " + text(function.requiredThreads) + " threads and gets " + text(shape.block));
  if (uint64_t most = volume(function.mostThreads); most && threads > most)
    fail("it was compiled for at most " + std::to_string(most) + " threads and gets " + std::to_string(threads));
  constexpr int64_t mostShared = 227 * 1024;
  if (int64_t bytes = function.sharedBytes + shape.sharedBytes; bytes > mostShared)
    fail(std::to_string(bytes) + " bytes of shared memory; a block has at most " + std::to_string(mostShared));
}

} // namespace

const char *nameOf(FaultKind kind) {
  switch (kind) {
  case FaultKind::OutOfBounds:
    return "out of bounds";
  case FaultKind::Misaligned:
    return "misaligned address";
  case FaultKind::Uninitialized:
    return "uninitialized memory";
  case FaultKind::Race:
    return "race";
  case FaultKind::Barrier:
    return "barrier";
  case FaultKind::Divergence:
    return "divergence";
  case FaultKind::Trap:
    return "trap";
  case FaultKind::Hang:
    return "hang";
  case FaultKind::Launch:
    return "launch";
  }
  return "fault";
}

LaunchCounts launch(const Function &function, const LaunchShape &shape, const std::byte *parameters,
                    GlobalMemory &memory, const LaunchOptions &options) {
  checkShape(function, shape);
  LaunchCounts counts;
  counts.limit = options.instructionLimit;
  counts.byOpcode = options.countOpcodes;
  std::vector<uint64_t> order(volume(shape.grid));
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random(options.seed);
  std::shuffle(order.begin(), order.end(), random);
  SharedMemory shared;
  for (uint64_t number : order) {
    std::array<uint32_t, 3> place{uint32_t(number % shape.grid[0]), uint32_t(number / shape.grid[0] % shape.grid[1]),
                                  uint32_t(number / shape.grid[0] / shape.grid[1])};
    Block block(function, shape, parameters, memory, shared, counts, place);
    try {
      block.run([&](uint32_t limit) { return uint32_t(random() % limit); });
    } catch (const Fault &fault) {
      const Instruction *at = block.current;
      std::string where = at ? ", line " + std::to_string(at->line) + ", " + at->opcode : "";
      std::string what = fault.what();
      what = what.substr(what.find(": ") + 2); // the kind is printed separately
      throw Fault(fault.kind, what + " (kernel '" + function.name + "'" + where + ", block " +
                                  std::to_string(place[0]) + "," + std::to_string(place[1]) + "," +
                                  std::to_string(place[2]) + ")");
    }
  }
  return counts;
}

} // namespace ptx
