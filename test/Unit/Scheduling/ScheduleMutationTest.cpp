// Random shapes of every schedule: all verifySlots, none beats the lower bounds, and what breaks them is noticed.
#include "ppc/Scheduling/ScheduleSimulator.h"
#include "ppc/Scheduling/ScheduleVerifier.h"

#include "RandomSchedules.h"

#include <gtest/gtest.h>

#include <bitset>
#include <map>

using namespace mlir::ppc;
using Kind = PipelineActionKind;

static std::string verifySlots(const PipelineSchedule &schedule, const std::vector<int64_t> &slots) {
  return llvm::toString(verifySchedule(schedule, slots));
}

TEST(ScheduleMutation, EverySchedulesVerifies) {
  unsigned seed = testSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomSchedules random(seed);
  for (const PipelineScheduleKind &kind : pipelineScheduleKinds())
    for (int round = 0; round < 60; ++round) {
      PipelineShape shape = random.shape(kind, 9, 40);
      PipelineSchedule schedule = kind.make(shape);
      EXPECT_EQ(schedule.name, kind.name);
      ASSERT_EQ(verifySlots(schedule, slotsPerStage(schedule)), "") << describe(kind, shape);
    }
}

TEST(ScheduleMutation, NoScheduleBeatsTheLowerBounds) {
  unsigned seed = testSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomSchedules random(seed);
  for (const PipelineScheduleKind &kind : pipelineScheduleKinds())
    for (int round = 0; round < 30; ++round) {
      PipelineShape shape = random.shape(kind, 8, 30);
      SCOPED_TRACE(describe(kind, shape));
      PipelineSchedule schedule = kind.make(shape);
      std::vector<StageDurations> durations = random.durations(schedule.stageCount);
      PipelineMessages messages = random.messages();
      ScheduleTimeline timeline = llvm::cantFail(simulateSchedule(schedule, durations, messages));
      // One micro-batch through the model and back, messages between devices included: its slices follow each other.
      double share = 1.0 / shape.slices;
      for (int64_t replica = 0; replica < schedule.replicaCount(); ++replica) {
        if (schedule.replicas.size() == 1 && replica == 1)
          continue;
        double chain = 0;
        for (int64_t stage = 0; stage < schedule.stageCount; ++stage) {
          chain += (durations[stage].forward + durations[stage].pairedBackward()).value * share;
          if (stage && schedule.deviceOf(replica, stage) != schedule.deviceOf(replica, stage - 1))
            chain += (messages.forward + messages.backward).value * share;
        }
        EXPECT_GE(timeline.stepTime.value, chain * (1 - 1e-12));
      }
      for (int64_t device = 0; device < shape.devices; ++device) {
        double busy = 0, end = 0;
        for (const TimedAction &timed : timeline.devices[device]) {
          EXPECT_GE(timed.start.value, end) << toString(timed.action);
          end = timed.end.value;
          busy += (timed.end - timed.start).value;
        }
        EXPECT_NEAR(timeline.busy[device].value, busy, 1e-9 * (1 + busy));
        EXPECT_GE(timeline.stepTime.value, busy * (1 - 1e-12));
      }
      for (const TimedMessage &message : timeline.messages)
        EXPECT_NE(message.from, message.to);
    }
}

/// Swap two actions that depend on each other, drop one, double one, put one on another device.
TEST(ScheduleMutation, BreakingMutationsAreRefused) {
  unsigned seed = testSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomSchedules random(seed);
  for (const PipelineScheduleKind &kind : pipelineScheduleKinds())
    for (int round = 0; round < 60; ++round) {
      PipelineShape shape = random.shape(kind, 6, 12);
      PipelineSchedule schedule = kind.make(shape);
      std::vector<int64_t> slots = slotsPerStage(schedule);
      int64_t device = random.below(shape.devices);
      std::vector<PipelineAction> &list = schedule.devices[device];
      if (list.empty())
        continue;
      int64_t at = random.below(list.size());
      PipelineAction action = list[at];
      int mutation = random.below(4);
      if (mutation == 0) {
        list.erase(list.begin() + at);
      } else if (mutation == 1) {
        list.insert(list.begin() + random.below(list.size() + 1), action);
      } else if (mutation == 2) { // with the action of its own micro-batch before or after
        PipelineAction other = action;
        other.kind = action.kind == Kind::Backward ? Kind::WeightGradient : Kind::Backward;
        std::swap(list[at], *std::find(list.begin(), list.end(), other));
      } else {
        if (shape.devices == 1)
          continue;
        list.erase(list.begin() + at);
        std::vector<PipelineAction> &wrong = schedule.devices[(device + 1) % shape.devices];
        wrong.insert(wrong.begin() + random.below(wrong.size() + 1), action);
      }
      EXPECT_NE(verifySlots(schedule, slots), "") << describe(kind, shape) << ", mutation " << mutation << " of "
                                                  << toString(action) << " on device " << device;
    }
}

namespace {
/// Whether every order of events that the schedule allows ends, by transitive closure instead of execution: two nodes
/// per action, entered (2i, when its message is received) and finished (2i + 1), "before" edges, no cycle. Local rules
/// are checked on the lists.
class Closure {
public:
  static constexpr size_t maxNodes = 768;

  Closure(const PipelineSchedule &schedule, const std::vector<int64_t> &slots) : schedule(schedule), slots(slots) {}

