// Shardings of a plan that are not an argument's dimensions, never null.
#ifndef PPC_ANALYSIS_PLANCUTS_H
#define PPC_ANALYSIS_PLANCUTS_H

#include "dialects/ppc/Ppc.h"

namespace mlir::ppc {

/// Dimension name to axes; empty: activations are sharded as propagated.
DictionaryAttr activationCuts(PlanAttr plan);

/// Axes; empty: the state lies like its parameter.
ArrayAttr updateCuts(PlanAttr plan);
/// Returns whether gradients, and parameters between uses, are sharded by these axes, too.
inline bool cutsGradients(PlanAttr plan) { return bool(plan.getGradients()); }
inline bool cutsStorage(PlanAttr plan) { return bool(plan.getStorage()); }

/// Returns the strategy (`StrategyOpInterface`) of ops that need full sequences, by name, if the plan shards the
/// dimension "sequence" of the inputs: `kv_heads` or `head_group` if it shards activations along that dimension over
/// the same axes, else `gather`. Returns std::nullopt if it does not.
std::optional<StringRef> sequenceStrategy(PlanAttr plan);

} // namespace mlir::ppc

#endif // PPC_ANALYSIS_PLANCUTS_H
