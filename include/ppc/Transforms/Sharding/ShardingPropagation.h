// The axes that shard each factor of each op: the state of the propagation as data. It reads the IR and never
// changes it.
#ifndef PPC_TRANSFORMS_SHARDING_SHARDINGPROPAGATION_H
#define PPC_TRANSFORMS_SHARDING_SHARDINGPROPAGATION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "ppc/Analysis/OpSharding.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::ppc {

/// Spreads the axes of a function's arguments to all its ops. Monotone: a list of axes only grows, and only at its
/// minor end, so it ends after at most (values x axes) sweeps; models take three or four.
///
/// Then ops with a strategy that exchanges the sharding of one loop for another are sharded accordingly, as far as the
/// other loop allows, while the shardings around them are unchanged (`StrategyOpInterface::getExchange`).
///
/// Then `activations` (of the plan; may be null) shards dimensions that are still unsharded: an op that has a dimension
/// of that name, with features besides the dimensions of the inputs, and that none of the axes shards yet, is sharded
/// along it.
class ShardingPropagation {
public:
  ShardingPropagation(func::FuncOp function, GridAttr grid, DictionaryAttr activations = {})
      : function(function), grid(grid), activations(activations) {}

  /// Fails, with an error, when an argument cannot have the sharding of its annotation.
  LogicalResult run();

  /// The ops that have a rule, in program order (those inside ppc.accumulate after the op itself is entered).
  ArrayRef<Operation *> ops() const { return order; }
  const OpSharding &sharding(Operation *op) const { return shardings.find(op)->second; }
  /// The axes that shard each dimension of `value`.
  ArrayRef<AxisList> dims(Value value) const;
  /// The required sharding of result `number` of the function; null if any is allowed.
  ShardingAttr demanded(unsigned number) const { return demands[number]; }

private:
  AxisList severalDevices(ArrayAttr axes) const;
  LogicalResult readArguments();
  LogicalResult readMicroBatches();
  void readResults();
  LogicalResult readBody();
  bool sweep(bool backward);
  bool pull(Operation *op, ValueRange values, ArrayRef<TensorFactors> tensors, bool argumentsOnly = false);
  bool push(const OpSharding &sharding, ValueRange values, ArrayRef<TensorFactors> tensors);
  bool extend(Value value, unsigned dim, ArrayRef<StringAttr> axes);
  bool unifyYielded(Value yielded, Value result);
  void exchangeCuts();
  void cutActivations();

  func::FuncOp function;
  GridAttr grid;
  DictionaryAttr activations;
  SmallVector<Operation *> order;
  DenseMap<Operation *, OpSharding> shardings;
  DenseSet<Operation *> decided; ///< ops with `ppc.factors` or `ppc.shardings`, which determine their sharding
  DenseMap<Value, SmallVector<AxisList>> axesOf;
  DenseSet<Value> closed;                    ///< arguments: no axes are added to their annotations
  SmallVector<std::pair<Value, Value>> same; ///< yielded value and result of ppc.accumulate
  DenseSet<StringAttr> inputAxes;            ///< axes that shard the inputs of micro-batches
  SmallVector<ShardingAttr> demands;
};

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_SHARDING_SHARDINGPROPAGATION_H
