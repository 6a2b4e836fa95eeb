// Declarations of the passes in Passes.td: overlap of communication and computation.
#ifndef PPC_TRANSFORMS_OVERLAP_PASSES_H
#define PPC_TRANSFORMS_OVERLAP_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::ppc {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "ppc/Transforms/Overlap/Passes.h.inc"
} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_OVERLAP_PASSES_H
