// What a rank does, told to whoever watches it: a few stores for each action, so that a step takes no longer for it.
#pragma once

#include "runtime/transport/Transport.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace ppcrt {

// Written by one rank, read by others at any time. May lie in memory that processes share, where all-zero bytes are its
// initial state.
struct RankProgress {
  std::atomic<int64_t> step; // the step it is in, from 1; 0 before
  // Of a run that has done its steps: the last checkpoint that was due and could not be written; 0: there is none.
  std::atomic<int64_t> lacksCheckpoint;

  // Odd while the rank is inside a call that may wait for others, even otherwise; every such call adds 2. The fields
  // after it say which call: `name` is a literal, `first` a group or a peer, the rest a message's key.
  std::atomic<uint64_t> waits;
  std::atomic<const char *> name;
  std::atomic<int64_t> first, tag, microBatch;

  // Of the action that it is in. Odd while the fields after it are written.
  std::atomic<uint64_t> marks;
  std::atomic<int64_t> action;           // 0: none; or 1 + the index of a routine, of which the last is loading
  std::atomic<int64_t> actionMicroBatch; // -1: of the whole step
  std::atomic<bool> waitsInAction;       // for communication
  std::atomic<double> since;             // now() of the last mark: it began, or what it had waited for was there
  std::atomic<double> usual;             // seconds that it has taken so far, without its waits; 0: not known
};

// The same at one moment, as bytes that can be sent. Where `marks` is odd, nothing is known of the action.
struct RankSnapshot {
  int64_t step = 0, action = 0, actionMicroBatch = -1;
  uint64_t marks = 0, waits = 0;
  double age = 0; // seconds since the last mark
  double usual = 0;
  int64_t waitsInAction = 0;
  int64_t first = 0, tag = 0, microBatch = 0; // of the call that waits, while `waits` is odd
  char name[24] = "";

  bool isInCall() const { return waits % 2 == 1; }
};

// `now` is now() of this machine.
RankSnapshot snapshot(const RankProgress &progress, double now);

// "all_reduce of group 1", "receive of micro-batch 0, tag 1, rank 2": the call that a rank is in.
std::string describeWait(const RankSnapshot &rank);

// Keeps RankProgress::waits for the time of a call.
class Waiting {
public:
  Waiting(RankProgress &progress, const char *name, int64_t first, MessageKey key);
  ~Waiting() { add(1); }
  Waiting(const Waiting &) = delete;
  void gotOn() { add(2); }

private:
  void add(uint64_t count) {
    progress.waits.store(progress.waits.load(std::memory_order_relaxed) + count, std::memory_order_release);
  }
  RankProgress &progress;
};

// What a rank itself keeps to write its marks.
class ProgressMarks {
public:
  // `progress` is borrowed. Loading is an action like the routines, and has the number after theirs.
  ProgressMarks(RankProgress &progress, size_t routineCount) : progress(progress), usual(routineCount + 1) {}

  // The action before has ended, and this one is next; `waited`: seconds that the rank has waited so far.
  void begin(size_t number, int64_t microBatch, double waited);
  // The last action has ended.
  void end(double waited);
  // The rank waits for communication; and goes on.
  void waits(double now) { mark(now, true); }
  void goesOn(double now) { mark(now, false); }

private:
  void finish(double now, double waited);
  void mark(double now, bool isWaiting);

  RankProgress &progress;
  std::vector<double> usual; // [number]: running mean of seconds; 0: it has not ended yet
  size_t running = 0;        // 1 + the number; 0: none
  double begun = 0, waitedBefore = 0;
};

} // namespace ppcrt
