// Proves a pipeline schedule sound: local rules by one walk per device, freedom from deadlock by running it.
#include "ppc/Scheduling/ScheduleVerifier.h"

#include "ScheduleExecution.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <map>

namespace mlir::ppc {

using llvm::Twine;
using Kind = PipelineActionKind;

static llvm::Error refuse(const PipelineSchedule &schedule, const Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), "schedule \"" + schedule.name + "\": " + message);
}

/// "device 2: ", and the virtual stage when the device has several.
static std::string place(const PipelineSchedule &schedule, int64_t device, const PipelineAction &action) {
  std::string result = "device " + std::to_string(device);
  if (schedule.stageCount != schedule.deviceCount() || schedule.replicaCount() > 1)
    result += ", stage " + std::to_string(action.stage);
  return result + ": ";
}

/// C0.
static llvm::Error verifyForm(const PipelineSchedule &schedule, llvm::ArrayRef<int64_t> slots) {
  if (schedule.stageCount < 1 || schedule.microBatchCount < 1 || schedule.sliceCount < 1)
    return refuse(schedule, "has " + Twine(schedule.stageCount) + " stages, " + Twine(schedule.microBatchCount) +
                                " micro-batches and " + Twine(schedule.sliceCount) +
                                " slices; at least 1 of each is needed");
  if (schedule.placement.empty() && schedule.deviceCount() != schedule.stageCount)
    return refuse(schedule, "lists the actions of " + Twine(schedule.deviceCount()) + " devices, not " +
                                Twine(schedule.stageCount));
  for (const std::vector<int64_t> &replica : schedule.placement) {
    if (int64_t(replica.size()) != schedule.stageCount)
      return refuse(schedule, "places " + Twine(replica.size()) + " stages, not " + Twine(schedule.stageCount));
    for (int64_t device : replica)
      if (device < 0 || device >= schedule.deviceCount())
        return refuse(schedule, "places a stage on device " + Twine(device) + " of " + Twine(schedule.deviceCount()));
  }
  if (!schedule.replicas.empty() && int64_t(schedule.replicas.size()) != schedule.microBatchCount)
    return refuse(schedule, "has replicas for " + Twine(schedule.replicas.size()) + " micro-batches, not " +
                                Twine(schedule.microBatchCount));
  for (int64_t replica : schedule.replicas)
    if (replica < 0 || replica >= schedule.replicaCount())
      return refuse(schedule, "uses replica " + Twine(replica) + " of " + Twine(schedule.replicaCount()));
  if (int64_t(slots.size()) != schedule.replicaCount() * schedule.stageCount)
    return refuse(schedule, "has slots for " + Twine(slots.size()) + " stages, not " +
                                Twine(schedule.replicaCount() * schedule.stageCount));
  return llvm::Error::success();
}

/// C1 and C2 of one device.
static llvm::Error verifyDevice(const PipelineSchedule &schedule, int64_t device, ActionSet &done) {
  for (const PipelineAction &action : schedule.devices[device]) {
    std::string at = place(schedule, device, action);
    if (action.microBatch < 0 || action.microBatch >= schedule.microBatchCount)
      return refuse(schedule,
                    at + toString(action) + " is not one of the " + Twine(schedule.microBatchCount) + " micro-batches");
    if (action.slice < 0 || action.slice >= schedule.sliceCount)
      return refuse(schedule, at + toString(action) + " is not one of the " + Twine(schedule.sliceCount) + " slices");
    if (action.stage < 0 || action.stage >= schedule.stageCount || schedule.deviceOf(action) != device)
      return refuse(schedule, at + toString(action) + " belongs to stage " + Twine(action.stage) +
                                  ", which is not on this device");
    if (!done.insert(action))
      return refuse(schedule, at + toString(action) + " runs twice");
    auto need = [&](PipelineAction before) -> llvm::Error {
      return done.contains(before) ? llvm::Error::success()
                                   : refuse(schedule, at + toString(action) + " runs before " + toString(before));
    };
    PipelineAction before = action;
    if (action.kind != Kind::Forward) {
      before.kind = action.kind == Kind::Backward ? Kind::Forward : Kind::Backward;
      if (llvm::Error error = need(before))
        return error;
    }
    before = action;
    before.slice += action.kind == Kind::Forward ? -1 : 1;
    if (action.kind != Kind::WeightGradient && before.slice >= 0 && before.slice < schedule.sliceCount)
      if (llvm::Error error = need(before))
        return error;
  }
  return llvm::Error::success();
}

