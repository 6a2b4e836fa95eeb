#include "lib/Planning/Grid/ScheduleCache.h"

#include <algorithm>

using namespace mlir::ppc;

ScheduleCache::KindPrograms &ScheduleCache::ofKind(const PipelineScheduleKind &kind) {
  std::lock_guard<std::mutex> lock(mutex);
  return kinds[&kind];
}

static const PipelineProgram *orNull(llvm::Expected<const PipelineProgram *> program) {
  if (program)
    return *program;
  llvm::consumeError(program.takeError());
  return nullptr;
}

llvm::Expected<const PipelineProgram *> ScheduleCache::compile(const PipelineScheduleKind &kind,
                                                               const PipelineShape &shape) {
  KindPrograms &own = ofKind(kind);
  std::lock_guard<std::mutex> lock(own.mutex);
  return own.programs.get(kind, shape);
}

const PipelineProgram *ScheduleCache::program(const PipelineScheduleKind &kind, const PipelineShape &shape) {
  return orNull(compile(kind, shape));
}

const PipelineProgram *ScheduleCache::loads(const PipelineScheduleKind &kind, const PipelineShape &shape) {
  KindPrograms &own = ofKind(kind);
  std::lock_guard<std::mutex> lock(own.mutex);
  return orNull(own.programs.getLoads(kind, shape));
}

const PipelineProgram *ScheduleCache::someLoads(const PipelineScheduleKind &kind, const PipelineShape &shape) {
  KindPrograms &own = ofKind(kind);
  std::lock_guard<std::mutex> lock(own.mutex);
  return own.programs.getSomeLoads(kind, shape);
}

const PipelineProgram *ScheduleCache::knownLoads(const PipelineScheduleKind &kind, const PipelineShape &shape) {
  KindPrograms &own = ofKind(kind);
  std::lock_guard<std::mutex> lock(own.mutex);
  return own.programs.knowsLoads(kind, shape) ? orNull(own.programs.getLoads(kind, shape)) : nullptr;
}

const StagePlacement *ScheduleCache::placement(const PipelineScheduleKind &kind, const PipelineShape &shape) {
  Key key{&kind, shape.devices, shape.chunks};
  std::lock_guard<std::mutex> lock(mutex);
  auto [entry, isNew] = placements.try_emplace(key);
  if (isNew) {
    PipelineShape few = shape;
    few.microBatches = kind.replicas;
    PipelineSchedule schedule = makeEmptyPipeline(kind, few);
    entry->second = std::make_unique<StagePlacement>();
    StagePlacement &placement = *entry->second;
    placement.replicas = schedule.replicaCount();
    if (kind.orderLimits)
      placement.limits = kind.orderLimits(shape);
    placement.hops.assign(schedule.stageCount, true);
    placement.chunks.resize(schedule.deviceCount());
    for (int64_t stage = 0; stage < schedule.stageCount; ++stage)
      for (int64_t replica = 0; replica < placement.replicas; ++replica) {
        int64_t device = schedule.deviceOf(replica, stage);
        placement.chunks[device].push_back({replica, stage});
        if (stage + 1 == schedule.stageCount || schedule.deviceOf(replica, stage + 1) == device)
          placement.hops[stage] = false;
      }
    int64_t lastStage = schedule.stageCount - 1;
    for (const OrderLimit &limit : placement.limits)
      if ((limit.from == 0 || limit.from == lastStage) && limit.to == (limit.toBackward ? 0 : lastStage))
        placement.wholeLimits.push_back(limit);
    std::vector<int64_t> hopsBefore(schedule.stageCount + 1, 0);
    for (int64_t stage = 0; stage < schedule.stageCount; ++stage)
      hopsBefore[stage + 1] = hopsBefore[stage] + placement.hops[stage];
    placement.hopCount = hopsBefore[lastStage];
    for (const auto &held : placement.chunks) {
      placement.before.push_back(held.front().stage);
      placement.beforeSum += held.front().stage;
      placement.hopsBeforeSum += hopsBefore[held.front().stage];
    }
  }
  return entry->second.get();
}
