// Laws that hold for any graph: work done is work asked for, nothing runs faster than it may, no link carries more than
// it can, nothing waits for nothing; and the cases whose times are known.
#include "ppc/Simulation/EventSimulator.h"

#include "../../../lib/CostModel/LayerBuilder.h"
#include "../Scheduling/RandomSchedules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

using namespace mlir::ppc;

namespace {
TaskGraph randomGraph(RandomSchedules &random) {
  TaskGraph graph;
  graph.communicationShare = random.below(3) ? 0.3 * random.unit() : 0;
  graph.communicationSlowdown = random.below(3) ? 0.2 * random.unit() : 0;
  int64_t devices = 1 + random.below(4), resources = random.below(6);
  for (int64_t i = 0; i < resources; ++i)
    graph.addResource(0.5 + random.unit());
  int64_t count = 1 + random.below(80);
  for (int64_t i = 0; i < count; ++i) {
    llvm::SmallVector<ResourceUse, 4> uses;
    TaskKind kind = TaskKind(random.below(3));
    if (kind != TaskKind::Compute)
      for (int64_t resource = 0; resource < resources; ++resource)
        if (random.below(3) == 0)
          uses.push_back({int32_t(resource), random.below(4) ? random.unit() : 1});
    graph.addTask(kind, int32_t(random.below(devices)), Seconds(random.below(10) ? 0.01 + random.unit() : 0), uses);
    for (int64_t j = random.below(4); j-- > 0 && i > 0;)
      graph.addDependence(int32_t(random.below(i)), int32_t(i));
  }
  return graph;
}

double used(const TaskGraph &graph, int32_t task, int32_t resource) {
  double amount = 0;
  for (const ResourceUse &use : graph.usesOf(graph.tasks[task]))
    amount += use.resource == resource ? use.amount : 0;
  return amount;
}
} // namespace

TEST(EventSimulator, ConservesWorkAndCapacity) {
  unsigned seed = testSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomSchedules random(seed);
  int64_t contended = 0;
  for (int round = 0; round < 400; ++round) {
    TaskGraph graph = randomGraph(random);
    SimulatedTimes times = llvm::cantFail(simulateTasks(graph, /*recordSegments=*/true));
    std::vector<double> done(graph.tasks.size(), 0);
    std::set<double> moments;
    for (const RateSegment &segment : times.segments) {
      done[segment.task] += (segment.to - segment.from).value * segment.rate;
      EXPECT_LE(segment.rate, 1 + 1e-12);
      EXPECT_GE(segment.from.value, times.start[segment.task].value);
      EXPECT_LE(segment.to.value, times.end[segment.task].value);
      moments.insert(segment.from.value);
    }
    double ready = 0;
    for (size_t task = 0; task < graph.tasks.size(); ++task) {
      EXPECT_NEAR(done[task], graph.tasks[task].work.value, 1e-9);
      EXPECT_GE((times.end[task] - times.start[task]).value, graph.tasks[task].work.value - 1e-9);
      // A task starts as soon as its dependences have completed.
      ready = 0;
      for (auto [before, after] : graph.dependences)
        if (size_t(after) == task)
          ready = std::max(ready, times.end[before].value);
      EXPECT_EQ(times.start[task].value, ready);
    }
    // Between events.
    for (double moment : moments) {
      std::vector<const RateSegment *> here;
      for (const RateSegment &segment : times.segments)
        if (segment.from.value <= moment && moment < segment.to.value)
          here.push_back(&segment);
      std::vector<double> taken(graph.capacities.size(), 0);
      for (const RateSegment *segment : here)
        for (size_t resource = 0; resource < taken.size(); ++resource)
          taken[resource] += segment->rate * used(graph, segment->task, int32_t(resource));
      for (size_t resource = 0; resource < taken.size(); ++resource)
        EXPECT_LE(taken[resource], graph.capacities[resource] + 1e-9);
      for (const RateSegment *segment : here) {
        const TaskGraph::Task &task = graph.tasks[segment->task];
        bool compute = false, communication = false, full = false;
        for (const RateSegment *other : here)
          if (graph.tasks[other->task].device == task.device) {
            compute |= graph.tasks[other->task].kind == TaskKind::Compute;
            communication |= graph.tasks[other->task].kind == TaskKind::Communication;
          }
        double cap = 1;
        if (task.kind == TaskKind::Compute && communication)
          cap -= graph.communicationShare;
        if (task.kind == TaskKind::Communication && compute)
          cap -= graph.communicationSlowdown;
        EXPECT_LE(segment->rate, cap + 1e-12);
        // A task that runs below its cap has a saturated link.
        for (size_t resource = 0; resource < taken.size(); ++resource)
          full |=
              used(graph, segment->task, int32_t(resource)) > 0 && taken[resource] > graph.capacities[resource] - 1e-9;
        EXPECT_TRUE(full || segment->rate > cap - 1e-9);
        contended += segment->rate < cap - 1e-9;
      }
    }
  }
  EXPECT_GT(contended, 100);
}

