// Tasks that wait for each other and share resources: the simulator's view of a program. Plain data.
//
// A task has *work*, the seconds that it takes alone, and runs at a rate of at most 1. Compute on a device loses
// `communicationShare` of its rate while any communication runs there, communication `communicationSlowdown` of its
// rate while any compute does. Resources (links) have a capacity; a task at rate r takes r x amount of each resource
// that it uses, and tasks that ask for more than the capacity share it max-min fairly.
#ifndef PPC_SIMULATION_TASKGRAPH_H
#define PPC_SIMULATION_TASKGRAPH_H

#include "ppc/Support/Units.h"
#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace mlir::ppc {

/// Resource of a device that a task occupies.
enum class TaskKind : uint8_t {
  Compute,       // multiprocessors
  Communication, // some of the multiprocessors: kernels of collectives and messages
  Copy           // copy engines, or nothing: neither slows compute nor is slowed by it
};

struct ResourceUse {
  int32_t resource = 0;
  double amount = 0; // share of the capacity at rate 1
};

struct TaskGraph {
  struct Task {
    Seconds work;
    int32_t device = 0; // device whose compute it overlaps with
    int32_t firstUse = 0, useCount = 0;
    TaskKind kind = TaskKind::Compute;
  };

  double communicationShare = 0, communicationSlowdown = 0;
  std::vector<double> capacities; // by resource
  std::vector<Task> tasks;
  std::vector<ResourceUse> uses;
  std::vector<std::pair<int32_t, int32_t>> dependences; // before, after

  int32_t addResource(double capacity) {
    capacities.push_back(capacity);
    return int32_t(capacities.size()) - 1;
  }
  int32_t addTask(TaskKind kind, int32_t device, Seconds work, llvm::ArrayRef<ResourceUse> used = {}) {
    tasks.push_back({work, device, int32_t(uses.size()), int32_t(used.size()), kind});
    uses.insert(uses.end(), used.begin(), used.end());
    return int32_t(tasks.size()) - 1;
  }
  /// `before` < 0: nothing to wait for.
  void addDependence(int32_t before, int32_t after) {
    if (before >= 0)
      dependences.emplace_back(before, after);
  }
  llvm::ArrayRef<ResourceUse> usesOf(const Task &task) const {
    return llvm::ArrayRef(uses).slice(task.firstUse, task.useCount);
  }
};

} // namespace mlir::ppc

#endif // PPC_SIMULATION_TASKGRAPH_H
