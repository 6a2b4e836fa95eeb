// Runs a schedule under its communication rules, without times, to find deadlocks and their causes.
#ifndef PPC_LIB_SCHEDULING_SCHEDULEEXECUTION_H
#define PPC_LIB_SCHEDULING_SCHEDULEEXECUTION_H

#include "ppc/Scheduling/PipelineSchedule.h"

#include <optional>

namespace mlir::ppc {

/// Which actions have run, one bit each.
class ActionSet {
public:
  explicit ActionSet(const PipelineSchedule &schedule);
  /// Whether it was new.
  bool insert(const PipelineAction &action);
  bool contains(const PipelineAction &action) const { return bits[index(action)]; }

private:
  size_t index(const PipelineAction &action) const {
    return ((int64_t(action.kind) * stageCount + action.stage) * microBatchCount + action.microBatch) * sliceCount +
           action.slice;
  }
  int64_t stageCount, microBatchCount, sliceCount;
  std::vector<bool> bits;
};

/// A device that is deadlocked before `action`: it waits to receive from `missing`, or, when it re-uses a slot, until
/// `missing` has received the sends of that slot.
struct StuckDevice {
  int64_t device;
  PipelineAction action, missing;
  bool isSlot;
};

/// Runs the devices, each as far as it can, until all are done or none makes progress; returns those that are not done.
/// An action has two events: it is entered when all its inputs have arrived (they are then received), and it is done
/// immediately after that. Sends are asynchronous, receives block, and a stage that re-uses a slot (micro-batch %
/// `slots`, one entry per replica and virtual stage) waits until everything sent from it is received. Requires actions
/// that exist.
std::vector<StuckDevice> executeSchedule(const PipelineSchedule &schedule, llvm::ArrayRef<int64_t> slots);

} // namespace mlir::ppc

#endif // PPC_LIB_SCHEDULING_SCHEDULEEXECUTION_H
