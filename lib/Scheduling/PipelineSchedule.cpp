// Pipeline schedules as data: spelling, and the slots a stage needs.
#include "ppc/Scheduling/PipelineSchedule.h"

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

/// The largest set of micro-batches in flight bounds K from below; K = M always works.
static int64_t slotsOf(llvm::ArrayRef<PipelineAction> actions, int64_t microBatchCount) {
  std::map<int64_t, size_t> last;
  for (auto [position, action] : llvm::enumerate(actions))
    last[action.microBatch] = position;
  auto works = [&](int64_t slots) {
    std::map<int64_t, int64_t> holder; // slot -> micro-batch in flight
    for (auto [position, action] : llvm::enumerate(actions)) {
      auto [entry, isNew] = holder.try_emplace(action.microBatch % slots, action.microBatch);
      if (entry->second != action.microBatch)
        return false;
      if (last[action.microBatch] == position)
        holder.erase(entry);
    }
    return true;
  };
  for (int64_t slots = 1; slots < microBatchCount; ++slots)
    if (works(slots))
      return slots;
  return std::max<int64_t>(microBatchCount, 1);
}

std::vector<int64_t> slotsPerStage(const PipelineSchedule &schedule) {
  std::vector<std::vector<PipelineAction>> perChunk(schedule.replicaCount() * schedule.stageCount);
  for (const std::vector<PipelineAction> &actions : schedule.devices)
    for (const PipelineAction &action : actions)
      perChunk[schedule.replicaOf(action.microBatch) * schedule.stageCount + action.stage].push_back(action);
  std::vector<int64_t> result;
  for (const std::vector<PipelineAction> &actions : perChunk)
    result.push_back(slotsOf(actions, schedule.microBatchCount));
  return result;
}

} // namespace mlir::ppc
