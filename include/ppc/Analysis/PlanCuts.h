// What a plan cuts that is no argument's dimension. Among the names of `dimensions` in #ppc.plan, "activations.NAME"
// stands for dimension NAME of what is computed from the inputs, wherever nothing else cuts it over these axes
// (sequence parallelism:
// `"activations.sequence" = ["tp"]`), and "update.*" for any one dimension of the optimizer's state and the update,
// besides what cuts their parameter (ZeRO-1: `"update.*" = ["dp"]`). In a plan file they are the keys `activations:`
// and `update:`.
#ifndef PPC_ANALYSIS_PLANCUTS_H
#define PPC_ANALYSIS_PLANCUTS_H

#include "dialects/ppc/Ppc.h"

namespace mlir::ppc {

constexpr llvm::StringLiteral kActivationPrefix = "activations.", kUpdateName = "update.*";

/// Dimension name to axes; empty: activations are cut as they come.
DictionaryAttr activationCuts(PlanAttr plan);

/// Axes; empty: the state lies like its parameter.
ArrayAttr updateCuts(PlanAttr plan);

/// The plan's `dimensions` without these names.
DictionaryAttr argumentCuts(PlanAttr plan);

/// The strategy (`StrategyOpInterface`) of ops that need whole sequences, by name: `gather`, the one that there is,
/// where the plan cuts the dimension "sequence" of the inputs; nothing where it does not.
std::optional<StringRef> sequenceStrategy(PlanAttr plan);

} // namespace mlir::ppc

#endif // PPC_ANALYSIS_PLANCUTS_H
