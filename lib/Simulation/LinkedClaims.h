// Which running tasks compete with each other, and the rates that they get.
#ifndef PPC_LIB_SIMULATION_LINKEDCLAIMS_H
#define PPC_LIB_SIMULATION_LINKEDCLAIMS_H

#include "FairRates.h"

#include <vector>

namespace mlir::ppc {

/// Shares resources among tasks, one set of linked tasks at a time: tasks that use a resource, tasks that use other
/// resources of these, and so on. Tasks and resources are numbers from 0 on.
class LinkedClaims {
public:
  /// `capacities`, one for each resource, must outlive this.
  LinkedClaims(llvm::ArrayRef<double> capacities, size_t taskCount)
      : capacities(capacities), visited(capacities.size(), false), claimOf(taskCount, -1),
        indexOf(capacities.size(), 0) {}

  /// Whether a set with this resource was shared since `forget`.
  bool isShared(int32_t resource) const { return visited[resource]; }
  void forget() {
    for (int32_t resource : resources)
      visited[resource] = false;
    resources.clear();
  }

  /// The set of `first`, which must not be shared. `forEachTask(resource, f)` calls f with each running task that uses
  /// it; `capOf(task)` is the most that it can run at, `usesOf(task)` a range of ResourceUse; `setRate(task, rate)`
  /// gets the results.
  template <typename ForEachTask, typename CapOf, typename UsesOf, typename SetRate>
  void share(int32_t first, ForEachTask forEachTask, CapOf capOf, UsesOf usesOf, SetRate setRate);

private:
  void visit(int32_t resource) {
    if (visited[resource])
      return;
    visited[resource] = true;
    indexOf[resource] = int32_t(inSet.size());
    resources.push_back(resource);
    inSet.push_back(capacities[resource]);
  }
  /// Whether all claims can run at their caps.
  bool suffices();

  llvm::ArrayRef<double> capacities;
  std::vector<bool> visited;
  std::vector<int32_t> resources; // visited
  std::vector<int32_t> claimOf;   // claim of a task, while its set is shared; -1: none
  std::vector<int32_t> indexOf;   // index of a visited resource in its set
  std::vector<int32_t> tasks;     // tasks of the set, as `claims`
  std::vector<RateClaim> claims;
  std::vector<double> inSet, asked; // capacities and demands of the set's resources
};

template <typename ForEachTask, typename CapOf, typename UsesOf, typename SetRate>
void LinkedClaims::share(int32_t first, ForEachTask forEachTask, CapOf capOf, UsesOf usesOf, SetRate setRate) {
  tasks.clear();
  claims.clear();
  inSet.clear();
  size_t begin = resources.size();
  visit(first);
  for (size_t i = begin; i < resources.size(); ++i)
    forEachTask(resources[i], [&](int32_t task) {
      if (claimOf[task] >= 0)
        return;
      claimOf[task] = int32_t(claims.size());
      tasks.push_back(task);
      RateClaim &claim = claims.emplace_back();
      claim.cap = capOf(task);
      for (const auto &use : usesOf(task)) {
        visit(use.resource);
        claim.uses.push_back({indexOf[use.resource], use.amount});
      }
    });
  if (suffices())
    for (RateClaim &claim : claims)
      claim.rate = claim.cap;
  else
    shareFairly(claims, inSet);
  for (size_t i = 0; i < tasks.size(); ++i) {
    setRate(tasks[i], claims[i].rate);
    claimOf[tasks[i]] = -1;
  }
}

} // namespace mlir::ppc

#endif // PPC_LIB_SIMULATION_LINKEDCLAIMS_H
