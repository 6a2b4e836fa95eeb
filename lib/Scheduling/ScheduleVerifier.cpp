// Proves a pipeline schedule sound: local rules by one walk per device, freedom from deadlock by running it.
#include "ppc/Scheduling/ScheduleVerifier.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <map>
#include <optional>

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

namespace {
/// Which actions have run, one bit each.
class ActionSet {
public:
  explicit ActionSet(const PipelineSchedule &schedule)
      : schedule(schedule), bits(3 * schedule.stageCount * schedule.microBatchCount * schedule.sliceCount, false) {}

  bool insert(const PipelineAction &action) {
    bool isNew = !bits[index(action)];
    bits[index(action)] = true;
    return isNew;
  }
  bool contains(const PipelineAction &action) const { return bits[index(action)]; }

private:
  size_t index(const PipelineAction &action) const {
    return ((int64_t(action.kind) * schedule.stageCount + action.stage) * schedule.microBatchCount +
            action.microBatch) *
               schedule.sliceCount +
           action.slice;
  }
  const PipelineSchedule &schedule;
  std::vector<bool> bits;
};
} // namespace

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
    int64_t chunk = schedule.replicaOf(action.microBatch) * schedule.stageCount + action.stage;
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

namespace {
/// Runs the devices, each as far as it gets, until all are done or none can go on. An action has two moments: it is
/// entered when everything it waits for is there (its message is then received), and it is done at once after that.
class Execution {
public:
  Execution(const PipelineSchedule &schedule, llvm::ArrayRef<int64_t> slots)
      : schedule(schedule), slots(slots), position(schedule.deviceCount(), 0), done(schedule),
        forwards(schedule.replicaCount() * schedule.stageCount) {}

  llvm::Error run() {
    for (bool progress = true; progress;) {
      progress = false;
      for (int64_t device = 0; device < schedule.deviceCount(); ++device)
        while (position[device] < schedule.devices[device].size()) {
          const PipelineAction &action = schedule.devices[device][position[device]];
          if (missing(action))
            break;
          done.insert(action);
          if (action.kind == Kind::Forward && action.slice == 0)
            forwards[chunkOf(action)].push_back(action.microBatch);
          ++position[device];
          progress = true;
        }
    }
    for (int64_t device = 0; device < schedule.deviceCount(); ++device)
      if (position[device] < schedule.devices[device].size()) {
        const PipelineAction &action = schedule.devices[device][position[device]];
        const char *what = action.kind == missing(action)->kind && isInput(*missing(action), action)
                               ? " for the message of "
                               : " for its message to be received by ";
        PipelineAction first = *missing(action);
        return refuse(schedule, "deadlock: " + place(schedule, device, action) + "waits for ever before " +
                                    toString(action) + what + toString(first) + " of stage " + Twine(first.stage));
      }
    return llvm::Error::success();
  }

private:
  int64_t chunkOf(const PipelineAction &action) const {
    return schedule.replicaOf(action.microBatch) * schedule.stageCount + action.stage;
  }
  static bool isInput(const PipelineAction &other, const PipelineAction &action) {
    return other.microBatch == action.microBatch &&
           other.stage == action.stage + (action.kind == Kind::Forward ? -1 : 1);
  }

  /// The first thing that the action waits for.
  std::optional<PipelineAction> missing(const PipelineAction &action) const {
    auto need = [&](Kind kind, int64_t stage, int64_t m, int64_t slice) -> std::optional<PipelineAction> {
      PipelineAction other{kind, stage, m, slice};
      if (stage < 0 || stage >= schedule.stageCount || done.contains(other))
        return std::nullopt;
      return other;
    };
    if (action.kind == Kind::WeightGradient)
      return std::nullopt;
    int64_t sender = action.kind == Kind::Forward ? action.stage - 1 : action.stage + 1;
    if (auto input = need(action.kind, sender, action.microBatch, action.slice))
      return input;
    if (action.kind == Kind::Backward || action.slice > 0)
      return std::nullopt;
    // Every earlier user of the slot must have got rid of its messages, to the next stage and to the previous one.
    for (int64_t earlier : forwards[chunkOf(action)]) {
      if ((earlier - action.microBatch) % slots[chunkOf(action)] != 0)
        continue;
      for (int64_t slice = 0; slice < schedule.sliceCount; ++slice) {
        if (auto receiver = need(Kind::Forward, action.stage + 1, earlier, slice))
          return receiver;
        if (auto receiver = need(Kind::Backward, action.stage - 1, earlier, slice))
          return receiver;
      }
    }
    return std::nullopt;
  }

  const PipelineSchedule &schedule;
  llvm::ArrayRef<int64_t> slots;
  std::vector<size_t> position; // next action per device
  ActionSet done;
  std::vector<std::vector<int64_t>> forwards; // per chunk: micro-batches begun so far
};
} // namespace

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
  return Execution(schedule, slots).run();
}

} // namespace mlir::ppc
