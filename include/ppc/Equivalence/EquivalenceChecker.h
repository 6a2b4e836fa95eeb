// Proof that a partitioned program computes the logical program: derives for every local value its relation to a
// logical value. Method, rules and limits: docs/internals/Equivalence.md. Independent of all passes that chose or built
// the partitioned program: it shares no rule, table or annotation with them.
#ifndef PPC_EQUIVALENCE_EQUIVALENCECHECKER_H
#define PPC_EQUIVALENCE_EQUIVALENCECHECKER_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::ppc {

/// Counts of the objects that a check covered.
struct EquivalenceReport {
  int64_t logicalValues = 0; ///< distinct values of the logical program
  int64_t localOps = 0;      ///< local ops whose results were related to them
  int64_t actions = 0;       ///< actions of schedules, messages included
  int64_t outputs = 0;       ///< losses, norms, gradients, parameters and states that match their declarations
};

/// Checks `partitioned`, a module as the partition phase leaves it (`ppc.plan` and a `ppcrt.program`) or one whose
/// functions hold the program of one rank (before stages are split: `ppc.sharding` and `ppc.logical_type` on arguments
/// and results), against the function of the same role in `logical`, a module as the train phase leaves it. Both live
/// in one context. Fails with errors on the op that first breaks the relation, or on the output that is not as
/// declared.
FailureOr<EquivalenceReport> checkEquivalence(ModuleOp logical, ModuleOp partitioned);

/// The part of the check that reads no code: whether the declarations of the `ppcrt.program` and the attributes of
/// `partitioned` to the runtime (initial values, logical types, micro-batches, mesh, `ppc.weights`, `ppc.model`) match
/// the function `step` of `logical`. `step` may be external, and later phases may have run: the check can be repeated
/// before the manifest is written. Fails with an error on each op that differs.
LogicalResult checkDeclarations(ModuleOp logical, ModuleOp partitioned);

} // namespace mlir::ppc

#endif // PPC_EQUIVALENCE_EQUIVALENCECHECKER_H
