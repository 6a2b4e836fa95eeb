// Declarations of the plan passes (described in Passes.td).
#ifndef PPC_TRANSFORMS_PLAN_PASSES_H
#define PPC_TRANSFORMS_PLAN_PASSES_H

#include "mlir/Pass/Pass.h"
#include "ppc/Planning/ProgramRefusals.h"
#include "ppc/TargetCapabilities/TargetCapabilities.h"

namespace mlir::ppc {

#define GEN_PASS_DECL
#include "ppc/Transforms/Plan/Passes.h.inc"

/// ppc-search-plan, which decides for none of the layouts that the later phases refuse.
std::unique_ptr<Pass> createSearchPlanPass(const SearchPlanPassOptions &options, ProgramRefusals refusals);

#define GEN_PASS_REGISTRATION
#include "ppc/Transforms/Plan/Passes.h.inc"

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_PLAN_PASSES_H
