// One run at a time in a folder, also on file systems that several machines share.
//
// The file `run.lock` in it names the owner. Where the file system has locks (fcntl, of the open file description, so
// that forked ranks hold it too), the kernel releases it when the last process of a run is gone, however it ended; a
// file that is left behind without a lock belongs to a run that was killed. Where locks do not reach other machines, or
// do not exist, the owner changes a counter in the file every few seconds, and who comes later watches it before
// taking over.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace ppcrt {

class FolderLock {
public:
  static constexpr const char *fileName = "run.lock";
  static constexpr double defaultBeat = 5; // seconds

  // Makes the folder when it is absent. Throws InputError, naming the owner, when another run lives. May take three
  // beats when the owner was on another machine. `withLocks`: false behaves as on a file system without locks. `pause`
  // lets seconds go by while the owner is watched.
  using Pause = std::function<void(double seconds)>;
  explicit FolderLock(const std::string &folder, double beat = defaultBeat, bool withLocks = true, Pause pause = sleep);
  // In the process that made it: removes the file, and the folder when that was made here and has stayed empty.
  ~FolderLock();
  FolderLock(const FolderLock &) = delete;
  FolderLock &operator=(const FolderLock &) = delete;

  // From now on, a thread of this process counts.
  void startBeating();
  // Throws InputError when another run has taken the folder over.
  void check() const;

  // A number above 0 of this lock alone.
  int64_t id() const { return number; }
  // What was taken over, for people, or empty.
  const std::string &takenOver() const { return note; }

private:
  struct Owner;
  static void sleep(double seconds);
  void takeWithLock();
  void takeCopy();
  void takeWithoutLock();
  // Waits to see whether the owner counts; throws InputError when it does.
  void watch(const Owner &owner);
  [[noreturn]] void refuse(const Owner &owner, bool isLinked = false) const;
  std::string text() const;
  void write() const;

  std::string folder, path, note, started;
  double beat;
  Pause pause;
  bool madeFolder = false;
  int fd = -1;
  int64_t number = 0, count = 0, maker = 0;
  std::thread thread;
  std::mutex mutex;
  std::condition_variable ending;
  bool ends = false;
};

} // namespace ppcrt
