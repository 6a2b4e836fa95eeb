// Pipeline schedules as data: spelling, and the slots a stage needs.
#include "ppc/Scheduling/PipelineSchedule.h"

#include "ScheduleExecution.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

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

namespace {
/// When the micro-batches of a list of actions come and go.
class InFlight {
public:
  explicit InFlight(llvm::ArrayRef<PipelineAction> actions) {
    std::map<int64_t, size_t> last;
    for (auto [position, action] : llvm::enumerate(actions))
      last[action.microBatch] = position;
    std::set<int64_t> there;
    for (auto [position, action] : llvm::enumerate(actions)) {
      there.insert(action.microBatch);
      most = std::max(most, int64_t(there.size()));
      uses.push_back({action.microBatch, last[action.microBatch] == position});
      if (uses.back().isLast)
        there.erase(action.microBatch);
    }
  }
  /// The fewest slots, but `atLeast`, with which no two micro-batches with the same m % slots are in flight at once;
  /// `enough` where it would be more.
  int64_t leastSlots(int64_t atLeast, int64_t enough = std::numeric_limits<int64_t>::max()) const {
    int64_t slots = std::max(atLeast, most); // each that is in flight has one
    while (slots < enough && !separates(slots))
      ++slots;
    return std::min(slots, std::max(atLeast, enough));
  }

private:
  bool separates(int64_t slots) const {
    constexpr int64_t nobody = std::numeric_limits<int64_t>::min();
    std::vector<int64_t> holder(slots, nobody); // micro-batch in flight
    for (const Use &use : uses) {
      int64_t &entry = holder[use.microBatch % slots];
      if (entry != nobody && entry != use.microBatch)
        return false;
      entry = use.isLast ? nobody : use.microBatch;
    }
    return true;
  }

  struct Use {
    int64_t microBatch;
    bool isLast;
  };
  std::vector<Use> uses;
  int64_t most = 0; // in flight at once
};
} // namespace

int64_t leastSlots(llvm::ArrayRef<PipelineAction> actions, int64_t atLeast) {
  return InFlight(actions).leastSlots(atLeast);
}

std::vector<int64_t> slotsPerStage(const PipelineSchedule &schedule) {
  std::vector<std::vector<PipelineAction>> perChunk(schedule.replicaCount() * schedule.stageCount);
  for (const std::vector<PipelineAction> &actions : schedule.devices)
    for (const PipelineAction &action : actions)
      perChunk[schedule.chunkIndex(action)].push_back(action);
  int64_t most = std::max<int64_t>(schedule.microBatchCount, 1); // always enough
  std::vector<int64_t> slots(perChunk.size(), 0);
  std::vector<InFlight> flights(perChunk.begin(), perChunk.end());
  auto grow = [&](int64_t chunk) { slots[chunk] = flights[chunk].leastSlots(slots[chunk] + 1, most); };
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
