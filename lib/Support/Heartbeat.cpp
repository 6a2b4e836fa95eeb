#include "ppc/Support/Heartbeat.h"
#include "ppc/Support/Limits.h"

#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace mlir::ppc {

using Clock = std::chrono::steady_clock;

struct Heartbeat::Thread {
  std::mutex mutex;
  std::condition_variable ended;
  bool isOver = false;
  std::string what, progress;
  Clock::time_point start = Clock::now(), lastWord = start; // start of the activity, time of the last message
  std::thread worker;

  void run() {
    constexpr std::chrono::seconds silence(limits::silentSeconds);
    std::unique_lock lock(mutex);
    while (!isOver) {
      if (ended.wait_until(lock, lastWord + silence, [&] { return isOver; }))
        return;
      if (Clock::now() < lastWord + silence)
        continue; // a message was printed meanwhile
      lastWord = Clock::now();
      auto seconds = std::chrono::duration_cast<std::chrono::seconds>(lastWord - start).count();
      std::string line = llvm::sys::Process::StandardErrIsDisplayed() ? "\r\033[K" : ""; // over a progress bar
      llvm::raw_string_ostream(line) << "note: " << what << ": " << seconds << " s so far"
                                     << (progress.empty() ? "" : ", ") << progress << '\n';
      llvm::errs() << line;
    }
  }
};

/// The one that lives.
static Heartbeat *&current() {
  static Heartbeat *heartbeat = nullptr;
  return heartbeat;
}

Heartbeat::Heartbeat(llvm::StringRef what) : thread(std::make_unique<Thread>()) {
  thread->what = what.str();
  thread->worker = std::thread([this] { thread->run(); });
  current() = this;
}

Heartbeat::~Heartbeat() {
  current() = nullptr;
  {
    std::lock_guard lock(thread->mutex);
    thread->isOver = true;
  }
  thread->ended.notify_all();
  thread->worker.join();
}

void Heartbeat::doing(llvm::StringRef what) {
  if (!current())
    return;
  Thread &thread = *current()->thread;
  std::lock_guard lock(thread.mutex);
  if (thread.what != what)
    thread.start = Clock::now();
  thread.what = what.str();
  thread.progress.clear();
}

void Heartbeat::progress(llvm::StringRef text, bool shown) {
  if (!current())
    return;
  Thread &thread = *current()->thread;
  std::lock_guard lock(thread.mutex);
  thread.progress = text.str();
  if (shown)
    thread.lastWord = Clock::now();
}

} // namespace mlir::ppc