/// The rest of C1.
static llvm::Error verifyComplete(const PipelineSchedule &schedule, const ActionSet &done) {
  for (int64_t stage = 0; stage < schedule.stageCount; ++stage)
    for (int64_t m = 0; m < schedule.microBatchCount; ++m)
      for (int64_t slice = 0; slice < schedule.sliceCount; ++slice)
        for (Kind kind : {Kind::Forward, Kind::Backward, Kind::WeightGradient})
          if (PipelineAction action{kind, stage, m, slice}; !done.contains(action))
            return refuse(schedule,
                          place(schedule, schedule.deviceOf(action), action) + toString(action) + " never runs");
  return llvm::Error::success();
}

/// C3. The last W of a micro-batch frees its slot.
static llvm::Error verifySlots(const PipelineSchedule &schedule, int64_t device, llvm::ArrayRef<int64_t> slots) {
  struct Holder {
    int64_t microBatch, actionsLeft;
  };
  std::map<int64_t, std::map<int64_t, Holder>> chunks; // chunk -> slot -> who holds it
  for (const PipelineAction &action : schedule.devices[device]) {
    int64_t chunk = schedule.chunkIndex(action);
    std::string at = place(schedule, device, action);
    if (slots[chunk] < 1)
      return refuse(schedule, at + "has " + Twine(slots[chunk]) + " slots; at least 1 is needed");
    std::map<int64_t, Holder> &holders = chunks[chunk];
    int64_t slot = action.microBatch % slots[chunk];
    auto held = holders.find(slot);
    if (held == holders.end() || held->second.microBatch != action.microBatch) {
      if (int64_t(holders.size()) == slots[chunk])
        return refuse(schedule, at + toString(action) + " would be micro-batch number " + Twine(slots[chunk] + 1) +
                                    " in flight; there are " + Twine(slots[chunk]) + " slots");
      if (held != holders.end())
        return refuse(schedule, at + toString(action) + " needs slot " + Twine(slot) + ", which micro-batch " +
                                    Twine(held->second.microBatch) + " still uses");
      held = holders.insert({slot, {action.microBatch, 3 * schedule.sliceCount}}).first;
    }
    if (--held->second.actionsLeft == 0)
      holders.erase(held);
  }
  return llvm::Error::success();
}

/// C4.
static llvm::Error verifyProgress(const PipelineSchedule &schedule, llvm::ArrayRef<int64_t> slots) {
  std::vector<StuckDevice> stuck = executeSchedule(schedule, slots);
  if (stuck.empty())
    return llvm::Error::success();
  const StuckDevice &first = stuck.front();
  return refuse(schedule, "deadlock: " + place(schedule, first.device, first.action) + "waits forever before " +
                              toString(first.action) +
                              (first.isSlot ? " for its message to be received by " : " for the message of ") +
                              toString(first.missing) + " of stage " + Twine(first.missing.stage));
}

llvm::Error verifySchedule(const PipelineSchedule &schedule, llvm::ArrayRef<int64_t> slots) {
  if (llvm::Error error = verifyForm(schedule, slots))
    return error;
  ActionSet done(schedule);
  for (int64_t device = 0; device < schedule.deviceCount(); ++device)
    if (llvm::Error error = verifyDevice(schedule, device, done))
      return error;
  if (llvm::Error error = verifyComplete(schedule, done))
    return error;
  for (int64_t device = 0; device < schedule.deviceCount(); ++device)
    if (llvm::Error error = verifySlots(schedule, device, slots))
      return error;
  return verifyProgress(schedule, slots);
}

} // namespace mlir::ppc
