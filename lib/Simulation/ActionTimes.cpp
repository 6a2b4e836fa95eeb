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
