// Compiled schedules and their placements of stages, shared by the threads of a search.
#ifndef PPC_LIB_PLANNING_GRID_SCHEDULECACHE_H
#define PPC_LIB_PLANNING_GRID_SCHEDULECACHE_H

#include "ppc/Scheduling/PipelineProgram.h"

#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

namespace mlir::ppc {

/// Where a schedule has its virtual stages. Each replica, if there are several, takes an equal share of the
/// micro-batches.
struct StagePlacement {
  int64_t replicas = 1;
  std::vector<bool> hops; // per stage: the next one is on another device in every replica
  // For the first stage of each device: stages before it, and sends on the way there.
  std::vector<int64_t> before;
  int64_t beforeSum = 0, hopsBeforeSum = 0;                // sums over all devices
  std::vector<llvm::SmallVector<PipelineChunk, 2>> chunks; // per device, by stage
  std::vector<OrderLimit> limits;
  std::vector<OrderLimit> wholeLimits; // subset of those between the ends of the model, for any placement of stages
  int64_t hopCount = 0;
};

class ScheduleCache {
public:
  /// Errors: as PipelinePrograms::get.
  llvm::Expected<const PipelineProgram *> compile(const PipelineScheduleKind &kind, const PipelineShape &shape);
  /// Null: cannot be made.
  const PipelineProgram *program(const PipelineScheduleKind &kind, const PipelineShape &shape);
  /// Saved activations of devices, perhaps without actions.
  const PipelineProgram *loads(const PipelineScheduleKind &kind, const PipelineShape &shape);
  /// Lower bound on the saved activations of some devices; null: not known in much less time.
  const PipelineProgram *someLoads(const PipelineScheduleKind &kind, const PipelineShape &shape);
  /// Null also where they are not known yet and would have to be made.
  const PipelineProgram *knownLoads(const PipelineScheduleKind &kind, const PipelineShape &shape);
  const StagePlacement *placement(const PipelineScheduleKind &kind, const PipelineShape &shape);

private:
  /// Kinds are compiled concurrently.
  struct KindPrograms {
    std::mutex mutex;
    PipelinePrograms programs;
  };
  KindPrograms &ofKind(const PipelineScheduleKind &kind);

  std::mutex mutex; // protects the maps
  std::map<const PipelineScheduleKind *, KindPrograms> kinds;
  using Key = std::tuple<const PipelineScheduleKind *, int64_t, int64_t>; // devices, chunks
  std::map<Key, std::unique_ptr<StagePlacement>> placements;
};

} // namespace mlir::ppc

#endif // PPC_LIB_PLANNING_GRID_SCHEDULECACHE_H
