// Streams of devices, each with one task after the other: their end times match the event simulator's for the same
// tasks as a graph.
#include "lib/Simulation/StreamRates.h"

#include "../Scheduling/RandomSchedules.h"
#include "ppc/Simulation/EventSimulator.h"
#include "gtest/gtest.h"

using namespace mlir::ppc;

TEST(StreamRates, EndTasksWhenTheEventSimulatorDoes) {
  unsigned seed = testSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomSchedules random(seed);
  int64_t slowed = 0;
  for (int round = 0; round < 300; ++round) {
    TaskGraph graph;
    graph.communicationShare = random.below(3) ? 0.3 * random.unit() : 0;
    graph.communicationSlowdown = random.below(3) ? 0.2 * random.unit() : 0;
    int64_t devices = 1 + random.below(5), resources = random.below(5);
    for (int64_t i = 0; i < resources; ++i)
      graph.addResource(0.3 + random.unit());
    std::vector<std::vector<int32_t>> queues(devices * slotsPerDevice);
    for (size_t slot = 0; slot < queues.size(); ++slot)
      for (int64_t count = random.below(8); count-- > 0;) {
        TaskKind kind = slot % slotsPerDevice == MainSlot ? TaskKind::Compute : TaskKind(1 + random.below(2));
        llvm::SmallVector<ResourceUse, 4> uses;
        for (int64_t resource = 0; kind != TaskKind::Compute && resource < resources; ++resource)
          if (random.below(2))
            uses.push_back({int32_t(resource), 0.1 + random.unit()});
        int32_t task = graph.addTask(kind, int32_t(slot / slotsPerDevice), Seconds(0.01 + random.unit()), uses);
        graph.addDependence(queues[slot].empty() ? -1 : queues[slot].back(), task);
        queues[slot].push_back(task);
      }
    SimulatedTimes expected = llvm::cantFail(simulateTasks(graph));

    StreamRates rates(graph, size_t(devices));
    std::vector<size_t> next(queues.size(), 0);
    auto startNext = [&](double now, size_t slot) {
      if (next[slot] == queues[slot].size())
        return;
      const TaskGraph::Task &task = graph.tasks[queues[slot][next[slot]++]];
      rates.start(now, task.device, StreamSlot(slot % slotsPerDevice), task.work.value, task.kind, graph.usesOf(task));
    };
    for (size_t slot = 0; slot < queues.size(); ++slot)
      startNext(0, slot);
    size_t ended = 0;
    for (double now = 0;;) {
      rates.refresh(now);
      rates.forgetChanges();
      now = StreamRates::never;
      for (int64_t device = 0; device < devices; ++device)
        now = std::min(now, rates.nextEnd(int32_t(device)));
      if (now == StreamRates::never)
        break;
      for (size_t slot = 0; slot < queues.size(); ++slot) {
        auto device = int32_t(slot / slotsPerDevice);
        auto number = StreamSlot(slot % slotsPerDevice);
        if (!rates.runs(device, number) || rates.endOf(device, number) > now)
          continue;
        int32_t task = queues[slot][next[slot] - 1];
        ASSERT_NEAR(now, expected.end[task].value, 1e-9) << "round " << round << ", task " << task;
        slowed += (expected.end[task] - expected.start[task]).value > graph.tasks[task].work.value * (1 + 1e-6);
        ++ended;
        rates.finish(now, device, number);
        startNext(now, slot);
      }
    }
    EXPECT_EQ(ended, graph.tasks.size()) << "round " << round;
  }
  EXPECT_GT(slowed, 500);
}
