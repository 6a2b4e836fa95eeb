// Reasons why a request has no plan, and the nearest request that has one.
#ifndef PPC_LIB_PLANNING_PLANINFEASIBILITY_H
#define PPC_LIB_PLANNING_PLANINFEASIBILITY_H

#include "lib/Planning/Grid/SearchEngine.h"

namespace mlir::ppc {

/// No grid of up to `devices` devices divides.
Infeasibility explainShape(const PlanRequest &request, SearchEngine &engine, int64_t devices, Bytes limit);
/// Grids exist, none fits or can be run.
Infeasibility explainInfeasible(const PlanRequest &request, SearchEngine &engine, const BoundedSpace &bounded,
                                Bytes limit, const SearchOutcome &outcome);

} // namespace mlir::ppc

#endif // PPC_LIB_PLANNING_PLANINFEASIBILITY_H
