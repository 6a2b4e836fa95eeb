#include "test/CudaStandIn/Ptx/Block.h"

#include <algorithm>
#include <utility>

namespace ptx {

Block::Block(const Function &function, const LaunchShape &shape, const std::byte *parameters, GlobalMemory &global,
             SharedMemory &shared, LaunchCounts &counts, std::array<uint32_t, 3> place)
    : function(function), shape(shape), parameters(parameters), global(global), shared(shared), counts(counts),
      place(place), memoryBarriers(*this), tensorMemory(*this),
      threadCount(shape.block[0] * shape.block[1] * shape.block[2]) {
  int count = int((threadCount + lanes - 1) / lanes);
  shared.reset(function.sharedBytes + shape.sharedBytes, count);
  // Initial registers of a thread, unless setmaxnreg changes them: an even share of the multiprocessor's, in multiples
  // of eight.
  constexpr int64_t registersOfBlock = 65536, mostOfThread = 255;
  int64_t share = std::min(registersOfBlock / (count * lanes) / 8 * 8, mostOfThread);
  freeRegisters = registersOfBlock / lanes - share * count;
  products.resize(size_t(count + 3) / 4);
  productsOf.resize(size_t(count));
  warps.reserve(size_t(count));
  for (int i = 0; i < count; ++i)
    warps.emplace_back(*this, i, int(threadCount) - i * lanes).registerLimit = int(share);
}

void Block::wake(uint32_t those) {
  for (Warp &warp : warps)
    if (those >> warp.index & 1)
      warp.state = Warp::State::Running;
}

void Block::sameInWarpgroup(const Warp &warp, uint64_t what) {
  size_t group = size_t(warp.index) / 4;
  if (4 * (group + 1) * lanes > threadCount)
    throw Fault(FaultKind::Divergence, "a warpgroup has four whole warps");
  size_t &place = productsOf[size_t(warp.index)];
  if (place == products[group].size())
    products[group].push_back(what);
  else if (products[group][place] != what)
    throw Fault(FaultKind::Divergence, "warps of a warpgroup execute different MMAs");
  ++place;
}

bool Block::giveRegisters(int64_t ofThread) {
  if (ofThread > freeRegisters)
    return false;
  freeRegisters -= ofThread;
  if (ofThread < 0)
    wake(std::exchange(wantingRegisters, 0));
  return true;
}

void Block::checkEnd() const {
  if (!bulkCopies.empty())
    throw Fault(FaultKind::Race, "the block has exited while a bulk copy into its shared memory is in flight");
  tensorMemory.checkEnd();
  for (const Warp &warp : warps)
    if (productsOf[size_t(warp.index)] != products[size_t(warp.index) / 4].size())
      throw Fault(FaultKind::Divergence, "a warp has executed fewer MMAs than others of its warpgroup");
}

void Block::countInstruction() {
  ++instructions;
  if (++counts.instructions > counts.limit)
    throw Fault(FaultKind::Hang, "more than " + std::to_string(counts.limit) + " instructions of warps");
  if (counts.byOpcode)
    ++counts.opcodes[current->opcode];
}

void Block::arrive(Warp &warp, int number, uint32_t threads, bool waits, uint32_t predicate) {
  if (number < 0 || number >= int(barriers.size()))
    throw Fault(FaultKind::Barrier, "barrier " + std::to_string(number) + "; a block has 16");
  if (threads % lanes || threads > (threadCount + lanes - 1) / lanes * lanes)
    throw Fault(FaultKind::Barrier,
                "it is for " + std::to_string(threads) + " threads, the block has " + std::to_string(threadCount));
  Barrier &barrier = barriers[number];
  uint32_t bit = 1u << warp.index, expected = threads ? threads / lanes : uint32_t(warps.size());
  if (barrier.arrived && barrier.expected != expected)
    throw Fault(FaultKind::Barrier, "warps name different numbers of threads for barrier " + std::to_string(number));
  if (barrier.arrived & bit)
    throw Fault(FaultKind::Barrier,
                "warp " + std::to_string(warp.index) + " comes to barrier " + std::to_string(number) + " twice");
  barrier.expected = expected;
  barrier.arrived |= bit;
  barrier.predicates += predicate;
  barrier.threads += uint32_t(__builtin_popcount(warp.live));
  if (waits) {
    barrier.waiting |= bit;
    warp.state = Warp::State::AtBarrier;
    if (current->variant)
      barrier.reductions.emplace_back(&warp, current);
  }
  if (uint32_t(__builtin_popcount(barrier.arrived)) == expected)
    release(barrier);
}

// Result of bar.red: variant 1 and, 2 or, 3 the number of threads.
void Block::release(Barrier &barrier) {
  shared.synchronize(barrier.arrived, barrier.waiting);
  for (auto &[warp, instruction] : barrier.reductions) {
    uint32_t all = barrier.predicates == barrier.threads, any = barrier.predicates != 0;
    Lanes<uint32_t> result;
    result.fill(instruction->variant == 1 ? all : instruction->variant == 2 ? any : barrier.predicates);
    warp->write(instruction->operands[0], result, warp->live);
  }
  for (Warp &warp : warps)
    if (barrier.waiting >> warp.index & 1)
      warp.state = Warp::State::Running;
  barrier = {};
}

void Block::stuck() const {
  std::string text;
  for (int number = 0; number < int(barriers.size()); ++number)
    if (const Barrier &barrier = barriers[number]; barrier.waiting)
      text += (text.empty() ? "at barrier " : ", at barrier ") + std::to_string(number) + " " +
              std::to_string(__builtin_popcount(barrier.arrived)) + " of " + std::to_string(barrier.expected) +
              " warps";
  if (std::string missing = memoryBarriers.missing(); !missing.empty())
    text += (text.empty() ? "" : ", ") + missing;
  if (wantingRegisters)
    text += (text.empty() ? "" : ", ") + std::string("warps want more registers than there are");
  throw Fault(FaultKind::Barrier, "no warp can arrive any more: " + text);
}

} // namespace ptx
