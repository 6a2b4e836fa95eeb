// What the kernel says in /proc and /sys.
#include "runtime/base/Machine.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <sys/sysinfo.h>
#include <unistd.h>

namespace ppcrt {
namespace {

// The number in a file that holds nothing else; -1 when there is none, "max" included.
int64_t numberIn(const std::string &path) {
  int64_t value = -1;
  std::ifstream file(path);
  return file >> value ? value : -1;
}

// Of the control group that this process sees as its root, version 2.
int64_t leftInGroup() {
  int64_t limit = numberIn("/sys/fs/cgroup/memory.max"), used = numberIn("/sys/fs/cgroup/memory.current");
  return limit < 0 || used < 0 ? INT64_MAX : std::max<int64_t>(0, limit - used);
}

} // namespace

int64_t machineIdentity() {
  std::string text;
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  if (!std::getline(file, text) || text.empty())
    return 0;
  return int64_t(std::hash<std::string>()(text));
}

std::string hostName() {
  char text[256] = "";
  gethostname(text, sizeof text - 1);
  return text;
}

std::string processorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (size_t colon = line.find(": "); line.rfind("model name", 0) == 0 && colon != std::string::npos)
      return line.substr(colon + 2);
  return "unknown";
}

int64_t machineMemoryBytes() {
  struct sysinfo machine{};
  sysinfo(&machine);
  return int64_t(machine.totalram + machine.totalswap) * machine.mem_unit;
}

int64_t availableMemoryBytes() {
  int64_t available = machineMemoryBytes();
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  for (int64_t value; file >> key >> value && std::getline(file, unit);)
    if (key == "MemAvailable:")
      available = value * 1024;
  return std::min(available, leftInGroup());
}

bool isStopped(int process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text); // "1234 (name) T ...", where the name may hold anything
  size_t end = text.rfind(") ");
  return end != std::string::npos && end + 2 < text.size() && (text[end + 2] == 'T' || text[end + 2] == 't');
}

} // namespace ppcrt
