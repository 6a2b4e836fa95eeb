// Times a pipeline schedule by running every stage as far as its messages allow, over and over, until all are done.
#include "ppc/Scheduling/ScheduleSimulator.h"

#include "llvm/ADT/Twine.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace mlir::ppc {

using llvm::Twine;
using Kind = PipelineActionKind;

double ScheduleTimeline::bubbleRate() const {
  Seconds busiest = busy.empty() ? Seconds(0) : *std::max_element(busy.begin(), busy.end());
  return stepTime.value > 0 ? 1 - busiest / stepTime : 0;
}

static Seconds durationOf(const StageDurations &durations, Kind kind) {
  return kind == Kind::Forward    ? durations.forward
         : kind == Kind::Backward ? durations.backward
                                  : durations.weightGradient;
}

static int64_t peakInFlight(llvm::ArrayRef<PipelineAction> actions) {
  int64_t inFlight = 0, peak = 0;
  for (const PipelineAction &action : actions) {
    inFlight += (action.kind == Kind::Forward) - (action.kind == Kind::WeightGradient);
    peak = std::max(peak, inFlight);
  }
  return peak;
}

llvm::Expected<ScheduleTimeline> simulateSchedule(const PipelineSchedule &schedule,
                                                  llvm::ArrayRef<StageDurations> durations, Seconds message) {
  auto refuse = [&](const Twine &text) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(), "schedule \"" + schedule.name + "\": " + text);
  };
  int64_t stageCount = schedule.stages.size();
  if (durations.size() != 1 && int64_t(durations.size()) != stageCount)
    return refuse("durations for " + Twine(durations.size()) + " stages, not " + Twine(stageCount));

  ScheduleTimeline timeline;
  timeline.stages.resize(stageCount);
  timeline.busy.resize(stageCount);
  std::map<std::tuple<int64_t, Kind, int64_t>, Seconds> end;
  // When the action's message is there: at once when it needs none, never (yet) when its sender has not run.
  auto arrival = [&](const PipelineAction &action) -> std::optional<Seconds> {
    int64_t sender = action.kind == Kind::Forward ? action.stage - 1 : action.stage + 1;
    if (action.kind == Kind::WeightGradient || sender < 0 || sender >= stageCount)
      return Seconds(0);
    auto found = end.find({sender, action.kind, action.microBatch});
    return found == end.end() ? std::nullopt : std::optional(found->second + message);
  };
  for (bool progress = true; progress;) {
    progress = false;
    for (int64_t stage = 0; stage < stageCount; ++stage) {
      std::vector<TimedAction> &timed = timeline.stages[stage];
      while (timed.size() < schedule.stages[stage].size()) {
        const PipelineAction &action = schedule.stages[stage][timed.size()];
        std::optional<Seconds> ready = arrival(action);
        if (!ready)
          break;
        Seconds start = timed.empty() ? *ready : std::max(*ready, timed.back().end);
        Seconds duration = durationOf(durations[durations.size() == 1 ? 0 : stage], action.kind);
        timed.push_back({action, start, start + duration});
        end[{stage, action.kind, action.microBatch}] = start + duration;
        timeline.busy[stage] += duration;
        timeline.stepTime = std::max(timeline.stepTime, start + duration);
        progress = true;
      }
    }
  }
  for (int64_t stage = 0; stage < stageCount; ++stage) {
    size_t timed = timeline.stages[stage].size();
    if (timed < schedule.stages[stage].size())
      return refuse("stage " + Twine(stage) + " waits for ever before " + toString(schedule.stages[stage][timed]));
    timeline.peakInFlight.push_back(peakInFlight(schedule.stages[stage]));
  }
  return timeline;
}

} // namespace mlir::ppc
