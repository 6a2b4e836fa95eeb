// Final check of the plans of a search: each is estimated once more without the search's caches.
#ifndef PPC_LIB_PLANNING_FINALESTIMATE_H
#define PPC_LIB_PLANNING_FINALESTIMATE_H

#include "ppc/Planning/PlanSearch.h"

namespace mlir::ppc {

/// Verifies every plan of `result`. Figures that the final estimate does not confirm cost a note, which names both; a
/// layout that cannot exist, or that the request excludes, is taken out of the result with a note. Errors: no plan of
/// several is left.
llvm::Error compareWithFinalEstimate(const PlanRequest &request, PlanSearchResult &result);

} // namespace mlir::ppc

#endif // PPC_LIB_PLANNING_FINALESTIMATE_H
