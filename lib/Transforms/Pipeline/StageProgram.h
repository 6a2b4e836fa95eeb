// The program of one pipeline stage while it is being built: its buffers, messages and functions.
#ifndef PPC_TRANSFORMS_PIPELINE_STAGEPROGRAM_H
#define PPC_TRANSFORMS_PIPELINE_STAGEPROGRAM_H

#include "dialects/ppc/Ppc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::ppc {

/// What a stage does at one time. For one micro-batch: in this order. Prepare and Update come once per step, before and after
/// all micro-batches. Evaluate comes in Update's stead where only the loss is wanted: forward alone comes before it.
enum class Action { Prepare, Forward, Backward, WeightGradient, Update, Evaluate };
StringRef toString(Action action);

/// A function of a stage. Arguments and results are added as they turn out to be needed.
class StageFunction {
public:
  StageFunction(OpBuilder &module, Location loc, int64_t stage, Action action);

  /// The argument bound to `buffer`, added on first use.
  Value argument(int64_t buffer, Type type);
  /// Returns `value` in `buffer`. A buffer is written at most once.
  void addResult(int64_t buffer, Value value);
  /// The buffers that the compiled function takes, in order: those of its arguments, then those of the results that are
  /// no arguments' too.
  SmallVector<int64_t> bufferOrder();
  /// Adds the terminator and the final function type.
  void finish();

  func::FuncOp function;
  OpBuilder builder; ///< at the end of the body
  IRMapping mapping; ///< from values of @step

private:
  DenseMap<int64_t, Value> arguments;
  SmallVector<int64_t> argumentBuffers; ///< of the arguments, in order
  SmallVector<std::pair<int64_t, Value>> results;
};

/// Buffers, messages and functions of a stage.
class StageProgram {
public:
  StageProgram(MLIRContext *context, int64_t stage) : context(context), stage(stage) {}

  /// Adds a buffer; `fields` are those of `ppc.stages` besides role, type and space.
  int64_t addBuffer(StringRef role, Type type, StringRef space, ArrayRef<NamedAttribute> fields = {});
  /// Gives a buffer another role.
  void setRole(int64_t buffer, StringRef role, ArrayRef<NamedAttribute> fields);
  StringRef role(int64_t buffer) const { return cast<DictionaryAttr>(buffers[buffer]).getAs<StringAttr>("role"); }
  StageFunction &function(Action action, OpBuilder &module, Location loc);
  StageFunction *findFunction(Action action);
  void addSend(Action after, int64_t buffer, int64_t toStage, int64_t tag);
  /// Receives the message before the first action that uses it, `before` or another given with `useReceived`.
  void addReceive(Action before, int64_t buffer, int64_t fromStage, int64_t tag);
  void useReceived(Action before, int64_t buffer);

  /// The entry of `ppc.stages`. Finishes the functions.
  DictionaryAttr finish();

  DenseMap<Value, int64_t> bufferOf; ///< of values of @step that live in a buffer of this stage

private:
  struct Message {
    Action action; ///< before or after which it travels
    int64_t buffer, peer, tag;
  };
  ArrayAttr messages(StringRef when, ArrayRef<Message> list);

  MLIRContext *context;
  int64_t stage;
  SmallVector<Attribute> buffers;
  SmallVector<Message> sends, receives;
  SmallVector<std::pair<Action, std::unique_ptr<StageFunction>>> functions;
};

/// A whole step being cut.
struct StepSplit {
  func::FuncOp step;
  AccumulateOp accumulate;
  SmallVector<std::unique_ptr<StageProgram>> stages;
  OpBuilder module; ///< where functions go

  /// The buffer of a function argument of @step (parameter, state, scalar) on `stage`, added on first use.
  FailureOr<int64_t> argumentBuffer(int64_t stage, BlockArgument argument);
  int64_t stageCount() const { return stages.size(); }
};

/// Adds the update functions, and those that evaluate the loss. Results of the accumulate are found in `accumulators`: the stage and the buffer of each.
LogicalResult splitUpdate(StepSplit &split, ArrayRef<std::pair<int64_t, int64_t>> accumulators);

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_PIPELINE_STAGEPROGRAM_H
