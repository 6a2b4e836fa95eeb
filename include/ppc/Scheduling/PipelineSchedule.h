// A pipeline schedule as data: which device works on which part of which micro-batch, and in which order. Generators
// make schedules, the verifier proves them sound, the simulator times them, and the compiler lowers them to the action
// lists of the program. No IR.
//
// Terms. A *device* is a pipeline rank. The layers are partitioned into *virtual stages* 0..stageCount-1; forward
// passes through them in this order, backward in reverse. A device holds one or more of them, its *chunks*. A
// bidirectional schedule keeps two *replicas* of the model, laid out in opposite directions, and sends each micro-batch
// through one of them. A micro-batch may be split along the sequence into *slices*: forwards in order, backwards
// reversed (causal attention reads earlier slices).
#ifndef PPC_SCHEDULING_PIPELINESCHEDULE_H
#define PPC_SCHEDULING_PIPELINESCHEDULE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mlir::ppc {

/// Kind of an action. Backward can be split in two: `Backward` computes the gradient of the activations, which the
/// previous stage waits for, and `WeightGradient` the rest, which only the update waits for.
enum class PipelineActionKind { Forward, Backward, WeightGradient };

/// "forward", "backward", "weight_gradient": the spelling of the program's manifest.
llvm::StringRef toString(PipelineActionKind kind);
/// 'F', 'B', 'W': the spelling of drawings and messages.
char letter(PipelineActionKind kind);

struct PipelineAction {
  PipelineActionKind kind = PipelineActionKind::Forward;
  int32_t stage = 0; // virtual stage
  int32_t microBatch = 0;
  int32_t slice = 0;

  PipelineAction() = default;
  PipelineAction(PipelineActionKind kind, int64_t stage, int64_t microBatch, int64_t slice = 0)
      : kind(kind), stage(int32_t(stage)), microBatch(int32_t(microBatch)), slice(int32_t(slice)) {}

  bool operator==(const PipelineAction &other) const {
    return kind == other.kind && stage == other.stage && microBatch == other.microBatch && slice == other.slice;
  }
  bool operator!=(const PipelineAction &other) const { return !(*this == other); }
};

/// "F3": forward of micro-batch 3.
std::string toString(const PipelineAction &action);

/// Returns whether list[i] is a B whose W follows at once.
inline bool isMerged(llvm::ArrayRef<PipelineAction> list, size_t i) {
  return list[i].kind == PipelineActionKind::Backward && i + 1 < list.size() &&
         list[i + 1] ==
             PipelineAction(PipelineActionKind::WeightGradient, list[i].stage, list[i].microBatch, list[i].slice);
}

/// How much a schedule is asked for.
struct PipelineShape {
  int64_t devices = 1;      // p
  int64_t microBatches = 1; // M, of both directions together
  int64_t chunks = 1;       // v: virtual stages per device and replica
  int64_t slices = 1;       // per micro-batch
  /// Parameters of schedules that can fit durations (PipelineTime.h, fitPipelineShape), in sixteenths per device; 0:
  /// hand-made.
  int64_t lead = 0; // additional forwards ahead, per later device
  int64_t lag = 0;  // additional deferred weight gradients, per earlier device
};

/// One training step. Each device runs its list in order. Messages are not listed, they follow from the actions: a
/// device receives right before the forward or backward that needs the message and sends right after the one that makes
/// it (so a gradient leaves after B, before W). Sends are asynchronous, receives block. Two neighbouring virtual stages
/// on one device need no message.
struct PipelineSchedule {
  std::string name;
  int64_t stageCount = 0; // virtual stages of one replica
  int64_t microBatchCount = 0;
  std::vector<std::vector<PipelineAction>> devices;
  int64_t sliceCount = 1;
  /// [replica][virtual stage] -> device. Empty: one replica, stage s on device s.
  std::vector<std::vector<int64_t>> placement = {};
  /// Per micro-batch. Empty: all on replica 0.
  std::vector<int64_t> replicas = {};
  /// An F and the B of another chunk that follows it run as one block, each hiding the other's communication.
  bool pairsForwards = false;

  int64_t deviceCount() const { return devices.size(); }
  int64_t replicaCount() const { return placement.empty() ? 1 : placement.size(); }
  int64_t replicaOf(int64_t microBatch) const { return replicas.empty() ? 0 : replicas[microBatch]; }
  int64_t deviceOf(int64_t replica, int64_t stage) const {
    return placement.empty() ? stage : placement[replica][stage];
  }
  /// Whether the device's i-th action is a B in such a block.
  bool isPaired(int64_t device, size_t i) const {
    const std::vector<PipelineAction> &list = devices[device];
    return pairsForwards && i > 0 && list[i].kind == PipelineActionKind::Backward &&
           list[i - 1].kind == PipelineActionKind::Forward &&
           (list[i].stage != list[i - 1].stage || replicaOf(list[i].microBatch) != replicaOf(list[i - 1].microBatch));
  }
  int64_t deviceOf(const PipelineAction &action) const { return deviceOf(replicaOf(action.microBatch), action.stage); }
  /// The number of the action's virtual stage among those of all replicas, one replica after the other.
  int64_t chunkIndex(const PipelineAction &action) const {
    return replicaOf(action.microBatch) * stageCount + action.stage;
  }
  /// Index if each slice has its own stages: the stages of slice i follow those of slice i - 1.
  int64_t slicedIndex(const PipelineAction &action) const {
    return action.slice * replicaCount() * stageCount + chunkIndex(action);
  }
};

