// Declarations of the passes in Passes.td: mixed precision.
#ifndef PPC_TRANSFORMS_PRECISION_PASSES_H
#define PPC_TRANSFORMS_PRECISION_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::ppc {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "ppc/Transforms/Precision/Passes.h.inc"
} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_PRECISION_PASSES_H
