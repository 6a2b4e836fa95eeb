// How far partial sums travel before they are reduced: decided for a whole function, as data. It reads the
// annotations of ppc-propagate-shardings and changes nothing.
#ifndef PPC_TRANSFORMS_SHARDING_PARTIALFLOW_H
#define PPC_TRANSFORMS_SHARDING_PARTIALFLOW_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "ppc/Analysis/OpSharding.h"

namespace mlir::ppc {

/// Partial axes of a value, each with its combiner.
using Pending = llvm::SmallMapVector<StringAttr, Combiner, 2>;

/// A value is either used with all of its partial axes by every user, or reduced once, right after it is computed,
/// over the axes that some user cannot take; the other users share the reduced form. An optimistic fixed point: at
/// first all values stay partial; every sweep in program order marks those that cannot; marks only grow, so it ends.
class PartialFlow {
public:
  PartialFlow(func::FuncOp function, GridAttr grid) : function(function), grid(grid) {}

  /// Fails, with an error, when an annotation does not fit its op.
  LogicalResult run();

  const OpSharding &sharding(Operation *op) const { return shardings.find(op)->second; }
  /// Partial axes of `value` when it is computed.
  const Pending &made(Value value) const;
  /// Partial axes of `value` when it is used.
  Pending used(Value value) const;
  /// A ppc.sum whose operands are partial over different axes and should be added group by group.
  bool isRegrouped(Operation *op) const { return regrouped.contains(op); }

private:
  bool visit(Operation *op);
  bool reduce(Value value, const Pending &keep);
  bool canFlow(Operation *op, const OpSharding &sharding);
  bool canFlowOn(Operation *op, const OpSharding &sharding);
  bool isReducedAnyway(Value gradient, ReshardOp reshard) const;
  bool meetsPending(Value value, StringAttr axis);
  bool shrinks(Value value, StringAttr axis);
  bool set(Value value, const Pending &pending);

  func::FuncOp function;
  GridAttr grid;
  SmallVector<Operation *> order;
  DenseMap<Operation *, OpSharding> shardings;
  DenseMap<Value, Pending> pendingOf;
  DenseMap<Value, SmallVector<StringAttr>> reduced; ///< axes reduced right after the value is made
  DenseSet<Operation *> regrouped;
  DenseMap<std::pair<Value, StringAttr>, bool> meets; ///< memoized results of meetsPending
};

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_SHARDING_PARTIALFLOW_H
