// What a plan cuts that is no argument's dimension, never null.
#ifndef PPC_ANALYSIS_PLANCUTS_H
#define PPC_ANALYSIS_PLANCUTS_H

#include "dialects/ppc/Ppc.h"

namespace mlir::ppc {

/// Dimension name to axes; empty: activations are cut as they come.
DictionaryAttr activationCuts(PlanAttr plan);

/// Axes; empty: the state lies like its parameter.
ArrayAttr updateCuts(PlanAttr plan);
/// Whether gradients, and parameters between their uses, are cut by these axes too.
inline bool cutsGradients(PlanAttr plan) { return bool(plan.getGradients()); }
inline bool cutsStorage(PlanAttr plan) { return bool(plan.getStorage()); }

/// The strategy (`StrategyOpInterface`) of ops that need whole sequences, by name, where the plan cuts the dimension
/// "sequence" of the inputs: `kv_heads` or `head_group` where it cuts activations along that dimension over the same
/// axes, else `gather`. Nothing where it does not.
std::optional<StringRef> sequenceStrategy(PlanAttr plan);

} // namespace mlir::ppc

#endif // PPC_ANALYSIS_PLANCUTS_H
