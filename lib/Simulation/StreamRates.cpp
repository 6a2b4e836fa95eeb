#include "StreamRates.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mlir::ppc;

StreamRates::StreamRates(const TaskGraph &graph, size_t devices)
    : graph(graph), slots(devices * slotsPerDevice), running(devices, {0, 0}), touched(devices, false),
      resources(graph.capacities.size()), linked(graph.capacities, slots.size()) {}

double StreamRates::capOf(int32_t device, TaskKind kind) const {
  switch (kind) {
  case TaskKind::Compute:
    return running[device][1] ? 1 - graph.communicationShare : 1;
  case TaskKind::Communication:
    return running[device][0] ? 1 - graph.communicationSlowdown : 1;
  case TaskKind::Copy:
    return 1;
  }
  return 1;
}

void StreamRates::markResources(const Slot &slot) {
  for (const ResourceUse &use : slot.uses)
    if (!resources[use.resource].dirty) {
      resources[use.resource].dirty = true;
      dirtyResources.push_back(use.resource);
    }
}

void StreamRates::start(double now, int32_t device, StreamSlot number, double work, TaskKind kind,
                        llvm::ArrayRef<ResourceUse> uses) {
  int32_t index = device * slotsPerDevice + number;
  slots[index] = {work, 0, now, /*not known*/ -1, never, uses, kind, true, false};
  running[device][0] += kind == TaskKind::Compute;
  running[device][1] += kind == TaskKind::Communication;
  for (const ResourceUse &use : uses)
    resources[use.resource].loads.push_back({index, use.amount});
  touch(device);
}

void StreamRates::finish(double now, int32_t device, StreamSlot number) {
  int32_t index = device * slotsPerDevice + number;
  Slot &slot = slots[index];
  // If no task is limited, none can gain.
  if (limitedCount > 0)
    markResources(slot);
  limitedCount -= slot.limited;
  running[device][0] -= slot.kind == TaskKind::Compute;
  running[device][1] -= slot.kind == TaskKind::Communication;
  for (const ResourceUse &use : slot.uses) {
    llvm::SmallVector<Load, 4> &loads = resources[use.resource].loads;
    loads.erase(llvm::find_if(loads, [&](const Load &load) { return load.slot == index; }));
  }
  slot.runs = slot.limited = false;
  slot.end = never;
  touch(device);
}

void StreamRates::setRate(double now, int32_t index, double rate) {
  Slot &slot = slots[index];
  bool limited = rate < slot.cap;
  limitedCount += int64_t(limited) - int64_t(slot.limited);
  slot.limited = limited;
  if (rate == slot.rate)
    return;
  slot.remaining = std::max(0.0, slot.remaining - slot.rate * (now - slot.since));
  slot.since = now;
  slot.rate = rate;
  slot.end = rate > 0 ? now + slot.remaining / rate : never;
  touch(index / slotsPerDevice);
}

bool StreamRates::suffices(const Slot &slot) const {
  return llvm::all_of(slot.uses, [&](const ResourceUse &use) {
    double asked = 0;
    for (const Load &load : resources[use.resource].loads)
      asked += slots[load.slot].cap * load.amount;
    return asked <= graph.capacities[use.resource];
  });
}

void StreamRates::refresh(double now) {
  changedSlots.clear();
  for (size_t i = 0, count = changed.size(); i < count; ++i)
    for (int32_t index = changed[i] * slotsPerDevice; index < (changed[i] + 1) * slotsPerDevice; ++index) {
      Slot &slot = slots[index];
      if (!slot.runs)
        continue;
      double cap = capOf(changed[i], slot.kind);
      if (cap == slot.cap)
        continue;
      slot.cap = cap;
      if (slot.uses.empty())
        setRate(now, index, cap);
      else
        changedSlots.push_back(index);
    }
  if (limitedCount == 0 && llvm::all_of(changedSlots, [&](int32_t slot) { return suffices(slots[slot]); })) {
    for (int32_t slot : changedSlots)
      setRate(now, slot, slots[slot].cap);
  } else {
    for (int32_t slot : changedSlots)
      markResources(slots[slot]);
    for (int32_t resource : dirtyResources)
      if (!linked.isShared(resource) && !resources[resource].loads.empty())
        linked.share(
            resource,
            [&](int32_t used, auto each) {
              for (const Load &load : resources[used].loads)
                each(load.slot);
            },
            [&](int32_t slot) { return slots[slot].cap; }, [&](int32_t slot) { return slots[slot].uses; },
            [&](int32_t slot, double rate) { setRate(now, slot, rate); });
    linked.forget();
  }
  for (int32_t resource : dirtyResources)
    resources[resource].dirty = false;
  dirtyResources.clear();
}
