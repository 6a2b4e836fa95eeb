// The program of one device while it is being built: its buffers, messages and routines.
#ifndef PPC_TRANSFORMS_PIPELINE_STAGEPROGRAM_H
#define PPC_TRANSFORMS_PIPELINE_STAGEPROGRAM_H

#include "dialects/ppc/Ppc.h"
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::ppc {

using ppcrt::BufferOp;
using ppcrt::BufferRole;
using ppcrt::RoutineKind;

/// The code of a routine. Arguments and results are added as they turn out to be needed.
class StageFunction {
public:
  /// A function of a device; of its virtual stage `stage` unless it is of the whole step.
  StageFunction(OpBuilder &module, Location loc, int64_t device, RoutineKind kind, int64_t stage);

  /// The argument bound to `buffer`, added on first use.
  Value argument(BufferOp buffer, Type type);
  /// Returns `value` in `buffer`. A buffer is written at most once.
  void addResult(BufferOp buffer, Value value);
  /// Adds the terminator and the final function type.
  void finish();

  func::FuncOp function;
  OpBuilder builder;            ///< at the end of the function
  IRMapping mapping;            ///< from values of @step
  SmallVector<BufferOp> reads;  ///< buffers of the arguments, in order
  SmallVector<BufferOp> writes; ///< buffers of the results, in order

private:
  DenseMap<Operation *, Value> arguments;
  SmallVector<Value> results;
};

/// Attributes of a buffer besides its role and type.
struct BufferFields {
  StringAttr name, state;
  RankedTensorType logical;
  ShardingAttr sharding;
  InitAttr init;
  std::optional<int64_t> order;
};

/// Buffers and functions of a device, of all its virtual stages.
class StageProgram {
public:
  StageProgram(ppcrt::DeviceOp device);

  BufferOp addBuffer(BufferRole role, Type type, const BufferFields &fields = {});
  /// Gives a buffer another role.
  void setRole(BufferOp buffer, BufferRole role, const BufferFields &fields);
  /// The function of one virtual stage: its number on the device, and in the model. Functions of the whole step
  /// have chunk 0.
  StageFunction &function(RoutineKind kind, OpBuilder &module, Location loc, int64_t chunk = 0, int64_t stage = 0);
  StageFunction *findFunction(RoutineKind kind, int64_t chunk = 0);
  /// Finishes the functions and adds their routines.
  void finish();

  ppcrt::DeviceOp device;
  DenseMap<Value, BufferOp> bufferOf; ///< buffer of this device for each value of @step that is stored in one

private:
  OpBuilder builder; ///< at the end of the device
  unsigned buffers = 0;
  struct Entry {
    RoutineKind kind;
    int64_t chunk;
    std::unique_ptr<StageFunction> function;
  };
  SmallVector<Entry> functions;
};

/// Assignment of virtual stages to devices, and names of their routines. If a schedule runs several copies of the
/// model, the stages of further copies follow those of the first: stage s of copy c is number c * stagesPerCopy() + s.
/// If a micro-batch runs in slices of its sequence, each slice has stages of its own, after those of the previous
/// slice, on the same devices.
class PipelinePlacement {
public:
  /// The placement of the schedule of the plan. Error: there is no such schedule, or compiled programs do not
  /// support it.
  static llvm::Expected<PipelinePlacement> of(ModuleOp module, PlanAttr plan);

  /// Number of stages of all copies of the model.
  int64_t stageCount() const { return devices.size(); }
  int64_t stagesPerCopy() const { return devices.size() / copies; }
  int64_t copyCount() const { return copies; }
  int64_t sliceCount() const { return slices; }
  int64_t deviceOf(int64_t stage) const { return devices[stage]; }
  /// Its index among the stages of its device.
  int64_t chunkOf(int64_t stage) const { return chunks[stage]; }
  /// Whether the schedule runs weight gradients on their own.
  bool splitsBackward() const { return splits; }
  /// "forward", "forward.1": of chunks after the first with their number.
  static std::string routineName(RoutineKind kind, int64_t chunk);

private:
  std::vector<int64_t> devices, chunks; ///< by virtual stage
  int64_t copies = 1, slices = 1;
  bool splits = false;
};

/// Stage and action of an op of a micro-batch. Sites of different copies of the model are independent.
struct Site {
  int64_t stage; ///< virtual, of all copies
  RoutineKind action;
  bool operator==(const Site &other) const { return stage == other.stage && action == other.action; }
  /// Whether every schedule has done the work here before that of the same micro-batch at `user`: forwards go up the
  /// stages, backwards down, and a weight gradient runs some time after its own stage's backward.
  bool precedes(const Site &user) const {
    if (action == RoutineKind::WeightGradient)
      return *this == user;
    if (action == RoutineKind::Forward)
      return user.action != RoutineKind::Forward || stage <= user.stage;
    return user.action != RoutineKind::Forward && stage >= user.stage;
  }
  std::string str() const { return (stringifyRoutineKind(action) + " of stage " + Twine(stage)).str(); }
};

/// A value on its way from one device to another, once per micro-batch.
struct StageMessage {
  Site made; ///< by which routine
  BufferOp from;
  Site used; ///< by which routine first
  BufferOp to;
};

/// State of splitting a step.
struct StepSplit {
  func::FuncOp step;
  AccumulateOp accumulate;
  ppcrt::ProgramOp program;
  PipelinePlacement placement;
  SmallVector<std::unique_ptr<StageProgram>> devices;
  OpBuilder module; ///< insertion point of functions
  SmallVector<StageMessage> messages;

  /// The buffer of a function argument of @step (parameter, state, scalar) on `device`, added on first use.
  FailureOr<BufferOp> argumentBuffer(int64_t device, BlockArgument argument);
  int64_t deviceCount() const { return devices.size(); }
  /// The device that holds a virtual stage.
  StageProgram &holderOf(int64_t stage) { return *devices[placement.deviceOf(stage)]; }
  /// Finishes the devices and adds the messages.
  void finish();
};

/// The device and the buffer in which a result of the accumulate is added up.
using Accumulator = std::pair<int64_t, BufferOp>;
/// Accumulators of a result of the accumulate by copy of the model, each of which sums its own micro-batches.
using Accumulators = SmallVector<Accumulator, 1>;

/// Adds the update functions, and those that evaluate the loss.
LogicalResult splitUpdate(StepSplit &split, ArrayRef<Accumulators> accumulators);

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_PIPELINE_STAGEPROGRAM_H
