// Order properties of schedules that bounds of steps rely on, against the schedules themselves.
#include "RandomSchedules.h"
#include "ppc/Scheduling/PipelineProgram.h"
#include "gtest/gtest.h"

#include <map>

using namespace mlir::ppc;

namespace {

using Kind = PipelineActionKind;

/// Index on its device, per kind of action, stage, micro-batch and slice.
std::map<std::tuple<Kind, int64_t, int64_t, int64_t>, size_t> placesOf(const PipelineSchedule &schedule) {
  std::map<std::tuple<Kind, int64_t, int64_t, int64_t>, size_t> places;
  for (const std::vector<PipelineAction> &list : schedule.devices)
    for (size_t i = 0; i < list.size(); ++i)
      places[{list[i].kind, list[i].stage, list[i].microBatch, list[i].slice}] = i;
  return places;
}

TEST(ScheduleLimits, ForwardsWaitAsTheOrderSays) {
  unsigned seed = testSeed();
  SCOPED_TRACE("PPC_TEST_SEED=" + std::to_string(seed));
  RandomSchedules random(seed);
  int64_t checked = 0;
  for (const PipelineScheduleKind &kind : pipelineScheduleKinds()) {
    if (!kind.orderLimits)
      continue;
    for (int i = 0; i < 60; ++i) {
      PipelineShape shape = random.shape(kind, 16, 50);
      PipelineSchedule schedule = kind.make(shape);
      auto places = placesOf(schedule);
      int64_t replicas = schedule.replicaCount(), each = shape.microBatches / replicas;
      for (const OrderLimit &limit : kind.orderLimits(shape))
        for (int64_t replica = 0; replica < replicas; ++replica) {
          ASSERT_EQ(schedule.deviceOf(replica, limit.from), schedule.deviceOf(replica, limit.to))
              << describe(kind, shape);
          ASSERT_GE(limit.ahead, 1);
          for (int64_t m = 0; m + limit.ahead < each; ++m, ++checked) {
            size_t before =
                places.at({limit.toBackward ? Kind::Backward : Kind::Forward, limit.to, replica * each + m, 0});
            size_t after = places.at({Kind::Forward, limit.from, replica * each + m + limit.ahead, 0});
            ASSERT_LT(before, after) << describe(kind, shape) << ", from " << limit.from << " to " << limit.to
                                     << " ahead " << limit.ahead;
          }
        }
    }
  }
  EXPECT_GE(checked, 10000);
}

TEST(ScheduleLimits, DevicesAlternate) {
  unsigned seed = testSeed();
  SCOPED_TRACE("PPC_TEST_SEED=" + std::to_string(seed));
  RandomSchedules random(seed);
  for (const PipelineScheduleKind &kind : pipelineScheduleKinds()) {
    if (!kind.alternates)
      continue;
    for (int i = 0; i < 60; ++i) {
      PipelineShape shape = random.shape(kind, 16, 50);
      PipelineSchedule schedule = kind.make(shape);
      for (int64_t device = 0; device < shape.devices; ++device) {
        int64_t forwards = 0, backwards = 0, inFlight = shape.devices - 1 - device + shape.slices;
        for (const PipelineAction &action : schedule.devices[device])
          if (action.kind == Kind::Forward) {
            ASSERT_EQ(action.microBatch * shape.slices + action.slice, forwards);
            // F number k follows B number k - inFlight.
            ASSERT_LE(forwards++ - inFlight, backwards - 1) << describe(kind, shape) << ", device " << device;
          } else if (action.kind == Kind::Backward) {
            ASSERT_EQ(action.microBatch, backwards / shape.slices);
            ASSERT_EQ(action.slice, shape.slices - 1 - backwards % shape.slices);
            ++backwards;
          }
      }
    }
  }
}

bool isBelow(const PipelineProgram::Moment &a, const PipelineProgram::Moment &b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i].forward > b[i].forward + 1e-9 || a[i].weight > b[i].weight + 1e-9)
      return false;
  return true;
}

/// Every moment of `some` is below one of `all`.
void expectBelow(const PipelineProgram &some, const PipelineProgram &all, const std::string &where) {
  ASSERT_EQ(some.chunks.size(), all.chunks.size());
  for (size_t device = 0; device < some.moments.size(); ++device)
    for (const PipelineProgram::Moment &moment : some.moments[device]) {
      bool below = false;
      for (const PipelineProgram::Moment &other : all.moments[device])
        below |= isBelow(moment, other);
      ASSERT_TRUE(below) << where << ", device " << device;
    }
}

TEST(ScheduleLimits, QuickBoundsOfLoadsAreLowerBounds) {
  unsigned seed = testSeed();
  SCOPED_TRACE("PPC_TEST_SEED=" + std::to_string(seed));
  RandomSchedules random(seed);
  std::map<std::string, int64_t> known;
  for (const PipelineScheduleKind &kind : pipelineScheduleKinds())
    for (int i = 0; i < 40; ++i) {
      PipelineShape shape = random.shape(kind, 12, 60);
      PipelinePrograms programs;
      const PipelineProgram *some = programs.getSomeLoads(kind, shape);
      if (!some)
        continue;
      ++known[kind.name.str()];
      expectBelow(*some, *llvm::cantFail(programs.getLoads(kind, shape)), describe(kind, shape));
    }
  for (const PipelineScheduleKind &kind : pipelineScheduleKinds())
    EXPECT_TRUE(known[kind.name.str()] > 0 || !(kind.makeDevice || kind.earliestFirst)) << kind.name.str();
}

TEST(ScheduleLimits, FewerMicroBatchesKeepNoMore) {
  unsigned seed = testSeed();
  SCOPED_TRACE("PPC_TEST_SEED=" + std::to_string(seed));
  RandomSchedules random(seed);
  for (const PipelineScheduleKind &kind : pipelineScheduleKinds()) {
    if (!kind.earliestFirst)
      continue;
    for (int i = 0; i < 100; ++i) {
      PipelineShape shape = random.shape(kind, 12, 60), fewer = shape;
      fewer.microBatches = kind.replicas * (1 + random.below(shape.microBatches / kind.replicas));
      PipelinePrograms programs;
      expectBelow(*llvm::cantFail(programs.getLoads(kind, fewer)), *llvm::cantFail(programs.getLoads(kind, shape)),
                  describe(kind, shape) + " against M " + std::to_string(fewer.microBatches));
    }
  }
}

} // namespace
