// Runs a schedule under its message rules, without times: who waits for ever, and for what.
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

/// A device that waits for ever before `action`: for the message of `missing`, or, when it re-uses a slot, for a
/// message sent from that slot to be received by `missing`.
struct StuckDevice {
  int64_t device;
  PipelineAction action, missing;
  bool isSlot;
};

/// Runs the devices, each as far as it gets, until all are done or none can go on; returns those that are not done. An
/// action has two moments: it is entered when everything it waits for is there (its message is then received), and it
/// is done at once after that. Sends are asynchronous, receives block, and a stage that re-uses a slot (micro-batch %
/// `slots`, one entry per replica and virtual stage) waits until all messages sent from it are received. Requires
/// actions that exist.
std::vector<StuckDevice> executeSchedule(const PipelineSchedule &schedule, llvm::ArrayRef<int64_t> slots);

} // namespace mlir::ppc

#endif // PPC_LIB_SCHEDULING_SCHEDULEEXECUTION_H
