// Times a pipeline schedule by running every device as far as its messages allow, over and over, until all are done.
#include "ppc/Scheduling/ScheduleSimulator.h"

#include "llvm/ADT/Twine.h"

#include <algorithm>
#include <optional>

namespace mlir::ppc {

using llvm::Twine;
using Kind = PipelineActionKind;

double ScheduleTimeline::bubbleRate() const {
  Seconds busiest = busy.empty() ? Seconds(0) : *std::max_element(busy.begin(), busy.end());
  return stepTime.value > 0 ? 1 - busiest / stepTime : 0;
}

Seconds ScheduleTimeline::span() const {
  Seconds longest;
  for (const std::vector<TimedAction> &timed : devices)
    if (!timed.empty())
      longest = std::max(longest, timed.back().end - timed.front().start);
  return longest;
}

/// Duration of the device's i-th action.
static Seconds durationOf(const PipelineSchedule &schedule, int64_t device, size_t i, const StageDurations &durations) {
  const std::vector<PipelineAction> &list = schedule.devices[device];
  switch (list[i].kind) {
  case Kind::Forward:
    return durations.forward;
  case Kind::Backward:
    return schedule.isPaired(device, i) ? durations.pairedBackward() : durations.backward;
  case Kind::WeightGradient:
    PipelineAction before = list[i];
    before.kind = Kind::Backward;
    bool isPaired = i > 0 && list[i - 1] == before && schedule.isPaired(device, i - 1);
    return isPaired ? durations.pairedWeightGradient() : durations.weightGradient;
  }
  llvm_unreachable("unknown action");
}

static double peakInFlight(llvm::ArrayRef<PipelineAction> actions, double share) {
  int64_t inFlight = 0, peak = 0;
  for (const PipelineAction &action : actions) {
    inFlight += (action.kind == Kind::Forward) - (action.kind == Kind::WeightGradient);
    peak = std::max(peak, inFlight);
  }
  return peak * share;
}

namespace {
class Simulation {
public:
  Simulation(const PipelineSchedule &schedule, llvm::ArrayRef<StageDurations> durations,
             const PipelineMessages &messages)
      : schedule(schedule), durations(durations), messages(messages),
        ends(2 * schedule.stageCount * schedule.microBatchCount * schedule.sliceCount) {}

  llvm::Expected<ScheduleTimeline> run() {
    int64_t deviceCount = schedule.deviceCount();
    timeline.replicaCount = schedule.replicaCount();
    timeline.sliceCount = schedule.sliceCount;
    timeline.devices.resize(deviceCount);
    timeline.busy.resize(deviceCount);
    free.resize(deviceCount);
    for (bool progress = true; progress;) {
      progress = false;
      for (int64_t device = 0; device < deviceCount; ++device)
        while (timeline.devices[device].size() < schedule.devices[device].size() && runNext(device))
          progress = true;
    }
    for (int64_t device = 0; device < deviceCount; ++device) {
      size_t timed = timeline.devices[device].size();
      if (timed < schedule.devices[device].size())
        return llvm::createStringError(llvm::inconvertibleErrorCode(), "schedule \"" + schedule.name + "\": device " +
                                                                           Twine(device) + " waits forever before " +
                                                                           toString(schedule.devices[device][timed]));
      timeline.peakInFlight.push_back(peakInFlight(schedule.devices[device], share));
      timeline.stepTime = std::max(timeline.stepTime, free[device]);
    }
    return std::move(timeline);
  }

private:
  /// The stage that the action's input comes from, or goes to; -1: none.
  int64_t neighbour(const PipelineAction &action, int64_t step) const {
    int64_t stage = action.kind == Kind::Forward ? action.stage + step : action.stage - step;
    return action.kind == Kind::WeightGradient || stage < 0 || stage >= schedule.stageCount ? -1 : stage;
  }
  std::optional<Seconds> &endOf(const PipelineAction &action, int64_t stage) {
    int64_t perStage = schedule.microBatchCount * schedule.sliceCount;
    return ends[((action.kind == Kind::Backward) * schedule.stageCount + stage) * perStage +
                action.microBatch * schedule.sliceCount + action.slice];
  }
  Seconds messageTime(const PipelineAction &action) const {
    return (action.kind == Kind::Forward ? messages.forward : messages.backward) * share;
  }
  int64_t deviceOf(const PipelineAction &action, int64_t stage) const {
    return schedule.deviceOf(schedule.replicaOf(action.microBatch), stage);
  }

  bool runNext(int64_t device) {
    std::vector<TimedAction> &timed = timeline.devices[device];
    const PipelineAction &action = schedule.devices[device][timed.size()];
    Seconds start = free[device];
    if (int64_t from = neighbour(action, -1); from >= 0) {
      std::optional<Seconds> sent = endOf(action, from);
      if (!sent)
        return false;
      if (deviceOf(action, from) != device)
        start = std::max(start, *sent + messageTime(action));
    }
    const StageDurations &each = durations[durations.size() == 1 ? 0 : action.stage];
    Seconds duration = durationOf(schedule, device, timed.size(), each) * share;
    Seconds end = start + duration;
    timed.push_back({action, start, end});
    timeline.busy[device] += duration;
    free[device] = end;
    if (action.kind != Kind::WeightGradient)
      endOf(action, action.stage) = end;
    if (int64_t next = neighbour(action, 1); next >= 0 && deviceOf(action, next) != device) {
      timeline.messages.push_back({action, device, deviceOf(action, next), end, end + messageTime(action)});
      if (messages.blockingSends)
        free[device] += messageTime(action);
    }
    return true;
  }

  const PipelineSchedule &schedule;
  llvm::ArrayRef<StageDurations> durations;
  const PipelineMessages &messages;
  double share = 1.0 / schedule.sliceCount;
  std::vector<std::optional<Seconds>> ends; // ends of F and B
  std::vector<Seconds> free;                // per device
  ScheduleTimeline timeline;
};
} // namespace

llvm::Expected<ScheduleTimeline> simulateSchedule(const PipelineSchedule &schedule,
                                                  llvm::ArrayRef<StageDurations> durations,
                                                  const PipelineMessages &messages) {
  if (durations.size() != 1 && int64_t(durations.size()) != schedule.stageCount)
    return llvm::createStringError(llvm::inconvertibleErrorCode(), "schedule \"" + schedule.name +
                                                                       "\": durations for " + Twine(durations.size()) +
                                                                       " stages, not " + Twine(schedule.stageCount));
  return Simulation(schedule, durations, messages).run();
}

} // namespace mlir::ppc
