// Compiled schedules and where they place stages, shared by the threads of a search.
#ifndef PPC_LIB_PLANNING_SCHEDULECACHE_H
#define PPC_LIB_PLANNING_SCHEDULECACHE_H

#include "ppc/Scheduling/PipelineProgram.h"

#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

namespace mlir::ppc {

/// Where a schedule with one replica has its virtual stages.
struct StagePlacement {
  std::vector<int64_t> deviceOf;                    // per stage
  std::vector<llvm::SmallVector<int64_t, 2>> stages; // per device, ascending
};

class ScheduleCache {
public:
  /// Null: cannot be made.
  const PipelineProgram *program(const PipelineScheduleKind &kind, const PipelineShape &shape);
  /// Null: several replicas.
  const StagePlacement *placement(const PipelineScheduleKind &kind, const PipelineShape &shape);

private:
  /// Kinds are compiled beside each other.
  struct KindPrograms {
    std::mutex mutex;
    PipelinePrograms programs;
  };
  std::mutex mutex; // of the maps
  std::map<const PipelineScheduleKind *, KindPrograms> kinds;
  using Key = std::tuple<const PipelineScheduleKind *, int64_t, int64_t, int64_t, int64_t>;
  std::map<Key, std::unique_ptr<StagePlacement>> placements;
};

} // namespace mlir::ppc

#endif // PPC_LIB_PLANNING_SCHEDULECACHE_H
