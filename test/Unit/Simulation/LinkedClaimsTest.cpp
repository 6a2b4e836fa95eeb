// Sharing one set of linked tasks at a time gives what sharing all tasks at once gives, and touches each task of the
// set once.
#include "lib/Simulation/LinkedClaims.h"

#include "../Scheduling/RandomSchedules.h"
#include "ppc/Simulation/TaskGraph.h"
#include "gtest/gtest.h"

#include <numeric>

using namespace mlir::ppc;

TEST(LinkedClaims, SetsAreSharedAsAllTasksAtOnce) {
  unsigned seed = testSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomSchedules random(seed);
  int64_t limited = 0, apart = 0;
  for (int round = 0; round < 500; ++round) {
    int64_t resourceCount = 1 + random.below(8), taskCount = 1 + random.below(12);
    std::vector<double> capacities, caps;
    for (int64_t i = 0; i < resourceCount; ++i)
      capacities.push_back(0.2 + random.unit());
    std::vector<std::vector<ResourceUse>> uses(taskCount);
    std::vector<std::vector<int32_t>> users(resourceCount);
    std::vector<int64_t> root(taskCount); // root of each set of linked tasks
    std::iota(root.begin(), root.end(), 0);
    for (int64_t task = 0; task < taskCount; ++task) {
      caps.push_back(0.5 + 0.5 * random.unit());
      for (int64_t resource = 0; resource < resourceCount; ++resource)
        if (random.below(4) == 0) {
          uses[task].push_back({int32_t(resource), 0.1 + random.unit()});
          for (int32_t other : users[resource])
            std::replace(root.begin(), root.end(), int64_t(root[other]), int64_t(root[task]));
          users[resource].push_back(int32_t(task));
        }
    }
    std::vector<RateClaim> all(taskCount);
    for (int64_t task = 0; task < taskCount; ++task) {
      all[task].cap = caps[task];
      for (const ResourceUse &use : uses[task])
        all[task].uses.push_back({use.resource, use.amount});
    }
    shareFairly(all, capacities);

    LinkedClaims linked(capacities, size_t(taskCount));
    std::vector<double> rate(taskCount, -1);
    int64_t sets = 0;
    for (int32_t first = 0; first < resourceCount; ++first) {
      if (linked.isShared(first) || users[first].empty())
        continue;
      ++sets;
      linked.share(
          first,
          [&](int32_t resource, auto each) {
            for (int32_t task : users[resource])
              each(task);
          },
          [&](int32_t task) { return caps[task]; },
          [&](int32_t task) -> const std::vector<ResourceUse> & { return uses[task]; },
          [&](int32_t task, double found) {
            EXPECT_EQ(rate[task], -1) << "a task of two sets, round " << round;
            EXPECT_EQ(root[task], root[users[first].front()]) << "a task that is not linked, round " << round;
            rate[task] = found;
          });
      EXPECT_TRUE(linked.isShared(first));
    }
    apart += sets > 1;
    for (int64_t task = 0; task < taskCount; ++task) {
      if (uses[task].empty()) {
        EXPECT_EQ(rate[task], -1);
        continue;
      }
      EXPECT_NEAR(rate[task], all[task].rate, 1e-9) << "round " << round << ", task " << task;
      limited += rate[task] < caps[task] - 1e-9;
    }
    linked.forget();
    for (int32_t resource = 0; resource < resourceCount; ++resource)
      EXPECT_FALSE(linked.isShared(resource));
  }
  EXPECT_GT(limited, 200);
  EXPECT_GT(apart, 50);
}
