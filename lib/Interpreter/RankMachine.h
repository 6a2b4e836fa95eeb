// One rank of an interpreted program: runs until it has to wait for others.
#ifndef PPC_LIB_INTERPRETER_RANKMACHINE_H
#define PPC_LIB_INTERPRETER_RANKMACHINE_H

#include "ppc/Interpreter/Interpreter.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::ppc {

class RankMachine {
public:
  RankMachine(func::FuncOp function, ReferenceContext context, Arithmetic arithmetic)
      : function(function), context(std::move(context)), arithmetic(arithmetic) {}

  /// Binds the arguments; to be called first.
  LogicalResult start(ArrayRef<ReferenceTensor> arguments);
  /// Runs up to the next collective or to the end.
  LogicalResult run();
  bool isDone() const { return frames.empty(); }

  /// The collective that the rank waits at; null when it is done.
  Operation *waitsAt() const { return isDone() ? nullptr : &*frames.back().next; }
  const ReferenceTensor &waitingOperand() { return value(waitsAt()->getOperand(0)); }
  /// Gives the result of that collective.
  void resume(ReferenceTensor result);

  RankValues results;

private:
  /// A block that is being executed: a function's body, or the region of an accumulate.
  struct Frame {
    Operation *caller; ///< func.call or ppc.accumulate; null for the outermost function
    Block::iterator next;
    int64_t microBatch = 0;
    RankValues sums = {}; ///< accumulated results of a ppc.accumulate
  };
  /// Values of one activation of a function.
  using Scope = DenseMap<Value, ReferenceTensor>;

  ReferenceTensor &value(Value value) { return scopes.back()[value]; }
  /// Rounds a computed value of `type` if the arithmetic is Rounded.
  void round(ReferenceTensor &tensor, Type type) const;
  LogicalResult call(Operation *caller, func::FuncOp callee, ArrayRef<ReferenceTensor> arguments);
  LogicalResult step(Operation *op);
  LogicalResult evaluate(Operation *op);
  void finishCall(Operation *terminator);
  void enterMicroBatch(Frame &frame, AccumulateOp accumulate);
  void finishMicroBatch(Operation *terminator);

  func::FuncOp function;
  ReferenceContext context;
  Arithmetic arithmetic;
  SmallVector<Frame> frames;
  SmallVector<Scope> scopes;
};

} // namespace mlir::ppc

#endif // PPC_LIB_INTERPRETER_RANKMACHINE_H
