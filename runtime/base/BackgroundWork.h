// Work beside the rank, of which nothing is left when it has ended: no thread that somebody would have to join before
// fatal() ends the process.
#pragma once

#include <functional>
#include <future>

namespace ppcrt {

class BackgroundWork {
public:
  // Begins `work`, in a thread that gets no signals: they are for the thread that trains.
  explicit BackgroundWork(std::function<void()> work);
  // Waits for its end.
  ~BackgroundWork();
  BackgroundWork(const BackgroundWork &) = delete;
  BackgroundWork &operator=(const BackgroundWork &) = delete;

  // Waits for at most so many seconds; whether it has ended.
  bool waitFor(double seconds) const;
  // Waits for its end; throws what it has thrown. Once.
  void finish() { end.get(); }

private:
  std::future<void> end;
};

// Waits by `waitFor`, which is given how many seconds to wait at most and returns whether that is over. What takes 15
// seconds, as a disk may, is said, and again whenever twice as much has passed, so that nobody takes it for a hang:
// `say` gets the seconds so far. `clock` is now().
void waitAndSay(const std::function<bool(double seconds)> &waitFor, const std::function<void(double waited)> &say,
                const std::function<double()> &clock);

} // namespace ppcrt
