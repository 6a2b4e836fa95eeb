// Turns one annotated function into the program of one rank, in place.
#ifndef PPC_TRANSFORMS_SHARDING_SPMDREWRITER_H
#define PPC_TRANSFORMS_SHARDING_SPMDREWRITER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "ppc/Analysis/OpSharding.h"
#include "ppc/Analysis/ReshardCost.h"

namespace mlir::ppc {

class SpmdRewriter {
public:
  SpmdRewriter(func::FuncOp function, GridAttr grid) : function(function), grid(grid), plans(grid) {}

  /// Fails, with an error and the function unchanged, when the sharding of a value does not fit a use.
  LogicalResult run();

private:
  /// The annotations of a value, read before any type changes.
  struct LogicalValue {
    RankedTensorType type;
    ShardingAttr sharding;
    /// Per dimension: the padding of the block is known to be zero (true if there is none).
    SmallVector<bool> zeroPadding;
  };

  LogicalResult read();
  LogicalResult check(Operation *op);
  void add(Value value);
  LogicalResult rewriteBlock(Block &block);
  LogicalResult rewrite(Operation *op);
  void rewriteConstant(ConstantOp op);
  LogicalResult rewriteReshard(ReshardOp op);
  Value lower(OpBuilder &builder, Location loc, Value value, const ReshardStep &step, RankedTensorType logical,
              const Layout &before, SmallVectorImpl<bool> &zeroPadding);
  LogicalResult rewriteOperation(Operation *op);
  void mask(OpOperand &operand, unsigned dim);
  bool isUneven(const LogicalValue &value, unsigned dim) const;
  void localize(Value value);

  func::FuncOp function;
  GridAttr grid;
  ReshardPlans plans;
  DenseMap<Value, LogicalValue> values;
  DenseMap<Operation *, OpSharding> shardings;
  DenseMap<std::pair<Value, unsigned>, Value> masked; ///< in the block of the value
};

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_SHARDING_SPMDREWRITER_H
