#include "ActionTimes.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir::ppc;

using Kind = PipelineActionKind;

Seconds mlir::ppc::takenBy(Kind kind, const LayerWork &layer) {
  return kind == Kind::Forward ? layer.forward : kind == Kind::Backward ? layer.backward : layer.weightGradient;
}

GroupTimes mlir::ppc::exposedIn(Kind kind, const LayerWork &layer) {
  return kind == Kind::Forward ? layer.forwardExposed : kind == Kind::Backward ? layer.backwardExposed : GroupTimes();
}

std::vector<ChunkTimes> mlir::ppc::sumUpChunks(const StepWork &work) {
  std::vector<ChunkTimes> result(work.chunks.size());
  for (auto [times, chunk] : llvm::zip(result, work.chunks))
    for (Kind kind : {Kind::Forward, Kind::Backward, Kind::WeightGradient})
      for (const LayerWork &layer : chunk.layers) {
        ActionTimes &sum = times[int(kind)];
        GroupTimes exposed = exposedIn(kind, layer);
        sum.compute += takenBy(kind, layer) - totalTime(exposed);
        for (int group = 0; group < opGroupCount; ++group)
          sum.exposed[group] += exposed[group];
      }
  return result;
}

bool mlir::ppc::isInBlock(const PipelineSchedule &schedule, int64_t device, size_t i) {
  if (!schedule.pairsForwards)
    return false;
  llvm::ArrayRef<PipelineAction> list = schedule.devices[device];
  if (list[i].kind == Kind::WeightGradient)
    return i > 0 && isMerged(list, i - 1) && schedule.isPaired(device, i - 1);
  return schedule.isPaired(device, i);
}

double mlir::ppc::pairedScale(const ChunkWork &chunk, Kind kind) {
  StageDurations whole;
  for (const LayerWork &layer : chunk.layers) {
    whole.backward += layer.backward;
    whole.weightGradient += layer.weightGradient;
  }
  whole.overlap = chunk.overlap;
  if (chunk.overlap.value <= 0 || kind == Kind::Forward)
    return 1;
  if (kind == Kind::Backward)
    return whole.backward.value > 0 ? whole.pairedBackward() / whole.backward : 1;
  return whole.weightGradient.value > 0 ? whole.pairedWeightGradient() / whole.weightGradient : 1;
}

SimulatedKind mlir::ppc::simulatedKind(Kind kind) {
  static constexpr SimulatedKind kinds[] = {SimulatedKind::Forward, SimulatedKind::Backward,
                                            SimulatedKind::WeightGradient};
  return kinds[int(kind)];
}
