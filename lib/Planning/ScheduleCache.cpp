#include "ScheduleCache.h"

#include <algorithm>

using namespace mlir::ppc;

const PipelineProgram *ScheduleCache::program(const PipelineScheduleKind &kind, const PipelineShape &shape) {
  KindPrograms *own = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex);
    own = &kinds[&kind];
  }
  std::lock_guard<std::mutex> lock(own->mutex);
  llvm::Expected<const PipelineProgram *> program = own->programs.get(kind, shape);
  if (program)
    return *program;
  llvm::consumeError(program.takeError());
  return nullptr;
}

const StagePlacement *ScheduleCache::placement(const PipelineScheduleKind &kind, const PipelineShape &shape) {
  // Where stages lie does not depend on the number of micro-batches: ask for as few as may be.
  PipelineShape small = shape;
  for (int64_t few : {int64_t(1), int64_t(2), shape.devices, shape.microBatches}) {
    small.microBatches = few;
    llvm::Error error = checkPipelineShape(kind, small);
    if (!error)
      break;
    llvm::consumeError(std::move(error));
  }
  Key key{&kind, small.devices, small.microBatches, small.chunks, small.slices};
  std::lock_guard<std::mutex> lock(mutex);
  auto [entry, isNew] = placements.try_emplace(key);
  if (isNew) {
    PipelineSchedule schedule = kind.make(small);
    entry->second = std::make_unique<StagePlacement>();
    StagePlacement &placement = *entry->second;
    placement.replicas = schedule.replicaCount();
    placement.hops.assign(schedule.stageCount, true);
    placement.chunks.resize(schedule.deviceCount());
    for (int64_t stage = 0; stage < schedule.stageCount; ++stage)
      for (int64_t replica = 0; replica < placement.replicas; ++replica) {
        int64_t device = schedule.deviceOf(replica, stage);
        placement.chunks[device].push_back({replica, stage});
        if (stage + 1 == schedule.stageCount || schedule.deviceOf(replica, stage + 1) == device)
          placement.hops[stage] = false;
      }
  }
  return entry->second.get();
}
