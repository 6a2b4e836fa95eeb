// Names of the folders are stored where a signal handler may read them; it calls only functions that are safe there:
// fork, exec, wait, raise.
#include "ppc/Support/ScratchFolder.h"

#include "llvm/Support/FileSystem.h"

#include <atomic>
#include <csignal>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace mlir::ppc {
namespace {

constexpr int mostFolders = 4; // folders of a process at a time
constexpr int endingSignals[] = {SIGINT, SIGTERM, SIGHUP};

struct Entry {
  std::atomic<bool> isUsed{false};
  char path[256] = {};
};
Entry entries[mostFolders];
struct sigaction former[NSIG];

void removeFolders() {
  for (Entry &entry : entries) {
    if (!entry.isUsed.load())
      continue;
    pid_t child = fork();
    if (child == 0) {
      execl("/bin/rm", "rm", "-rf", "--", entry.path, static_cast<char *>(nullptr));
      _exit(127);
    }
    if (child > 0)
      waitpid(child, nullptr, 0);
  }
}

/// The former handler, which also removes partial outputs, has the last word.
void onSignal(int number) {
  removeFolders();
  sigaction(number, &former[number], nullptr);
  raise(number);
}

void watchSignals() {
  static bool watched = false;
  if (std::exchange(watched, true))
    return;
  for (int number : endingSignals) {
    struct sigaction action = {};
    sigaction(number, nullptr, &former[number]);
    if (former[number].sa_handler == SIG_IGN)
      continue;
    action.sa_handler = onSignal;
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, nullptr);
  }
}

} // namespace

ScratchFolder::ScratchFolder(llvm::StringRef prefix) {
  watchSignals();
  problem = llvm::sys::fs::createUniqueDirectory(prefix, path);
  if (problem)
    return;
  for (int i = 0; i < mostFolders && slot < 0; ++i)
    if (path.size() < sizeof entries[i].path && !entries[i].isUsed.load()) {
      std::memcpy(entries[i].path, path.c_str(), path.size() + 1);
      entries[i].isUsed = true;
      slot = i;
    }
}

ScratchFolder::~ScratchFolder() {
  if (problem)
    return;
  (void)llvm::sys::fs::remove_directories(path);
  if (slot >= 0)
    entries[slot].isUsed = false;
}

} // namespace mlir::ppc
