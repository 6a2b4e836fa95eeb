// How each value of a step depends on the samples of a batch: the ground on which a batch may be cut in time.
#ifndef PPC_TRANSFORMS_AUTODIFF_BATCHANALYSIS_H
#define PPC_TRANSFORMS_AUTODIFF_BATCHANALYSIS_H

#include "dialects/ppc/Ppc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::ppc {

/// Classifies the values of a step that is to run in `count` micro-batches of equal size. With several of them a value
/// is one of three:
/// - it lies along the batch: one of its dimensions is that of the samples, of which a micro-batch has its part;
/// - it is a sum over the batch: what micro-batches give of it adds up;
/// - it is invariant: computed of parameters and constants, the same in each micro-batch. Of one that is as long as the
///   batch and meets samples each micro-batch needs its part, which is a copy of the ops that compute it with smaller
///   types; where a sum is asked for, an invariant value counts once: divided by `count`.
/// With one micro-batch everything may be.
class BatchAnalysis {
public:
  BatchAnalysis(func::FuncOp function, int64_t count);

  /// Fails, with an error on the op or input at fault, where micro-batches would compute something else than the batch.
  LogicalResult run();
  /// Gives the ops of the body what they need of invariant values, and removes what nobody needs any more.
  void makeParts();

  /// The type of `value` in a micro-batch.
  RankedTensorType partType(Value value) const;

  SmallVector<Operation *> body; ///< ops of one micro-batch, in order
  SmallVector<BlockArgument> inputs;
  llvm::SetVector<Value> yielded; ///< what is used after the micro-batches: by ops of part update and as results

private:
  /// The loop of `op` that walks the samples, if one does.
  FailureOr<std::optional<unsigned>> batchLoop(Operation *op, const ShardingRule &rule);
  LogicalResult markInputs();
  LogicalResult visit(Operation *op);
  /// Whether sums flow through `op`, of which `isSum` says the operands that are sums.
  LogicalResult visitSums(Operation *op, const ShardingRule &rule, ArrayRef<bool> isSum);
  /// Whether `value`, which is invariant, has parts along `dim` that are computed like the whole.
  LogicalResult checkParts(Value value, unsigned dim, Operation *user);
  Value partOf(Value value, unsigned dim);
  LogicalResult findYielded();
  void divide(OpOperand &use);
  bool isAlongBatch(Value value) const { return batchDims.contains(value); }

  func::FuncOp function;
  int64_t count;
  DenseMap<Value, unsigned> batchDims; ///< of values along the batch
  DenseSet<Value> sums;
  SmallVector<std::pair<OpOperand *, unsigned>> parts; ///< operands of which a micro-batch needs its part, and where
  SmallVector<OpOperand *> divided;                    ///< invariant operands that are added to sums
  DenseSet<std::pair<Value, unsigned>> checked;
  DenseMap<std::pair<Value, unsigned>, Value> made;
};

/// What products read of a parameter is the same for all micro-batches: made once, before them.
bool isPreparation(Operation *op);
bool isUpdate(Operation *op);

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_AUTODIFF_BATCHANALYSIS_H
