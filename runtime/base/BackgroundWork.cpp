// A thread that nobody joins, and a future that tells of its end.
#include "runtime/base/BackgroundWork.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

namespace ppcrt {
namespace {
constexpr double firstWord = 15; // seconds
} // namespace

BackgroundWork::BackgroundWork(std::function<void()> work) {
  std::packaged_task<void()> task(std::move(work));
  end = task.get_future();
  sigset_t all, before;
  sigfillset(&all);
  sigdelset(&all, SIGBUS);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread(std::move(task)).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

BackgroundWork::~BackgroundWork() {
  if (end.valid())
    end.wait();
}

bool BackgroundWork::waitFor(double seconds) const {
  return end.wait_for(std::chrono::duration<double>(std::max(0.0, seconds))) == std::future_status::ready;
}

void waitAndSay(const std::function<bool(double seconds)> &waitFor, const std::function<void(double waited)> &say,
                const std::function<double()> &clock) {
  double begin = clock(), next = firstWord;
  while (!waitFor(begin + next - clock())) {
    double waited = clock() - begin;
    if (waited < next)
      continue;
    say(waited);
    next = 2 * waited;
  }
}

} // namespace ppcrt
