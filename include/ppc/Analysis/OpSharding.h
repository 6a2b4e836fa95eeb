// How an op is cut: its sharding rule with the grid axes of each factor. Everything else about the op follows from it:
// what its operands must be, what its results are, over which axes they are still to be reduced.
#ifndef PPC_ANALYSIS_OPSHARDING_H
#define PPC_ANALYSIS_OPSHARDING_H

#include "dialects/ppc/Ppc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::ppc {

/// Grid axes that cut one loop or one dimension, major to minor.
using AxisList = SmallVector<StringAttr, 2>;

inline AxisList toAxisList(ArrayAttr axes) {
  return llvm::map_to_vector<2>(axes, [](Attribute axis) { return cast<StringAttr>(axis); });
}
ArrayAttr toArrayAttr(MLIRContext *context, ArrayRef<StringAttr> axes);

/// A sharding with nothing pending from the axes of each dimension.
ShardingAttr shardingOf(MLIRContext *context, ArrayRef<AxisList> dims);

/// `sharding` with `axes` pending over `combiner` in addition.
ShardingAttr withPartial(ShardingAttr sharding, ArrayRef<StringAttr> axes, Combiner combiner);

/// One op, its rule, and the axes of each of the rule's factors. Reads and writes the op attribute `ppc.factors`.
struct OpSharding {
  ShardingRule rule;
  SmallVector<AxisList> axes; ///< one per factor

  /// The rule of `op` with nothing cut. An op without the interface, or whose rule is none, has no factors: its
  /// operands must be replicated, and so are its results.
  static OpSharding uncut(Operation *op);
  /// The rule of `op` cut as its attribute `ppc.factors` says; uncut when there is none. Fails, with an error on the
  /// op, when the attribute names a factor or an axis that does not exist or cuts what cannot be cut.
  static FailureOr<OpSharding> read(Operation *op, GridAttr grid);
  /// The rule of `op` cut so that its results are as its attribute `ppc.shardings` says. Fails, with an error on the
  /// op, when no cut gives that.
  static FailureOr<OpSharding> readStated(Operation *op, GridAttr grid);
  /// `{b = ["dp"]}`; empty when nothing is cut.
  DictionaryAttr attribute(MLIRContext *context) const;

  bool uses(StringAttr axis) const;
  /// Whether `factor` may get exactly `axes`: it may be cut at all, the blocks are not more than its elements, the axes
  /// cut no other factor, and an uneven cut does not spoil a maximum. `why` receives the reason when it may not.
  bool canCut(unsigned factor, ArrayRef<StringAttr> axes, GridAttr grid, std::string *why = nullptr) const;

  /// What operand `number` must be, nothing pending. A value that is no tensor has no dimensions.
  ShardingAttr operand(MLIRContext *context, unsigned number) const;
  /// What result `number` is, with the axes of the factors that it lacks pending.
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