  bool isSound() {
    for (const auto &device : schedule.devices)
      for (const PipelineAction &action : device)
        if (!index.try_emplace(key(action), index.size()).second)
          return false;
    int64_t slices = schedule.sliceCount;
    if (int64_t(index.size()) != 3 * schedule.stageCount * schedule.microBatchCount * slices)
      return false;
    before.resize(2 * index.size());
    for (int64_t device = 0; device < schedule.deviceCount(); ++device)
      for (size_t i = 0; i < schedule.devices[device].size(); ++i)
        addEdges(device, i);
    for (size_t k = 0; k < before.size(); ++k)
      for (size_t i = 0; i < before.size(); ++i)
        if (before[i][k])
          before[i] |= before[k];
    for (size_t i = 0; i < before.size(); ++i)
      if (before[i][i])
        return false;
    return isComplete;
  }

private:
  static std::tuple<int, int64_t, int64_t, int64_t> key(const PipelineAction &action) {
    return {int(action.kind), action.stage, action.microBatch, action.slice};
  }
  size_t entered(const PipelineAction &action) {
    auto found = index.find(key(action));
    isComplete &= found != index.end();
    return found == index.end() ? 0 : 2 * found->second;
  }
  size_t finished(const PipelineAction &action) { return entered(action) + 1; }
  void edge(size_t from, size_t to) { before[from][to] = true; }

  void addEdges(int64_t device, size_t i) {
    const std::vector<PipelineAction> &list = schedule.devices[device];
    const PipelineAction &action = list[i];
    isComplete &= schedule.deviceOf(action) == device;
    auto with = [&](Kind kind, int64_t stage, int64_t slice) {
      PipelineAction other = action;
      other.kind = kind, other.stage = stage, other.slice = slice;
      return other;
    };
    edge(entered(action), finished(action));
    if (i > 0)
      edge(finished(list[i - 1]), entered(action));
    if (action.kind != Kind::Forward)
      edge(finished(with(action.kind == Kind::Backward ? Kind::Forward : Kind::Backward, action.stage, action.slice)),
           entered(action));
    int64_t last = schedule.stageCount - 1, lastSlice = schedule.sliceCount - 1;
    if (action.kind == Kind::Forward && action.stage > 0)
      edge(finished(with(action.kind, action.stage - 1, action.slice)), entered(action));
    if (action.kind == Kind::Backward && action.stage < last)
      edge(finished(with(action.kind, action.stage + 1, action.slice)), entered(action));
    if (action.kind == Kind::Forward && action.slice > 0)
      edge(finished(with(action.kind, action.stage, action.slice - 1)), entered(action));
    if (action.kind == Kind::Backward && action.slice < lastSlice)
      edge(finished(with(action.kind, action.stage, action.slice + 1)), entered(action));
    if (action.kind != Kind::Forward || action.slice > 0)
      return;
    int64_t replica = schedule.replicaOf(action.microBatch);
    int64_t slotCount = slots[replica * schedule.stageCount + action.stage];
    for (size_t j = 0; j < i; ++j) { // earlier users of the slot: their work is over, their messages are received
      if (list[j].kind != Kind::Forward || list[j].stage != action.stage || list[j].slice > 0 ||
          schedule.replicaOf(list[j].microBatch) != replica || (list[j].microBatch - action.microBatch) % slotCount)
        continue;
      for (int64_t slice = 0; slice <= lastSlice; ++slice) {
        PipelineAction other = list[j];
        other.slice = slice, other.kind = Kind::WeightGradient;
        edge(finished(other), entered(action));
        other.kind = Kind::Forward, other.stage = action.stage + 1;
        if (action.stage < last)
          edge(entered(other), entered(action));
        other.kind = Kind::Backward, other.stage = action.stage - 1;
        if (action.stage > 0)
          edge(entered(other), entered(action));
      }
    }
  }

  const PipelineSchedule &schedule;
  const std::vector<int64_t> &slots;
  std::map<std::tuple<int, int64_t, int64_t, int64_t>, size_t> index;
  std::vector<std::bitset<maxNodes>> before;
  bool isComplete = true;
};
} // namespace

TEST(ScheduleMutation, TheVerifierAgreesWithTheClosure) {
  unsigned seed = testSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomSchedules random(seed);
  int sound = 0, unsound = 0;
  for (int round = 0; round < 600; ++round) {
    const PipelineScheduleKind &kind = pipelineScheduleKinds()[round % pipelineScheduleKinds().size()];
    PipelineShape shape = random.shape(kind, 4, 5);
    if (shape.devices * shape.chunks * shape.microBatches * shape.slices * 6 > int64_t(Closure::maxNodes))
      continue;
    PipelineSchedule schedule = kind.make(shape);
    std::vector<int64_t> slots = slotsPerStage(schedule);
    if (random.below(2)) // too few slots, or slots to spare
      slots[random.below(slots.size())] = 1 + random.below(schedule.microBatchCount + 1);
    for (int64_t mutations = random.below(3); mutations > 0; --mutations) {
      std::vector<PipelineAction> &list = schedule.devices[random.below(shape.devices)];
      if (list.empty())
        break;
      int64_t at = random.below(list.size()), other = random.below(list.size());
      switch (random.below(6)) {
      case 0:
        list.erase(list.begin() + at);
        break;
      case 1:
        list.insert(list.begin() + other, list[at]);
        break;
      case 2:
        list[at].microBatch = random.below(schedule.microBatchCount);
        break;
      case 3:
        std::swap(list[at], list[other]);
        break;
      default: // neighbours: the mutation most likely to be harmless
        std::swap(list[at], list[(at + 1) % list.size()]);
      }
    }
    bool expected = Closure(schedule, slots).isSound();
    (expected ? sound : unsound)++;
    std::string message = verifySlots(schedule, slots);
    ASSERT_EQ(message.empty(), expected) << "round " << round << ", " << describe(kind, shape) << ": " << message;
  }
  EXPECT_GT(sound, 50);
  EXPECT_GT(unsound, 50);
}
