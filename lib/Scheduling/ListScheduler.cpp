// List scheduling by the earliest micro-batch.
#include "ListScheduler.h"

#include <tuple>

namespace mlir::ppc {

using Kind = PipelineActionKind;

namespace {
/// The next F and B of one virtual stage of one replica.
struct Chunk {
  int64_t replica, stage;
  int64_t forwards = 0, backwards = 0; // done
};
} // namespace

void scheduleEarliestFirst(PipelineSchedule &schedule, int64_t underWay) {
  ListScheduler scheduler(schedule, 1, 1, 0);
  int64_t replicas = schedule.replicaCount(), count = schedule.microBatchCount / replicas;
  std::vector<std::vector<Chunk>> chunks(schedule.deviceCount());
  for (int64_t replica = 0; replica < replicas; ++replica)
    for (int64_t stage = 0; stage < schedule.stageCount; ++stage)
      chunks[schedule.deviceOf(replica, stage)].push_back({replica, stage});

  int64_t left = 2 * schedule.stageCount * count * replicas;
  for (int64_t time = 0; left > 0; ++time)
    for (int64_t device = 0; device < schedule.deviceCount(); ++device) {
      if (scheduler.free(device) > time)
        continue;
      Chunk *best = nullptr;
      PipelineAction bestAction;
      auto consider = [&](Chunk &chunk, Kind kind, int64_t done) {
        if (done == count)
          return;
        PipelineAction action{kind, chunk.stage, chunk.replica * count + done};
        if (best && std::tuple(bestAction.microBatch % count, -bestAction.stage) <= std::tuple(done, -action.stage))
          return;
        if (std::optional<int64_t> start = scheduler.start(action); start && *start <= time)
          best = &chunk, bestAction = action;
      };
      for (Chunk &chunk : chunks[device]) {
        consider(chunk, Kind::Backward, chunk.backwards);
        if (chunk.stage > 0 || chunk.forwards - chunk.backwards < underWay)
          consider(chunk, Kind::Forward, chunk.forwards);
      }
      if (!best)
        continue;
      scheduler.run(bestAction);
      --left;
      if (bestAction.kind == Kind::Forward) {
        ++best->forwards;
      } else {
        ++best->backwards;
        scheduler.run({Kind::WeightGradient, bestAction.stage, bestAction.microBatch});
      }
    }
}

} // namespace mlir::ppc
