// Rates of running tasks on the streams of devices, at most one on each: equal to EventSimulator's, found without a
// graph.
#ifndef PPC_LIB_SIMULATION_STREAMRATES_H
#define PPC_LIB_SIMULATION_STREAMRATES_H

#include "LinkedClaims.h"
#include "ppc/Simulation/TaskGraph.h"
#include "llvm/ADT/SmallVector.h"

#include <array>
#include <limits>

namespace mlir::ppc {

/// Streams of a device that can run side by side.
enum StreamSlot : int32_t { MainSlot, StateSlot, ForwardMessageSlot, BackwardMessageSlot, slotsPerDevice };

class StreamRates {
public:
  static constexpr double never = std::numeric_limits<double>::infinity();

  /// Rates for the shared resources of a graph.
  StreamRates(const TaskGraph &graph, size_t devices);

  bool runs(int32_t device, StreamSlot slot) const { return slots[device * slotsPerDevice + slot].runs; }
  /// When the task on the slot ends if nothing changes; never: none runs.
  double endOf(int32_t device, StreamSlot slot) const { return slots[device * slotsPerDevice + slot].end; }
  double nextEnd(int32_t device) const {
    const Slot *own = &slots[device * slotsPerDevice];
    return std::min(std::min(own[0].end, own[1].end), std::min(own[2].end, own[3].end));
  }

  /// `work` > 0. The task has no rate until `refresh`.
  void start(double now, int32_t device, StreamSlot slot, double work, TaskKind kind, llvm::ArrayRef<ResourceUse> uses);
  void finish(double now, int32_t device, StreamSlot slot);

  /// Rates after all that starts and ends now. Devices on which an end may have changed are in `changed` until they are
  /// forgotten.
  void refresh(double now);
  llvm::SmallVector<int32_t, 64> changed;
  void forgetChanges() {
    for (int32_t device : changed)
      touched[device] = false;
    changed.clear();
  }

private:
  struct Slot {
    double remaining = 0, rate = 0, since = 0, cap = 0, end = never;
    llvm::ArrayRef<ResourceUse> uses;
    TaskKind kind = TaskKind::Compute;
    bool runs = false;
    bool limited = false; // by the rest of a resource that others leave
  };
  struct Load {
    int32_t slot;
    double amount;
  };
  struct Resource {
    llvm::SmallVector<Load, 4> loads;
    bool dirty = false;
  };

  void touch(int32_t device) {
    if (!touched[device])
      changed.push_back(device);
    touched[device] = true;
  }
  void markResources(const Slot &slot);
  double capOf(int32_t device, TaskKind kind) const;
  void setRate(double now, int32_t slot, double rate);
  bool suffices(const Slot &slot) const;

  const TaskGraph &graph;
  std::vector<Slot> slots;
  std::vector<std::array<int32_t, 2>> running; // per device: compute, communication
  std::vector<bool> touched;
  std::vector<Resource> resources;
  int64_t limitedCount = 0;
  llvm::SmallVector<int32_t, 64> changedSlots;
  std::vector<int32_t> dirtyResources;
  LinkedClaims linked;
};

} // namespace mlir::ppc

#endif // PPC_LIB_SIMULATION_STREAMRATES_H
