// A text, and a thread that draws it again.
#include "runtime/metrics/ProgressLine.h"
#include "runtime/base/Clock.h"
#include "runtime/base/Error.h"

#include <chrono>
#include <csignal>
#include <pthread.h>

namespace ppcrt {

ProgressLine::ProgressLine(FILE *out, bool isShown) : out(out), isShown(isShown) {
  if (!isShown)
    return;
  sigset_t all, before; // signals are for the thread that trains
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread = std::thread([this] {
    std::unique_lock<std::mutex> lock(mutex);
    while (!ending.wait_for(lock, std::chrono::seconds(1), [this] { return ends; }))
      if (isDrawn)
        draw(now());
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ProgressLine::~ProgressLine() {
  if (!isShown)
    return;
  remove();
  {
    std::lock_guard<std::mutex> lock(mutex);
    ends = true;
  }
  ending.notify_all();
  thread.join();
}

void ProgressLine::begin(const std::string &what, double time) {
  if (!isShown)
    return;
  std::lock_guard<std::mutex> lock(mutex);
  activity = what;
  begun = time;
}

void ProgressLine::show(const std::string &line, double time) {
  constexpr double secondsBetweenDrawings = 0.1;
  if (!isShown)
    return;
  std::lock_guard<std::mutex> lock(mutex);
  text = line;
  if (isDrawn && time - drawn < secondsBetweenDrawings)
    return;
  drawn = time;
  draw(time);
}

void ProgressLine::tick(double time) {
  std::lock_guard<std::mutex> lock(mutex);
  if (isShown && isDrawn)
    draw(time);
}

void ProgressLine::remove() {
  std::lock_guard<std::mutex> lock(mutex);
  if (!isShown || !isDrawn)
    return;
  isDrawn = false;
  std::fprintf(out, "\r\033[K");
  std::fflush(out);
}

void ProgressLine::draw(double time) {
  constexpr double tellsFrom = 1; // seconds
  std::string line = text;
  if (!activity.empty() && time - begun >= tellsFrom)
    line += format("; %s: %.0f s", activity.c_str(), time - begun);
  std::fprintf(out, "\r%s\033[K", line.c_str());
  std::fflush(out);
  isDrawn = true;
}

} // namespace ppcrt
