// Pipeline schedules as data: spelling, and the slots a stage needs.
#include "ppc/Scheduling/PipelineSchedule.h"

#include "ScheduleExecution.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>

namespace mlir::ppc {

llvm::StringRef toString(PipelineActionKind kind) {
  switch (kind) {
  case PipelineActionKind::Forward:
    return "forward";
  case PipelineActionKind::Backward:
    return "backward";
  case PipelineActionKind::WeightGradient:
    return "weight_gradient";
  }
  llvm_unreachable("unknown action");
}

char letter(PipelineActionKind kind) {
  switch (kind) {
  case PipelineActionKind::Forward:
    return 'F';
  case PipelineActionKind::Backward:
    return 'B';
  case PipelineActionKind::WeightGradient:
    return 'W';
  }
  llvm_unreachable("unknown action");
}

std::string toString(const PipelineAction &action) { return letter(action.kind) + std::to_string(action.microBatch); }

/// Whether no two micro-batches with the same m % slots are in flight at once.
static bool separates(llvm::ArrayRef<PipelineAction> actions, int64_t slots) {
  std::map<int64_t, size_t> last;
  for (auto [position, action] : llvm::enumerate(actions))
    last[action.microBatch] = position;
  std::map<int64_t, int64_t> holder; // slot -> micro-batch in flight
  for (auto [position, action] : llvm::enumerate(actions)) {
    auto [entry, isNew] = holder.try_emplace(action.microBatch % slots, action.microBatch);
    if (entry->second != action.microBatch)
      return false;
    if (last[action.microBatch] == position)
      holder.erase(entry);
  }
  return true;
}

int64_t leastSlots(llvm::ArrayRef<PipelineAction> actions, int64_t atLeast) {
  while (!separates(actions, atLeast))
    ++atLeast;
  return atLeast;
}

std::vector<int64_t> slotsPerStage(const PipelineSchedule &schedule) {
  std::vector<std::vector<PipelineAction>> perChunk(schedule.replicaCount() * schedule.stageCount);
  for (const std::vector<PipelineAction> &actions : schedule.devices)
    for (const PipelineAction &action : actions)
      perChunk[schedule.chunkIndex(action)].push_back(action);
  int64_t most = std::max<int64_t>(schedule.microBatchCount, 1); // always enough
  std::vector<int64_t> slots(perChunk.size(), 0);
  auto grow = [&](int64_t chunk) {
    do
      ++slots[chunk];
    while (slots[chunk] < most && !separates(perChunk[chunk], slots[chunk]));
  };
  for (size_t chunk = 0; chunk < perChunk.size(); ++chunk)
    grow(chunk);
  for (bool hasGrown = true; hasGrown;) {
    hasGrown = false;
    for (const StuckDevice &stuck : executeSchedule(schedule, slots))
      if (stuck.isSlot && slots[schedule.chunkIndex(stuck.action)] < most) {
        grow(schedule.chunkIndex(stuck.action));
        hasGrown = true;
      }
  }
  return slots;
}

} // namespace mlir::ppc
