#include "Ranks.h"

#include "runtime/base/Error.h"
#include "runtime/executor/RankContext.h"
#include "runtime/host/Threads.h"
#include "runtime/launch/Launcher.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <numeric>

namespace mlir::ppc {
namespace {

constexpr int windows = 12;
constexpr size_t maxBenchmarks = 64;

/// At the start of the first rank's arena: what ranks tell each other and the launcher.
struct Board {
  double turns;
  TurnTime times[maxBenchmarks];
};
/// At the start of every rank's: its last window.
struct Window {
  double start, end, processor;
};
constexpr size_t boardBytes = 4096, windowBytes = 64;
static_assert(sizeof(Window) <= windowBytes, "the window stands before the board");
static_assert(sizeof(Board) <= boardBytes - windowBytes, "the board has a page of its own");

double processorSeconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

class BenchRun {
public:
  BenchRun(const std::vector<Benchmark> &benchmarks, ppcrt::LocalWorld &world, int rank, double seconds)
      : benchmarks(benchmarks), world(world), transport(world, rank, world.rankCount() <= ppcrt::availableCores()),
        rank(rank), seconds(seconds), board(*reinterpret_cast<Board *>(world.arena(0) + windowBytes)) {}

  void run() {
    int cores = ppcrt::availableCores(), count = world.rankCount();
    ppcrt::setLibraryThreads(std::max(1, cores / count));
    for (size_t i = 0; i < benchmarks.size(); ++i) {
      BenchRank me{rank, count, world.arena(rank) + boardBytes, transport};
      measure(benchmarks[i].prepare(me), board.times[i]);
    }
  }

private:
  Window &windowOf(int rank) { return *reinterpret_cast<Window *>(world.arena(rank)); }

  /// All ranks do so many turns; from when the first begins to when the last is done, whoever runs when.
  TurnTime window(const std::function<void()> &turn, int64_t turns) {
    transport.barrier(ppcrt::Transport::everyRank);
    double before = processorSeconds();
    windowOf(rank).start = ppcrt::now();
    for (int64_t i = 0; i < turns; ++i)
      turn();
    windowOf(rank).end = ppcrt::now();
    windowOf(rank).processor = processorSeconds() - before;
    transport.barrier(ppcrt::Transport::everyRank);
    Window all = windowOf(0);
    for (int other = 1; other < world.rankCount(); ++other)
      all = {std::min(all.start, windowOf(other).start), std::max(all.end, windowOf(other).end),
             all.processor + windowOf(other).processor};
    return {(all.end - all.start) / double(turns), all.processor / double(turns) / double(world.rankCount())};
  }

  void measure(const std::function<void()> &turn, TurnTime &result) {
    window(turn, 1); // caches, kernels made at the first call
    double once = window(turn, 4).seconds;
    if (rank == 0)
      board.turns = std::max(1.0, std::floor(seconds / windows / once));
    transport.barrier(ppcrt::Transport::everyRank);
    int64_t turns = int64_t(board.turns);
    TurnTime best{HUGE_VAL, HUGE_VAL};
    for (int i = 0; i < windows; ++i) {
      TurnTime time = window(turn, turns);
      best = {std::min(best.seconds, time.seconds), std::min(best.processor, time.processor)};
    }
    if (rank == 0)
      result = best;
  }

  const std::vector<Benchmark> &benchmarks;
  ppcrt::LocalWorld &world;
  ppcrt::LocalTransport transport;
  int rank;
  double seconds;
  Board &board;
};

} // namespace

std::vector<TurnTime> runBenchmarks(const std::vector<Benchmark> &benchmarks, int ranks, double seconds) {
  ppcrt::LocalWorldShape shape;
  shape.arenaBytes.assign(ranks, BenchRank::arenaBytes + int64_t(boardBytes));
  std::vector<int> all(ranks);
  std::iota(all.begin(), all.end(), 0);
  shape.groups = {{all}};
  for (int rank = 0; rank + 1 < ranks; rank += 2)
    shape.messages.push_back({rank, rank + 1, {0, 0}});
  ppcrt::LocalWorld world(shape);
  ppcrt::LaunchedRanks launched;
  launched.count = ranks;
  launched.body = [&](int rank) {
    ppcrt::RankStatus &status = world.status(rank);
    ppcrt::setFatalMessageBuffer(status.message, sizeof status.message);
    BenchRun(benchmarks, world, rank, seconds).run();
    return 0;
  };
  launched.describe = [](int rank) { return "rank " + std::to_string(rank); };
  launched.message = [&](int rank) { return std::string(world.status(rank).message); };
  launched.waits = [&](int rank) { return world.status(rank).waits.load(); };
  launched.describeWait = [&](int rank) { return describeWait(snapshot(world.status(rank), ppcrt::now())); };
  if (ppcrt::runRanks(launched) != 0)
    return {};
  const Board &board = *reinterpret_cast<const Board *>(world.arena(0) + windowBytes);
  return {board.times, board.times + benchmarks.size()};
}

} // namespace mlir::ppc