/// A wait that the order of a schedule imposes on a device: forward `from` of a replica's micro-batch i + `ahead`
/// starts after micro-batch i has come back to the device and has gone through `to`, forward or backward. Both stages
/// are on that device, `to` is later in the path of a micro-batch.
struct OrderLimit {
  int64_t from = 0; // virtual stage
  int64_t to = 0;   // virtual stage
  bool toBackward = true;
  int64_t ahead = 1;
};

/// A schedule that users can name.
struct PipelineScheduleKind {
  llvm::StringRef name;    // value of --schedule
  llvm::StringRef summary; // one line of help
  PipelineSchedule (*make)(const PipelineShape &shape) = nullptr;
  std::vector<llvm::StringRef> aliases = {}; // other names in use
  /// [replica][virtual stage] -> device, for any number of micro-batches. Null: one replica, stage s on device s.
  std::vector<std::vector<int64_t>> (*place)(const PipelineShape &shape) = nullptr;
  /// Adds the actions of one device, if they follow from the shape alone. Null: actions of other devices decide them.
  void (*makeDevice)(const PipelineShape &shape, int64_t device, std::vector<PipelineAction> &actions) = nullptr;
  /// Limits that hold for any number of micro-batches; bounds of steps are made of them. Null: none are known.
  std::vector<OrderLimit> (*orderLimits)(const PipelineShape &shape) = nullptr;
  llvm::StringRef needs = "";           // capability that a program must offer beyond one chunk per device, in words
  int64_t minChunks = 1, maxChunks = 1; // per device and replica
  int64_t defaultChunks = 1;
  int64_t replicas = 1;        // copies of the model's parameters
  bool slicesSequence = false; // has a use for slices
  bool splitsBackward = false; // schedules weight gradients separately; otherwise they are part of backward
  int64_t fittedInFlight = 0;  // uses lead and lag, with at most this multiple of p micro-batches in flight; 0: does
                               // not
  /// Returns why a shape is illegal and which shape would be legal, or an empty string. Requires numbers of at least 1
  /// and chunks in range. Null: every shape is legal.
  std::string (*check)(const PipelineShape &shape) = nullptr;
  /// Returns the number of micro-batches that repeats every steady state of the schedule once more when it is added
  /// (also two or three times) to a large enough shape. Null: there is no steady state. Only a hint: callers verify it.
  int64_t (*period)(const PipelineShape &shape) = nullptr;

  /// For schedules with one stage per device: device d of p runs its k-th F (of a micro-batch, or of a slice of one)
  /// after B number k - (p - 1 - d + slices), and the Bs of micro-batches one after the other.
  bool alternates = false;
  /// Micro-batches run as if none came after them: of fewer of them, devices keep no more at any moment.
  bool earliestFirst = false;

  bool fitsDurations() const { return fittedInFlight > 0; }
};
llvm::ArrayRef<PipelineScheduleKind> pipelineScheduleKinds();

/// Slices of a micro-batch where nothing else says how many: 4 under schedules that have a use for them, over several
/// devices; else 1.
int64_t defaultSlices(const PipelineScheduleKind &kind, int64_t devices);
/// Overload by name; 1 for unknown schedules.
int64_t defaultSlices(llvm::StringRef schedule, int64_t devices);

/// The kind of that name or alias. Error: lists the known names.
llvm::Expected<const PipelineScheduleKind *> findPipelineSchedule(llvm::StringRef name);

/// Errors name legal values: numbers < 1; chunks or slices that the schedule does not use or lacks; devices or
/// micro-batches that it cannot divide.
llvm::Error checkPipelineShape(const PipelineScheduleKind &kind, const PipelineShape &shape);

/// The schedule's stages, replicas and devices without any action.
PipelineSchedule makeEmptyPipeline(const PipelineScheduleKind &kind, const PipelineShape &shape);

/// Errors: more actions than fit in memory with ease (2^26).
llvm::Error checkActionCount(const PipelineScheduleKind &kind, const PipelineShape &shape);

/// The schedule of that name. Errors: unknown name; a shape that the schedule cannot have; too many actions.
llvm::Expected<PipelineSchedule> makePipelineSchedule(llvm::StringRef name, const PipelineShape &shape);
/// With one chunk per stage. Errors as above; also schedules that need more than one, or two replicas.
llvm::Expected<PipelineSchedule> makePipelineSchedule(llvm::StringRef name, int64_t stages, int64_t microBatches);

/// Returns the number of slots for values that a micro-batch leaves between its actions, per virtual stage (replica
/// after replica): the minimum K such that micro-batch m can use slot m % K, that is, no two micro-batches with the
/// same m % K are in flight at once. In flight: from before the forward (its input arrives in the slot) to after the
/// last action on it. GPipe: M; 1F1B: min(M, stages - s). More if a stage would otherwise deadlock while it waits for
/// sends to leave a slot. Requires actions that exist.
std::vector<int64_t> slotsPerStage(const PipelineSchedule &schedule);

/// Returns the minimum K from `atLeast` on such that no two micro-batches of these actions with the same m % K are in
/// flight at once: for values that several stages of a device use together.
int64_t leastSlots(llvm::ArrayRef<PipelineAction> actions, int64_t atLeast);

} // namespace mlir::ppc

#endif // PPC_SCHEDULING_PIPELINESCHEDULE_H
