// Forks the ranks of this machine and stays with them: a rank that dies takes the others down within seconds, a signal
// to the launcher stops everything, and no rank survives its launcher.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ppcrt {

struct LaunchedRanks {
  int count;
  std::function<int(int rank)> body;             // runs in the rank's process; its result is the exit status
  std::function<std::string(int rank)> describe; // "rank 3 (dp=1)", possibly with what it was doing
  std::function<std::string(int rank)> message;  // why a rank ended itself, or empty
  // A number that changes whenever the rank gets on, odd while it waits for others; and what it waits for. When every
  // living rank waits and none has got on for `patience` seconds, the run is stuck for good and is ended.
  std::function<uint64_t(int rank)> waits;
  std::function<std::string(int rank)> describeWait;
  int patience = 20;
  // Called about once in a second with the process of each rank, 0 for one that has ended; true when one is stopped:
  // then it is not that they wait for each other.
  std::function<bool(const std::vector<int> &processes)> look = [](const std::vector<int> &) { return false; };
};

// Returns 0 when every rank returned 0; 1 after one `error:` line that names the first rank that failed, or all of them
// when they wait for each other; 128 + n when signal n (SIGINT, SIGTERM, SIGHUP) stopped the run. The caller must be
// single-threaded.
int runRanks(const LaunchedRanks &ranks);

// Does `work` in a process of its own, of which nothing stays: the message of what it has thrown, or empty. The caller
// must be single-threaded.
std::string problemInProcess(const std::function<void()> &work);

} // namespace ppcrt
