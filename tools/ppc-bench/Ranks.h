// The same work on all ranks of this machine at once, timed from the first start to the last end.
#ifndef PPC_TOOLS_BENCH_RANKS_H
#define PPC_TOOLS_BENCH_RANKS_H

#include "runtime/local/LocalTransport.h"

#include <functional>
#include <string>
#include <vector>

namespace mlir::ppc {

/// What a rank may use while it is measured.
struct BenchRank {
  int rank, count;
  std::byte *arena; // arenaBytes, zero at first, readable by the others
  ppcrt::LocalTransport &transport;
  static constexpr int64_t arenaBytes = int64_t(96) << 20;
};

struct Benchmark {
  std::string name;
  /// Makes one turn of the work, after whatever must happen once.
  std::function<std::function<void()>(BenchRank &)> prepare;
};

/// Of one turn, in the best of several windows, so that what else runs on the machine counts little.
struct TurnTime {
  double seconds;   // until the last rank is done
  double processor; // that a rank spent computing, on average over the ranks
};

/// Runs every benchmark on `ranks` ranks; each takes about `seconds`. Errors of ranks end the program with a message;
/// returns nothing then.
std::vector<TurnTime> runBenchmarks(const std::vector<Benchmark> &benchmarks, int ranks, double seconds);

} // namespace mlir::ppc

#endif // PPC_TOOLS_BENCH_RANKS_H
