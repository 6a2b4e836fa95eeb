// The time/memory frontier: the fastest plan for each amount of memory, from the fastest of all down.
#ifndef PPC_LIB_PLANNING_FRONTIER_H
#define PPC_LIB_PLANNING_FRONTIER_H

#include "ppc/Planning/PlanSearch.h"

namespace mlir::ppc {

/// Next memory limit to search under, after a plan that needs `used`: less than that, a multiple of `limit` / `steps`.
Bytes nextFrontierLimit(Bytes used, Bytes limit, int steps);

/// Drops plans that are not faster than a plan that needs less memory. `points`: each with less memory than the one
/// before.
void keepFastest(std::vector<Plan> &points);

} // namespace mlir::ppc

#endif // PPC_LIB_PLANNING_FRONTIER_H
