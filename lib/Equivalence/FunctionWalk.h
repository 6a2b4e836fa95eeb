// Relates the values of one function, op by op.
#ifndef PPC_LIB_EQUIVALENCE_FUNCTIONWALK_H
#define PPC_LIB_EQUIVALENCE_FUNCTIONWALK_H

#include "Derivation.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::ppc {

/// Knowledge of a local value: a relation, or that it is the running sum in a buffer with some values added.
struct Known {
  Known() = default;
  explicit Known(Relation relation) : relation(std::move(relation)) {}

  Relation relation;
  int64_t accumulator = -1; ///< buffer of the running sum
  std::vector<Relation> added;

  bool operator==(const Known &other) const {
    return relation == other.relation && accumulator == other.accumulator && added == other.added;
  }
};

class FunctionWalk {
public:
  /// `where` starts every error, for example "stage 1: ".
  FunctionWalk(Derivation &derivation, func::FuncOp function, std::string where = "")
      : function(function), derivation(derivation), where(std::move(where)), next(function.front().begin()) {}

  void define(Value value, Known known) { values[value] = std::move(known); }
  /// Walks to the end, or to the next all-reduce between stages. Fails with an error on the op at fault.
  LogicalResult run();
  /// The all-reduce over "pp" that the walk has reached; null at the end.
  AllReduceOp waitsAt();
  /// Knowledge of the operand there, and from now on of the result.
  const Known &waiting() { return values.find(waitsAt().getX())->second; }
  void resume(Relation relation);
  /// The values that the function returns, at the end.
  std::vector<Known> results();
  InFlightDiagnostic error(Operation *op) { return op->emitOpError() << where; }

  func::FuncOp function;
  int64_t opCount = 0;

private:
  LogicalResult walk(Operation *op);
  LogicalResult walkAccumulate(AccumulateOp op);
  /// Fails if an operand of `op`, which is not derived by rules of ops, is a chunk.
  LogicalResult requireWhole(Operation *op);
  FailureOr<Known> addToAccumulator(Operation *op);

  Derivation &derivation;
  std::string where;
  Block::iterator next;
  DenseMap<Value, Known> values;
};

/// The term of the slice of `term` that the current micro-batch of `count` takes, of type `slice`.
TermId microBatchTerm(TermTable &terms, TermId term, int64_t count, RankedTensorType slice);

} // namespace mlir::ppc

#endif // PPC_LIB_EQUIVALENCE_FUNCTIONWALK_H
