// Runs a schedule under its message rules.
#include "ScheduleExecution.h"

namespace mlir::ppc {

using Kind = PipelineActionKind;

ActionSet::ActionSet(const PipelineSchedule &schedule)
    : stageCount(schedule.stageCount), microBatchCount(schedule.microBatchCount), sliceCount(schedule.sliceCount),
      bits(3 * stageCount * microBatchCount * sliceCount, false) {}

bool ActionSet::insert(const PipelineAction &action) {
  size_t i = index(action);
  bool isNew = !bits[i];
  bits[i] = true;
  return isNew;
}

namespace {
class Execution {
public:
  Execution(const PipelineSchedule &schedule, llvm::ArrayRef<int64_t> slots)
      : schedule(schedule), slots(slots), position(schedule.deviceCount(), 0), done(schedule) {
    for (int64_t count : slots)
      lastUser.emplace_back(count, -1);
  }

  std::vector<StuckDevice> run() {
    for (bool progress = true; progress;) {
      progress = false;
      for (int64_t device = 0; device < schedule.deviceCount(); ++device)
        while (position[device] < schedule.devices[device].size()) {
          const PipelineAction &action = schedule.devices[device][position[device]];
          if (missing(device, action))
            break;
          done.insert(action);
          if (takesSlot(action))
            user(action) = action.microBatch;
          ++position[device];
          progress = true;
        }
    }
    std::vector<StuckDevice> stuck;
    for (int64_t device = 0; device < schedule.deviceCount(); ++device)
      if (position[device] < schedule.devices[device].size())
        stuck.push_back(*missing(device, schedule.devices[device][position[device]]));
    return stuck;
  }

private:
  static bool takesSlot(const PipelineAction &action) { return action.kind == Kind::Forward && action.slice == 0; }

  /// The last micro-batch that took the slot that the action takes; -1: none.
  int64_t &user(const PipelineAction &action) {
    int64_t chunk = schedule.chunkIndex(action);
    return lastUser[chunk][action.microBatch % slots[chunk]];
  }

  std::optional<StuckDevice> missing(int64_t device, const PipelineAction &action) {
    auto need = [&](Kind kind, int64_t stage, int64_t m, int64_t slice, bool isSlot) -> std::optional<StuckDevice> {
      PipelineAction other{kind, stage, m, slice};
      if (stage < 0 || stage >= schedule.stageCount || done.contains(other))
        return std::nullopt;
      return StuckDevice{device, action, other, isSlot};
    };
    if (action.kind == Kind::WeightGradient)
      return std::nullopt;
    int64_t sender = action.kind == Kind::Forward ? action.stage - 1 : action.stage + 1;
    if (auto stuck = need(action.kind, sender, action.microBatch, action.slice, false))
      return stuck;
    if (!takesSlot(action) || user(action) < 0)
      return std::nullopt;
    // The slot's user before must have got rid of its messages, to the next stage and to the previous one.
    for (int64_t slice = 0; slice < schedule.sliceCount; ++slice) {
      if (auto stuck = need(Kind::Forward, action.stage + 1, user(action), slice, true))
        return stuck;
      if (auto stuck = need(Kind::Backward, action.stage - 1, user(action), slice, true))
        return stuck;
    }
    return std::nullopt;
  }

  const PipelineSchedule &schedule;
  llvm::ArrayRef<int64_t> slots;
  std::vector<size_t> position; // next action per device
  ActionSet done;
  std::vector<std::vector<int64_t>> lastUser; // [replica and stage][slot]
};
} // namespace

std::vector<StuckDevice> executeSchedule(const PipelineSchedule &schedule, llvm::ArrayRef<int64_t> slots) {
  return Execution(schedule, slots).run();
}

} // namespace mlir::ppc