TEST(EventSimulator, IsDeterministic) {
  unsigned seed = testSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomSchedules random(seed);
  for (int round = 0; round < 50; ++round) {
    TaskGraph graph = randomGraph(random);
    SimulatedTimes first = llvm::cantFail(simulateTasks(graph)), second = llvm::cantFail(simulateTasks(graph));
    for (size_t task = 0; task < graph.tasks.size(); ++task) {
      EXPECT_EQ(first.start[task].value, second.start[task].value);
      EXPECT_EQ(first.end[task].value, second.end[task].value);
    }
  }
}

TEST(EventSimulator, RunsComputeAndCommunicationTogetherAsTheFormula) {
  unsigned seed = testSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomSchedules random(seed);
  Device device = llvm::cantFail(findDevice("H100-SXM-80GB"));
  for (int round = 0; round < 100; ++round) {
    device.communicationShare = 0.5 * random.unit();
    device.communicationSlowdown = 0.5 * random.unit();
    TaskGraph graph;
    graph.communicationShare = device.communicationShare;
    graph.communicationSlowdown = device.communicationSlowdown;
    Seconds compute(random.unit()), communication(random.unit());
    graph.addTask(TaskKind::Compute, 0, compute);
    graph.addTask(TaskKind::Communication, 0, communication);
    SimulatedTimes times = llvm::cantFail(simulateTasks(graph));
    EXPECT_NEAR(times.last.value, runTogether(device, compute, communication).value, 1e-12);
  }
}

TEST(EventSimulator, SharesLinksFairly) {
  // Three flows over one link: one wants a tenth, the others all of it. The tenth is left alone, the rest halved.
  TaskGraph graph;
  int32_t link = graph.addResource(1);
  graph.addTask(TaskKind::Copy, 0, Seconds(1), {{link, 0.1}});
  graph.addTask(TaskKind::Copy, 0, Seconds(0.45), {{link, 1}});
  graph.addTask(TaskKind::Copy, 0, Seconds(0.9), {{link, 1}});
  SimulatedTimes times = llvm::cantFail(simulateTasks(graph));
  EXPECT_NEAR(times.end[0].value, 1, 1e-12);
  EXPECT_NEAR(times.end[1].value, 1, 1e-12);
  EXPECT_NEAR(times.end[2].value, 1 + 0.45, 1e-12); // alone from then on
}

TEST(EventSimulator, RefusesNonsense) {
  auto message = [](TaskGraph graph) { return llvm::toString(simulateTasks(graph).takeError()); };
  TaskGraph circle;
  circle.addTask(TaskKind::Compute, 0, Seconds(1));
  circle.addTask(TaskKind::Compute, 0, Seconds(1));
  circle.addDependence(0, 1);
  circle.addDependence(1, 0);
  EXPECT_EQ(message(circle), "task 0 of the simulation waits for itself");
  TaskGraph endless;
  endless.addTask(TaskKind::Compute, 0, Seconds(std::nan("")));
  EXPECT_EQ(message(endless), "task 0 of the simulation has no finite work or no device");
  TaskGraph nowhere;
  nowhere.addTask(TaskKind::Copy, 0, Seconds(1), {{3, 1}});
  EXPECT_EQ(message(nowhere), "a task of the simulation uses resource 3, which does not exist");
}
