// Marks are written by one thread and read by others without a lock: a reader that meets a writer looks again.
#include "runtime/watch/RankProgress.h"
#include "runtime/base/Clock.h"
#include "runtime/base/Error.h"

#include <algorithm>
#include <cstring>

namespace ppcrt {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr int mostLooks = 100;      // a rank that was stopped while it wrote never ends to write
constexpr double weightOfNew = 0.1; // of a time, in the running mean
constexpr double mostOfUsual = 2;   // counts of a time: one stop does not hide the next

// For the time of a write.
class Writing {
public:
  explicit Writing(RankProgress &progress) : marks(progress.marks), before(marks.load(relaxed)) {
    marks.store(before + 1, relaxed);
    std::atomic_thread_fence(std::memory_order_release);
  }
  ~Writing() { marks.store(before + 2, std::memory_order_release); }
  Writing(const Writing &) = delete;

private:
  std::atomic<uint64_t> &marks;
  uint64_t before;
};

} // namespace

// Whether what was read of the action is of one moment; `result.marks` is what it began with.
static bool readAction(const RankProgress &progress, double now, RankSnapshot &result) {
  result.marks = progress.marks.load(std::memory_order_acquire);
  result.action = progress.action.load(relaxed);
  result.actionMicroBatch = progress.actionMicroBatch.load(relaxed);
  result.waitsInAction = progress.waitsInAction.load(relaxed);
  result.age = std::max(0.0, now - progress.since.load(relaxed));
  result.usual = progress.usual.load(relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  return result.marks % 2 == 0 && progress.marks.load(relaxed) == result.marks;
}

// The same of the call that it is in, if any.
static bool readCall(const RankProgress &progress, RankSnapshot &result) {
  result.waits = progress.waits.load(std::memory_order_acquire);
  if (!result.isInCall())
    return true;
  std::strncpy(result.name, progress.name.load(relaxed), sizeof result.name - 1);
  result.first = progress.first.load(relaxed);
  result.tag = progress.tag.load(relaxed);
  result.microBatch = progress.microBatch.load(relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  return progress.waits.load(relaxed) == result.waits;
}

RankSnapshot snapshot(const RankProgress &progress, double now) {
  RankSnapshot result;
  bool isOne = false;
  for (int look = 0; look < mostLooks && !isOne; ++look)
    isOne = readAction(progress, now, result);
  if (!isOne) { // it gets on all the time, or is stopped while it writes: in which action, nobody can say
    uint64_t marks = result.marks | 1;
    result = RankSnapshot();
    result.marks = marks;
  }
  result.step = progress.step.load(relaxed);
  isOne = false;
  for (int look = 0; look < mostLooks && !isOne; ++look)
    isOne = readCall(progress, result);
  if (!isOne) // from one call to the next
    result.waits += result.waits % 2;
  return result;
}

std::string describeWait(const RankSnapshot &rank) {
  std::string text = rank.name;
  if (rank.tag >= 0)
    return text + format(" of micro-batch %lld, tag %lld, rank %lld", (long long)rank.microBatch, (long long)rank.tag,
                         (long long)rank.first);
  return text + (rank.first < 0 ? " of all ranks" : format(" of group %lld", (long long)rank.first));
}

Waiting::Waiting(RankProgress &progress, const char *name, int64_t first, MessageKey key) : progress(progress) {
  std::atomic_thread_fence(std::memory_order_release); // the call before has ended for whoever sees what follows
  progress.name.store(name, relaxed);
  progress.first.store(first, relaxed);
  progress.tag.store(key.tag, relaxed);
  progress.microBatch.store(key.microBatch, relaxed);
  add(1);
}

void ProgressMarks::begin(size_t number, int64_t microBatch, double waited) {
  double time = now();
  finish(time, waited);
  running = number + 1, begun = time, waitedBefore = waited;
  Writing writing(progress);
  progress.action.store(int64_t(running), relaxed);
  progress.actionMicroBatch.store(microBatch, relaxed);
  progress.usual.store(usual[number], relaxed);
  progress.since.store(time, relaxed);
}

void ProgressMarks::end(double waited) {
  double time = now();
  finish(time, waited);
  running = 0;
  Writing writing(progress);
  progress.action.store(0, relaxed);
  progress.since.store(time, relaxed);
}

void ProgressMarks::finish(double now, double waited) {
  if (!running)
    return;
  double &mean = usual[running - 1], seconds = std::max(1e-9, now - begun - (waited - waitedBefore));
  mean = mean > 0 ? mean + weightOfNew * (std::min(seconds, mostOfUsual * mean) - mean) : seconds;
}

void ProgressMarks::mark(double now, bool isWaiting) {
  Writing writing(progress);
  progress.waitsInAction.store(isWaiting, relaxed);
  progress.since.store(now, relaxed);
}

} // namespace ppcrt
