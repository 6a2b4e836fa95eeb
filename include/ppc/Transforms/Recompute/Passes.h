// Declarations of the recomputation passes (described in Passes.td).
#ifndef PPC_TRANSFORMS_RECOMPUTE_PASSES_H
#define PPC_TRANSFORMS_RECOMPUTE_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::ppc {

#define GEN_PASS_DECL
#include "ppc/Transforms/Recompute/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "ppc/Transforms/Recompute/Passes.h.inc"

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_RECOMPUTE_PASSES_H
