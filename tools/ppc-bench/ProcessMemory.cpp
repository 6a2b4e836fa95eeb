#include "ProcessMemory.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>

namespace mlir::ppc {

int64_t treeMemory(pid_t process) {
  std::string folder = "/proc/" + std::to_string(process);
  int64_t bytes = 0;
  std::ifstream memory(folder + "/smaps_rollup");
  for (std::string line; std::getline(memory, line);)
    if (line.compare(0, 4, "Pss:") == 0)
      bytes = std::stoll(line.substr(4)) * 1024;
  std::ifstream children(folder + "/task/" + std::to_string(process) + "/children");
  for (pid_t child; children >> child;)
    bytes += treeMemory(child);
  return bytes;
}

void MemoryWatch::start(pid_t process) {
  if (thread.joinable())
    return;
  peak = 0;
  ended = false;
  thread = std::thread([this, process] {
    while (!ended) {
      peak = std::max(peak, treeMemory(process));
      std::this_thread::sleep_for(std::chrono::milliseconds(4));
    }
  });
}

int64_t MemoryWatch::stop() {
  ended = true;
  if (thread.joinable())
    thread.join();
  return peak;
}

} // namespace mlir::ppc
