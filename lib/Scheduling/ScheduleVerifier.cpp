// Proves a pipeline schedule sound: local rules by one walk per stage, freedom from deadlock by running it.
#include "ppc/Scheduling/ScheduleVerifier.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <map>
#include <set>
#include <tuple>

namespace mlir::ppc {

using llvm::Twine;
using Kind = PipelineActionKind;

static llvm::Error refuse(const PipelineSchedule &schedule, const Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), "schedule \"" + schedule.name + "\": " + message);
}

/// C1 and C2.
static llvm::Error verifyStage(const PipelineSchedule &schedule, int64_t stage) {
  std::set<std::pair<Kind, int64_t>> done;
  std::string at = "stage " + std::to_string(stage) + ": ";
  for (const PipelineAction &action : schedule.stages[stage]) {
    if (action.stage != stage)
      return refuse(schedule, at + toString(action) + " belongs to stage " + Twine(action.stage));
    if (action.microBatch < 0 || action.microBatch >= schedule.microBatchCount)
      return refuse(schedule,
                    at + toString(action) + " is not one of the " + Twine(schedule.microBatchCount) + " micro-batches");
    if (!done.insert({action.kind, action.microBatch}).second)
      return refuse(schedule, at + toString(action) + " runs twice");
    for (auto [before, after] : {std::pair{Kind::Forward, Kind::Backward}, {Kind::Backward, Kind::WeightGradient}})
      if (action.kind == after && !done.count({before, action.microBatch}))
        return refuse(schedule, at + toString(action) + " runs before " +
                                    toString(PipelineAction{before, stage, action.microBatch}));
  }
  for (int64_t m = 0; m < schedule.microBatchCount; ++m)
    for (Kind kind : {Kind::Forward, Kind::Backward, Kind::WeightGradient})
      if (!done.count({kind, m}))
        return refuse(schedule, at + toString(PipelineAction{kind, stage, m}) + " never runs");
  return llvm::Error::success();
}

/// C3. W is the last action on a micro-batch (C2).
static llvm::Error verifySlots(const PipelineSchedule &schedule, int64_t stage, int64_t slots) {
  std::map<int64_t, int64_t> holder; // slot -> micro-batch
  std::string at = "stage " + std::to_string(stage) + ": ";
  if (slots < 1)
    return refuse(schedule, at + "has " + Twine(slots) + " slots; at least 1 is needed");
  for (const PipelineAction &action : schedule.stages[stage]) {
    int64_t slot = action.microBatch % slots;
    if (action.kind == Kind::Forward) {
      if (int64_t(holder.size()) == slots)
        return refuse(schedule, at + toString(action) + " would be micro-batch number " + Twine(slots + 1) +
                                    " in flight; there are " + Twine(slots) + " slots");
      auto [entry, isFree] = holder.try_emplace(slot, action.microBatch);
      if (!isFree)
        return refuse(schedule, at + toString(action) + " needs slot " + Twine(slot) + ", which micro-batch " +
                                    Twine(entry->second) + " still uses");
    } else if (action.kind == Kind::WeightGradient) {
      holder.erase(slot);
    }
  }
  return llvm::Error::success();
}

namespace {
/// Runs the stages, each as far as it gets, until all are done or none can go on. An action has two moments: it is
/// entered when everything it waits for is there (its message is then received), and it is done at once after that.
class Execution {
public:
  Execution(const PipelineSchedule &schedule, llvm::ArrayRef<int64_t> slots)
      : schedule(schedule), slots(slots), position(schedule.stageCount, 0) {}

  llvm::Error run() {
    for (bool progress = true; progress;) {
      progress = false;
      for (int64_t stage = 0; stage < schedule.stageCount; ++stage)
        while (position[stage] < schedule.stages[stage].size()) {
          const PipelineAction &action = schedule.stages[stage][position[stage]];
          if (!missing(action).empty())
            break;
          done.insert({stage, action.kind, action.microBatch});
          ++position[stage];
          progress = true;
        }
    }
    for (int64_t stage = 0; stage < schedule.stageCount; ++stage)
      if (position[stage] < schedule.stages[stage].size()) {
        const PipelineAction &action = schedule.stages[stage][position[stage]];
        return refuse(schedule, "deadlock: stage " + Twine(stage) + " waits for ever before " + toString(action) +
                                    " for " + missing(action));
      }
    return llvm::Error::success();
  }

private:
  bool isDone(int64_t stage, Kind kind, int64_t microBatch) const { return done.count({stage, kind, microBatch}); }

  /// Names the first thing that the action waits for; empty when nothing.
  std::string missing(const PipelineAction &action) const {
    int64_t stage = action.stage, m = action.microBatch, last = schedule.stageCount - 1;
    auto need = [&](int64_t other, Kind kind, int64_t microBatch, const char *what) -> std::string {
      if (other < 0 || other > last || isDone(other, kind, microBatch))
        return "";
      return what + toString(PipelineAction{kind, other, microBatch}) + " of stage " + std::to_string(other);
    };
    if (action.kind == Kind::Backward)
      return need(stage + 1, Kind::Backward, m, "the message of ");
    if (action.kind != Kind::Forward)
      return "";
    std::string result = need(stage - 1, Kind::Forward, m, "the message of ");
    // Every earlier user of the slot must have got rid of its messages, to the next stage and to the previous one.
    for (size_t before = 0; before < position[stage] && result.empty(); ++before) {
      const PipelineAction &earlier = schedule.stages[stage][before];
      if (earlier.kind != Kind::Forward || (earlier.microBatch - m) % slots[stage] != 0)
        continue;
      result = need(stage + 1, Kind::Forward, earlier.microBatch, "its message to be received by ");
      if (result.empty())
        result = need(stage - 1, Kind::Backward, earlier.microBatch, "its message to be received by ");
    }
    return result;
  }

  const PipelineSchedule &schedule;
  llvm::ArrayRef<int64_t> slots;
  std::vector<size_t> position; // next action per stage
  std::set<std::tuple<int64_t, Kind, int64_t>> done;
};
} // namespace

llvm::Error verifySchedule(const PipelineSchedule &schedule, llvm::ArrayRef<int64_t> slots) {
  if (schedule.stageCount < 1 || schedule.microBatchCount < 1)
    return refuse(schedule, "has " + Twine(schedule.stageCount) + " stages and " + Twine(schedule.microBatchCount) +
                                " micro-batches; at least 1 of each is needed");
  if (int64_t(schedule.stages.size()) != schedule.stageCount)
    return refuse(schedule, "lists the actions of " + Twine(schedule.stages.size()) + " stages, not " +
                                Twine(schedule.stageCount));
  if (slots.size() != schedule.stages.size())
    return refuse(schedule, "has slots for " + Twine(slots.size()) + " stages, not " + Twine(schedule.stageCount));
  for (int64_t stage = 0; stage < schedule.stageCount; ++stage) {
    if (llvm::Error error = verifyStage(schedule, stage))
      return error;
    if (llvm::Error error = verifySlots(schedule, stage, slots[stage]))
      return error;
  }
  return Execution(schedule, slots).run();
}

} // namespace mlir::ppc
