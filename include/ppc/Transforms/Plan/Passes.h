// Declarations of the plan passes (described in Passes.td).
#ifndef PPC_TRANSFORMS_PLAN_PASSES_H
#define PPC_TRANSFORMS_PLAN_PASSES_H

#include "mlir/Pass/Pass.h"
#include "ppc/Target/TargetCapabilities.h"

namespace mlir::ppc {

#define GEN_PASS_DECL
#include "ppc/Transforms/Plan/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "ppc/Transforms/Plan/Passes.h.inc"

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_PLAN_PASSES_H
