// Builds a schedule by running it: an action is appended to its device when the generator picks it, at the time when
// the device is free and the input has arrived. For generators that choose among ready actions.
#ifndef PPC_LIB_SCHEDULING_LISTSCHEDULER_H
#define PPC_LIB_SCHEDULING_LISTSCHEDULER_H

#include "ppc/Scheduling/PipelineSchedule.h"

#include <algorithm>
#include <optional>

namespace mlir::ppc {

class ListScheduler {
public:
  /// Durations in whole units; messages take no time.
  ListScheduler(PipelineSchedule &schedule, int64_t forward, int64_t backward, int64_t weightGradient)
      : schedule(schedule), durations{forward, backward, weightGradient},
        ends(3 * schedule.stageCount * schedule.microBatchCount * schedule.sliceCount, -1),
        freeAt(schedule.deviceCount(), 0) {}

  /// When the device can start the action; none while something that it needs has not been picked.
  std::optional<int64_t> start(const PipelineAction &action) const {
    int64_t ready = freeAt[schedule.deviceOf(action)];
    auto need = [&](PipelineActionKind kind, int64_t stage) {
      if (stage < 0 || stage >= schedule.stageCount)
        return true;
      int64_t end = ends[index({kind, stage, action.microBatch, action.slice})];
      ready = std::max(ready, end);
      return end >= 0;
    };
    bool isReady = action.kind == PipelineActionKind::Forward ? need(action.kind, action.stage - 1)
                   : action.kind == PipelineActionKind::Backward
                       ? need(action.kind, action.stage + 1) && need(PipelineActionKind::Forward, action.stage)
                       : need(PipelineActionKind::Backward, action.stage);
    return isReady ? std::optional(ready) : std::nullopt;
  }

  /// Requires a start.
  void run(const PipelineAction &action) {
    int64_t device = schedule.deviceOf(action);
    freeAt[device] = *start(action) + durations[int(action.kind)];
    ends[index(action)] = freeAt[device];
    schedule.devices[device].push_back(action);
  }

  int64_t free(int64_t device) const { return freeAt[device]; }

private:
  size_t index(const PipelineAction &action) const {
    return ((int64_t(action.kind) * schedule.stageCount + action.stage) * schedule.microBatchCount +
            action.microBatch) *
               schedule.sliceCount +
           action.slice;
  }
  PipelineSchedule &schedule;
  int64_t durations[3];
  std::vector<int64_t> ends, freeAt;
};

/// Fills the schedule with F and B of one unit each, W right after B: of the ready actions, a device runs those of the
/// earliest micro-batch of its direction first, then the one farthest in the model. At most `underWay` micro-batches of
/// a direction are in flight.
void scheduleEarliestFirst(PipelineSchedule &schedule, int64_t underWay);

} // namespace mlir::ppc

#endif // PPC_LIB_SCHEDULING_LISTSCHEDULER_H
