// A pipeline schedule of one shape, compiled for timing: actions in an order that respects all dependences, steady
// states as loops. Everything that depends on the shape only and not on durations is here.
#ifndef PPC_SCHEDULING_PIPELINEPROGRAM_H
#define PPC_SCHEDULING_PIPELINEPROGRAM_H

#include "ppc/Scheduling/PipelineSchedule.h"

#include "llvm/ADT/SmallVector.h"

#include <map>
#include <memory>
#include <tuple>

namespace mlir::ppc {

/// A part of the model on a device: a virtual stage of a replica.
struct PipelineChunk {
  int64_t replica = 0, stage = 0;
  bool operator==(const PipelineChunk &other) const { return replica == other.replica && stage == other.stage; }
};

/// Saved activations of one chunk on a device at one time, in micro-batches; a slice counts as its share.
struct ChunkLoad {
  /// Micro-batches whose F has started and whose B has not completed (nor W, if it follows B at once): all activations
  /// are saved.
  double forward = 0;
  /// Micro-batches whose B has completed and whose W comes later: the inputs of the weight gradient are saved.
  double weight = 0;
  bool operator==(const ChunkLoad &other) const { return forward == other.forward && weight == other.weight; }
};

struct PipelineProgram {
  PipelineShape shape;
  int64_t stageCount = 0; // virtual stages of one replica

  /// Per device: the chunks it holds.
  std::vector<llvm::SmallVector<PipelineChunk, 2>> chunks;

  /// Per device: every moment that can be its worst, whatever a micro-batch of each chunk weighs; one load per entry of
  /// `chunks`. No moment is below another one in every load. Heaviest sum first.
  using Moment = llvm::SmallVector<ChunkLoad, 2>;
  std::vector<std::vector<Moment>> moments;

  /// The most that device `device` keeps at once, when a micro-batch of its chunk i weighs `forward[i]` from F to B and
  /// `weight[i]` from B to W.
  double peak(int64_t device, llvm::ArrayRef<double> forward, llvm::ArrayRef<double> weight) const;

  /// Action for the replay (PipelineTime.cpp).
  struct Action {
    int32_t needs; // distance back to the action whose message this one waits for, in the order run; 0: none
    uint16_t device;
    uint16_t code; // kind of instruction
  };
  enum CodeKind : uint8_t {
    Forward,
    Backward,
    WeightGradient,
    BackwardAndWeightGradient, // W right after B
    PairedBackward,            // in a block with the F before
    PairedBackwardAndWeightGradient,
    codeKinds
  };
  struct Code {
    CodeKind kind = Forward;
    bool receives = false, sends = false; // a message from or to another device
    uint16_t device = 0;
    int64_t stage = 0;
    int64_t count = 0; // actions of the step with this code
  };
  struct Loop {
    int64_t begin, length; // loop body: actions[begin, begin + length)
    int64_t turns;
  };
  std::vector<Action> actions; // a loop's body once
  std::vector<Loop> loops;     // in order, disjoint
  std::vector<Code> codes;
  std::vector<int64_t> first; // per device: its first action, in `actions`; in no later loop than the first
  int64_t window = 0;         // the longest distance back
  int64_t replicaCount = 1;
};

/// Compiled schedules. Finds the steady states of a schedule by comparing two that differ by a period's micro-batches,
/// and keeps both for every larger number of micro-batches; parts that do not line up are compiled action by action: a
/// program is always equivalent to its schedule. Not thread-safe.
class PipelinePrograms {
public:
  PipelinePrograms();
  PipelinePrograms(PipelinePrograms &&);
  PipelinePrograms &operator=(PipelinePrograms &&);
  ~PipelinePrograms();

  /// Kept as long as this object. Errors: `checkPipelineShape`; more than 10000 chunks, or too
  /// many actions that no steady state shortens; a generator whose schedule does
  /// not end.
  llvm::Expected<const PipelineProgram *> get(const PipelineScheduleKind &kind, const PipelineShape &shape);

  /// Chunks and moments only, much faster: without `actions`, unless the whole program is known. Kept as long as this
  /// object.
  llvm::Expected<const PipelineProgram *> getLoads(const PipelineScheduleKind &kind, const PipelineShape &shape);

  /// Chunks, and of some devices moments that no moment of the whole is below: they keep at least that. Null: none are
  /// known in much less time. Kept as long as this object. Requires a shape that can be compiled.
  const PipelineProgram *getSomeLoads(const PipelineScheduleKind &kind, const PipelineShape &shape);

  /// Whether that takes no time worth speaking of.
  bool knowsLoads(const PipelineScheduleKind &kind, const PipelineShape &shape) const;

private:
  llvm::Expected<PipelineProgram> compile(const PipelineScheduleKind &kind, const PipelineShape &shape);

  struct Family; // for all numbers of micro-batches with one remainder
  using Base = std::tuple<const PipelineScheduleKind *, int64_t, int64_t, int64_t, int64_t, int64_t>;
  std::map<Base, int64_t> multiples; // periods that line up; 0: none
  std::map<std::pair<Base, int64_t>, std::unique_ptr<Family>> families;
  std::map<std::pair<Base, int64_t>, std::unique_ptr<PipelineProgram>> programs, loads, someLoads; // by micro-batches
};

/// One program, by value. `PipelinePrograms::get` is faster for several.
llvm::Expected<PipelineProgram> compilePipelineSchedule(const PipelineScheduleKind &kind, const PipelineShape &shape);

} // namespace mlir::ppc

#endif // PPC_SCHEDULING_PIPELINEPROGRAM_H
