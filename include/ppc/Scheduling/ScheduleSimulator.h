// Times a pipeline schedule: when each action starts and ends, when each message travels, how long devices idle, how
// much they keep. Replays everything and keeps it, for drawings and memory timelines; PipelineTime.h is the fast one.
#ifndef PPC_SCHEDULING_SCHEDULESIMULATOR_H
#define PPC_SCHEDULING_SCHEDULESIMULATOR_H

#include "ppc/Scheduling/PipelineSchedule.h"
#include "ppc/Support/Units.h"

#include <algorithm>

namespace mlir::ppc {

/// How long one micro-batch takes on a virtual stage; a slice takes its share.
struct StageDurations {
  Seconds forward, backward, weightGradient;
  /// Time that a B with its W saves as one block with the F before it, in schedules that pair them (dualpipe,
  /// dualpipev).
  Seconds overlap = Seconds(0);

  /// Duration of a B in such a block: B is shortened by `overlap`, and W by the rest of it.
  Seconds pairedBackward() const { return std::max(backward - overlap, Seconds(0)); }
  Seconds pairedWeightGradient() const {
    return std::max(weightGradient - std::max(overlap - backward, Seconds(0)), Seconds(0));
  }
};

/// How long the messages of one micro-batch between virtual stages on different devices take; a slice takes its share.
struct PipelineMessages {
  Seconds forward, backward;
  /// The sender's device is occupied while its message travels (blocking send/recv, or batched isend/irecv and wait);
  /// otherwise the message only delays the receiver.
  bool blockingSends = false;
};

struct TimedAction {
  PipelineAction action;
  Seconds start, end;
};

/// A message: made by `action`, which ended at `start`; there at `end`.
struct TimedMessage {
  PipelineAction action;
  int64_t from = 0, to = 0; // devices
  Seconds start, end;
};

struct ScheduleTimeline {
  std::vector<std::vector<TimedAction>> devices;
  std::vector<TimedMessage> messages;
  int64_t replicaCount = 1, sliceCount = 1; // replicas and slices of the schedule
  Seconds stepTime;                         // until the last device is free
  std::vector<Seconds> busy;                // per device: sum of its actions, blocking sends not counted
  std::vector<double> peakInFlight; // per device: micro-batches x chunks kept at once, from F to W; slices by share

  /// Idle share of the busiest device: the time that no better balance, only a better order, could win back.
  /// With equal durations and W inside B this is the published (p - 1) / (M + p - 1) of GPipe and 1F1B.
  double bubbleRate() const;

  /// The longest that a device takes from its first action to its last (see PipelineTime::span).
  Seconds span() const;
};

/// Times a schedule. `durations`: one per virtual stage, or one for all. Requires a schedule that verifies; otherwise
/// the error names the device that deadlocks.
llvm::Expected<ScheduleTimeline> simulateSchedule(const PipelineSchedule &schedule,
                                                  llvm::ArrayRef<StageDurations> durations,
                                                  const PipelineMessages &messages = {});

} // namespace mlir::ppc

#endif // PPC_SCHEDULING_SCHEDULESIMULATOR_H
