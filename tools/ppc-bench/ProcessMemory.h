// How much memory a tree of processes takes at most.
#ifndef PPC_TOOLS_BENCH_PROCESSMEMORY_H
#define PPC_TOOLS_BENCH_PROCESSMEMORY_H

#include <atomic>
#include <cstdint>
#include <sys/types.h>
#include <thread>

namespace mlir::ppc {

/// Bytes of a process and all its descendants now, in proportional set size: memory that several processes map counts
/// once in all. 0 for a process that is gone.
int64_t treeMemory(pid_t process);

/// Looks at treeMemory every few milliseconds until `stop`.
class MemoryWatch {
public:
  void start(pid_t process);
  /// The largest sum seen.
  int64_t stop();

private:
  std::thread thread;
  std::atomic<bool> ended{false};
  int64_t peak = 0;
};

} // namespace mlir::ppc

#endif // PPC_TOOLS_BENCH_PROCESSMEMORY_H
