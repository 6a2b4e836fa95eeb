// Dependence of the values of a step on the samples of a batch, which decides whether the batch can be split in
// time.
#ifndef PPC_TRANSFORMS_AUTODIFF_BATCHANALYSIS_H
#define PPC_TRANSFORMS_AUTODIFF_BATCHANALYSIS_H

#include "dialects/ppc/Ppc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::ppc {

/// Classifies the values of a step that is to run in `count` micro-batches of equal size. With several of them a value
/// is one of three:
/// - along the batch: one of its dimensions is the samples, of which a micro-batch has a slice;
/// - a sum over the batch: the results of the micro-batches are added;
/// - invariant: computed from parameters and constants, equal in each micro-batch. If an invariant value is as long as
/// the
///   batch and is combined with samples, each micro-batch needs a slice, computed by copies of its ops with smaller
///   types; if a sum is required, an invariant value counts once: divided by `count`.
/// With one micro-batch every value is allowed.
class BatchAnalysis {
public:
  BatchAnalysis(func::FuncOp function, int64_t count);

  /// Fails, with an error on the op or input at fault, where micro-batches would compute something else than the batch.
  LogicalResult run();
  /// Gives the ops of a micro-batch slices of invariant values, and removes unused ops.
  void makeParts();

  /// The type of `value` in a micro-batch.
  RankedTensorType partType(Value value) const;

  SmallVector<Operation *> body; ///< ops of one micro-batch, in order
  SmallVector<BlockArgument> inputs;
  llvm::SetVector<Value> yielded; ///< values used after the micro-batches: by ops of part update and as results

private:
  /// The loop of `op` that walks the samples, if one does.
  FailureOr<std::optional<unsigned>> batchLoop(Operation *op, const ShardingRule &rule);
  LogicalResult markInputs();
  LogicalResult visit(Operation *op);
  /// Whether sums flow through `op`; `isSum` marks the operands that are sums.
  LogicalResult visitSums(Operation *op, const ShardingRule &rule, ArrayRef<bool> isSum);
  /// Whether `value`, which is invariant, has parts along `dim` that are computed like the whole.
  LogicalResult checkParts(Value value, unsigned dim, Operation *user);
  Value partOf(Value value, unsigned dim);
  LogicalResult findYielded();
  void divide(OpOperand &use);
  bool isAlongBatch(Value value) const { return batchDims.contains(value); }

  func::FuncOp function;
  int64_t count;
  DenseMap<Value, unsigned> batchDims; ///< dimension of the samples, of values along the batch
  DenseSet<Value> sums;
  SmallVector<std::pair<OpOperand *, unsigned>> parts; ///< operands of which a micro-batch needs its part, and where
  SmallVector<OpOperand *> divided;                    ///< invariant operands that are added to sums
  DenseSet<std::pair<Value, unsigned>> checked;
  DenseMap<std::pair<Value, unsigned>, Value> made;
};

/// Whether `op` casts a parameter for matmuls, with one result for all micro-batches: computed once, before them.
bool isPreparation(Operation *op);
bool isUpdate(Operation *op);

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_AUTODIFF_BATCHANALYSIS_H
