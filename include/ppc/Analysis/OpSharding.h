// Sharding of an op: its sharding rule with the mesh axes of each factor. Everything else about the op follows from it:
// the shardings of its operands and results, and the axes over which results are partial.
#ifndef PPC_ANALYSIS_OPSHARDING_H
#define PPC_ANALYSIS_OPSHARDING_H

#include "dialects/ppc/Ppc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::ppc {

/// Mesh axes that shard one loop or one dimension, major to minor.
using AxisList = SmallVector<StringAttr, 2>;

inline AxisList toAxisList(ArrayAttr axes) {
  return llvm::map_to_vector<2>(axes, [](Attribute axis) { return cast<StringAttr>(axis); });
}
ArrayAttr toArrayAttr(MLIRContext *context, ArrayRef<StringAttr> axes);

/// Returns a sharding that is not partial, from the axes of each dimension.
ShardingAttr shardingOf(MLIRContext *context, ArrayRef<AxisList> dims);

/// Returns `sharding` that is also partial over `axes` with `combiner`.
ShardingAttr withPartial(ShardingAttr sharding, ArrayRef<StringAttr> axes, Combiner combiner);

/// One op, its rule, and the axes of each of the rule's factors. Reads and writes the op attribute `ppc.factors`.
struct OpSharding {
  ShardingRule rule;
  SmallVector<AxisList> axes; ///< one per factor

  /// Returns the rule of `op` with no factor sharded. An op without the interface, or without a rule, has no factors:
  /// its operands must be replicated, and so are its results.
  static OpSharding uncut(Operation *op);
  /// Returns the rule of `op` sharded by its attribute `ppc.factors`; unsharded without one. Fails, with an error on
  /// the op, if the attribute names a factor or an axis that does not exist or shards a factor that cannot be sharded.
  static FailureOr<OpSharding> read(Operation *op, GridAttr grid);
  /// Returns the rule of `op` sharded so that its results match its attribute `ppc.shardings`. Fails, with an error on
  /// the op, if no sharding of factors does.
  static FailureOr<OpSharding> readStated(Operation *op, GridAttr grid);
  /// `{b = ["dp"]}`; empty if nothing is sharded.
  DictionaryAttr attribute(MLIRContext *context) const;

  bool uses(StringAttr axis) const;
  /// Returns whether `factor` can have exactly `axes`: it is shardable, has at least as many elements as blocks, no
  /// other factor has the axes, and an uneven sharding does not spoil a maximum. `why` receives the reason if it
  /// cannot.
  bool canCut(unsigned factor, ArrayRef<StringAttr> axes, GridAttr grid, std::string *why = nullptr) const;

  /// Sharding that operand `number` must have; never partial. A value that is not a tensor has no dimensions.
  ShardingAttr operand(MLIRContext *context, unsigned number) const;
  /// Sharding of result `number`, partial over the axes of the factors that it lacks.
  ShardingAttr result(MLIRContext *context, unsigned number) const;
  /// The axes of the factors that some result lacks, and how they combine.
  SmallVector<std::pair<StringAttr, Combiner>> pending(unsigned result) const;

private:
  ShardingAttr ofTensor(MLIRContext *context, const TensorFactors &tensor) const;
};

/// The sharding that the IR states for `value`: of a function argument `ppc.sharding`, of an op result its entry of
/// `ppc.shardings`, of an argument of ppc.accumulate its entry of `ppc.operand_shardings`. Null when nothing is stated.
ShardingAttr statedSharding(Value value);
/// Fails, with an error that names the axis and those of `grid`, where arguments, results or ops of `function` state a
/// sharding over an axis that `grid` lacks.
LogicalResult verifyStatedAxes(func::FuncOp function, GridAttr grid);

/// States `sharding` for result `number` of `op`; results without a statement so far become replicated.
void stateSharding(OpResult result, ShardingAttr sharding);

/// The plan of the module around `op`; null when there is none.
PlanAttr planOf(Operation *op);

} // namespace mlir::ppc

#endif // PPC_ANALYSIS_OPSHARDING_H
