// Times a pipeline schedule: when each action starts and ends, how long stages idle, how much they keep.
#ifndef PPC_SCHEDULING_SCHEDULESIMULATOR_H
#define PPC_SCHEDULING_SCHEDULESIMULATOR_H

#include "ppc/Scheduling/PipelineSchedule.h"
#include "ppc/Support/Units.h"

namespace mlir::ppc {

/// How long one micro-batch takes on a stage.
struct StageDurations {
  Seconds forward, backward, weightGradient;
};

struct TimedAction {
  PipelineAction action;
  Seconds start, end;
};

struct ScheduleTimeline {
  std::vector<std::vector<TimedAction>> stages;
  Seconds stepTime;                  // until the last action of all stages ends
  std::vector<Seconds> busy;         // per stage: sum of its actions
  std::vector<int64_t> peakInFlight; // per stage: micro-batches kept at once

  /// Idle share of the busiest stage: the time that no better balance, only a better order, could win back.
  /// With equal durations and W inside B this is the published (p - 1) / (M + p - 1) of GPipe and 1F1B.
  double bubbleRate() const;
};

/// `durations`: one per stage, or one for all. `message`: from the end of the action that sends to the earliest start
/// of the one that receives. Requires a schedule that verifies; an error says which stage waits for ever otherwise.
llvm::Expected<ScheduleTimeline> simulateSchedule(const PipelineSchedule &schedule,
                                                  llvm::ArrayRef<StageDurations> durations,
                                                  Seconds message = Seconds(0));

} // namespace mlir::ppc

#endif // PPC_SCHEDULING_SCHEDULESIMULATOR_H
