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
  StageFunction(OpBuilder &module, Location loc, int64_t stage, RoutineKind kind);

  /// The argument bound to `buffer`, added on first use.
  Value argument(BufferOp buffer, Type type);
  /// Returns `value` in `buffer`. A buffer is written at most once.
  void addResult(BufferOp buffer, Value value);
  /// Adds the terminator and the final function type.
  void finish();

  func::FuncOp function;
  OpBuilder builder;            ///< at the end of the body
  IRMapping mapping;            ///< from values of @step
  SmallVector<BufferOp> reads;  ///< of the arguments, in order
  SmallVector<BufferOp> writes; ///< of the results, in order

private:
  DenseMap<Operation *, Value> arguments;
  SmallVector<Value> results;
};

/// What is said of a buffer besides its role and type.
struct BufferFields {
  StringAttr name, state;
  RankedTensorType logical;
  ShardingAttr sharding;
  InitAttr init;
  std::optional<int64_t> order;
};

/// Buffers and functions of a device.
class StageProgram {
public:
  StageProgram(ppcrt::DeviceOp device);

  BufferOp addBuffer(BufferRole role, Type type, const BufferFields &fields = {});
  /// Gives a buffer another role.
  void setRole(BufferOp buffer, BufferRole role, const BufferFields &fields);
  StageFunction &function(RoutineKind kind, OpBuilder &module, Location loc);
  StageFunction *findFunction(RoutineKind kind);
  /// Finishes the functions and adds their routines.
  void finish();

  ppcrt::DeviceOp device;
  DenseMap<Value, BufferOp> bufferOf; ///< of values of @step that live in a buffer of this device

private:
  OpBuilder builder; ///< at the end of the device
  unsigned buffers = 0;
  SmallVector<std::pair<RoutineKind, std::unique_ptr<StageFunction>>> functions;
};

/// A value on its way from one device to another, once per micro-batch.
struct StageMessage {
  int64_t fromStage;
  BufferOp from;
  RoutineKind made; ///< by which routine
  int64_t toStage;
  BufferOp to;
  RoutineKind used; ///< by which routine first
};

/// A whole step being cut.
struct StepSplit {
  func::FuncOp step;
  AccumulateOp accumulate;
  ppcrt::ProgramOp program;
  SmallVector<std::unique_ptr<StageProgram>> stages;
  OpBuilder module; ///< where functions go
  SmallVector<StageMessage> messages;

  /// The buffer of a function argument of @step (parameter, state, scalar) on `stage`, added on first use.
  FailureOr<BufferOp> argumentBuffer(int64_t stage, BlockArgument argument);
  int64_t stageCount() const { return stages.size(); }
  /// Finishes the devices and adds the messages.
  void finish();
};

/// A result of the accumulate: the stage and the buffer in which it is added up.
using Accumulator = std::pair<int64_t, BufferOp>;

/// Adds the update functions, and those that evaluate the loss.
LogicalResult splitUpdate(StepSplit &split, ArrayRef<Accumulator> accumulators);

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_PIPELINE_STAGEPROGRAM_H
