// Events of a step of a program, starts and ends on all devices, and the order between them.
#ifndef PPC_TIMING_STEPEVENTS_H
#define PPC_TIMING_STEPEVENTS_H

#include "dialects/ppcrt/PpcRt.h"

namespace mlir::ppc {

/// An action of a device, or an event in the code that an action runs: communication between devices, or that it
/// finishes with some of its buffers (`ppcrt.reach`). It starts and it ends.
struct Activity {
  Operation *op;   ///< the action, or the op in the code of one
  uint32_t action; ///< the activity of the action: itself, or the one that runs the code
  uint32_t device; ///< index of the device in the program
  uint32_t stream; ///< streams of all devices are numbered together
  uint32_t place;  ///< index of the action among those of its stream, from 0

  /// Whether the code of an action finishes here with buffers. The program points that a stream's actions reach
  /// form a stream of their own.
  bool isReach() const { return isa<ppcrt::ReachOp>(op); }
};

/// The start or the end of an activity.
using Event = uint32_t;
inline Event beginOf(uint32_t activity) { return 2 * activity; }
inline Event endOf(uint32_t activity) { return 2 * activity + 1; }
inline uint32_t activityOf(Event event) { return event / 2; }
inline bool isEnd(Event event) { return event % 2; }

/// The events of a step, or of an evaluation, and for each the events that come later because of it. This follows from
/// the program alone, whatever runs it:
/// - an action starts when the one before it on its stream has completed, and the tokens that it takes have. The last
///   token of a run completes with the run, the others when its code has reached their program points;
/// - messages synchronize: a send does not end before its receive has started, nor a receive before its send has
/// started;
/// - so do collectives: none of a group's devices ends one before all have started it. The i-th of one device is the
/// i-th
///   of the others;
/// - communication between devices in the code of a routine, and the program points that the code reaches, happen in
///   their order between start and end of the run. (Within a device all ranks run one program: they reach their common
///   ops in one order.)
class StepEvents {
public:
  /// Fails with an error at the op, and notes at the other end: a message that no device sends or receives, a token
  /// of another step or of a program point that the code does not reach, a group that the device is not in, collectives
  /// whose members do not do the same.
  static FailureOr<StepEvents> build(ppcrt::ProgramOp program, const ppcrt::ProgramSymbols &symbols, bool isEvaluation);

  /// Activities by device, in the order in which actions are issued; activities in the code of an action follow it.
  ArrayRef<Activity> getActivities() const { return activities; }
  size_t getEventCount() const { return 2 * activities.size(); }
  /// Events that cannot happen before `event` has.
  ArrayRef<Event> getLater(Event event) const {
    return ArrayRef(later).slice(firstLater[event], firstLater[event + 1] - firstLater[event]);
  }
  /// Additional waits: of ranks of one device for ranks at other coordinates of another one, in groups that list
  /// their ranks. They can be part of a cycle, but order nothing on any one rank.
  ArrayRef<std::pair<Event, Event>> getWaitsAcross() const { return waitsAcross; }
  size_t getStreamCount() const { return streams.size(); }
  /// The actions of a stream, or the program points that they reach, in order.
  ArrayRef<uint32_t> getStream(size_t stream) const { return streams[stream]; }
  size_t getDeviceCount() const { return firstStreams.size() - 1; }
  /// The streams of a device are [first, first of the next device).
  uint32_t firstStream(size_t device) const { return firstStreams[device]; }

  /// The activity with whose end a use ends: its action, or the point where the code finishes early with the buffer.
  uint32_t endOfUse(uint32_t activity, std::optional<uint32_t> early) const {
    auto found = early ? reached.find({activity, *early}) : reached.end();
    return found == reached.end() ? activity : found->second;
  }

  /// The numbers of the groups over which an activity that is an action communicates, itself or in its code.
  ArrayRef<uint32_t> getGroups(uint32_t activity) const;
  size_t getGroupCount() const { return groupCount; }

  /// "send of @m, micro-batch 3, on device 0": for messages to users.
  std::string describe(uint32_t activity) const;

private:
  friend class EventBuilder;
  std::vector<Activity> activities;
  std::vector<uint32_t> firstLater; ///< by event, and one more
  std::vector<Event> later;
  std::vector<std::pair<Event, Event>> waitsAcross;
  std::vector<std::vector<uint32_t>> streams;
  std::vector<uint32_t> firstStreams; ///< by device, and one more
  std::vector<std::vector<uint32_t>> groupSets;
  std::vector<uint32_t> groupSetOf;                          ///< by activity
  DenseMap<std::pair<uint32_t, uint32_t>, uint32_t> reached; ///< by run and entry
  size_t groupCount = 0;
};

} // namespace mlir::ppc

#endif // PPC_TIMING_STEPEVENTS_H
