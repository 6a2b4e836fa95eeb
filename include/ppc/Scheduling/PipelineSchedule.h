// A pipeline schedule as data: which stage works on which micro-batch when. Generators make it, the verifier proves it
// sound, the simulator times it, the compiler lowers it to the action lists of the program. No IR here.
#ifndef PPC_SCHEDULING_PIPELINESCHEDULE_H
#define PPC_SCHEDULING_PIPELINESCHEDULE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mlir::ppc {

/// Backward is cut in two: `Backward` computes what the previous stage waits for (the gradient of the activations), and
/// `WeightGradient` the rest, which nothing else waits for before the update.
enum class PipelineActionKind { Forward, Backward, WeightGradient };

/// "forward", "backward", "weight_gradient": the spelling of the program's manifest.
llvm::StringRef toString(PipelineActionKind kind);
/// 'F', 'B', 'W': the spelling of drawings and messages.
char letter(PipelineActionKind kind);

struct PipelineAction {
  PipelineActionKind kind = PipelineActionKind::Forward;
  int64_t stage = 0;
  int64_t microBatch = 0;

  bool operator==(const PipelineAction &other) const {
    return kind == other.kind && stage == other.stage && microBatch == other.microBatch;
  }
  bool operator!=(const PipelineAction &other) const { return !(*this == other); }
};

/// "F3": forward of micro-batch 3.
std::string toString(const PipelineAction &action);

/// One training step. Each stage runs its list in order. Messages are not listed, they follow from the actions: a stage
/// receives right before the forward or backward that needs the message and sends right after the one that makes it (so
/// a gradient leaves after B, before W). Sends are asynchronous, receives block.
struct PipelineSchedule {
  std::string name;
  int64_t stageCount = 0;
  int64_t microBatchCount = 0;
  std::vector<std::vector<PipelineAction>> stages;
};

/// All forwards, then all backwards (GPipe.cpp).
PipelineSchedule makeGPipeSchedule(int64_t stages, int64_t microBatches);
/// One forward, one backward in the steady state (OneFOneB.cpp).
PipelineSchedule makeOneFOneBSchedule(int64_t stages, int64_t microBatches);

/// A schedule that users can name.
struct PipelineScheduleKind {
  llvm::StringRef name;    // of --schedule
  llvm::StringRef summary; // one line of help
  PipelineSchedule (*make)(int64_t stages, int64_t microBatches);
};
llvm::ArrayRef<PipelineScheduleKind> pipelineScheduleKinds();

/// The schedule of that name. Errors: unknown name (lists the known ones); stages or micro-batches < 1.
llvm::Expected<PipelineSchedule> makePipelineSchedule(llvm::StringRef name, int64_t stages, int64_t microBatches);

/// Slots for what a micro-batch leaves between its actions, per stage: the least K such that micro-batch m can use slot
/// m % K, that is, no two micro-batches with the same m % K are in flight at once. In flight: from before the forward
/// (its message arrives in the slot) to after the last action on it. GPipe: M; 1F1B: min(M, stages - s).
std::vector<int64_t> slotsPerStage(const PipelineSchedule &schedule);

} // namespace mlir::ppc

#endif // PPC_SCHEDULING_PIPELINESCHEDULE_H
