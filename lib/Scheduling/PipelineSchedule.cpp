// Pipeline schedules as data: names, the registry, and the slots a stage needs.
#include "ppc/Scheduling/PipelineSchedule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

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

llvm::ArrayRef<PipelineScheduleKind> pipelineScheduleKinds() {
  static const PipelineScheduleKind kinds[] = {
      {"gpipe", "all forwards, then all backwards; keeps every micro-batch", makeGPipeSchedule},
      {"1f1b", "one forward, one backward; stage s of p keeps p - s micro-batches", makeOneFOneBSchedule},
  };
  return kinds;
}

llvm::Expected<PipelineSchedule> makePipelineSchedule(llvm::StringRef name, int64_t stages, int64_t microBatches) {
  auto refuse = [](const llvm::Twine &message) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
  };
  if (stages < 1)
    return refuse("a pipeline needs at least 1 stage, not " + llvm::Twine(stages));
  if (microBatches < 1)
    return refuse("a pipeline needs at least 1 micro-batch, not " + llvm::Twine(microBatches));
  for (const PipelineScheduleKind &kind : pipelineScheduleKinds())
    if (kind.name == name)
      return kind.make(stages, microBatches);
  auto names = llvm::map_range(pipelineScheduleKinds(), [](const PipelineScheduleKind &kind) { return kind.name; });
  return refuse("unknown pipeline schedule \"" + name + "\"; known: " + llvm::join(names, ", "));
}

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
  std::vector<int64_t> result;
  for (const std::vector<PipelineAction> &actions : schedule.stages)
    result.push_back(slotsOf(actions, schedule.microBatchCount));
  return result;
}

} // namespace mlir::ppc
