// Declarations of the passes in Passes.td: outlining of layers.
#ifndef PPC_TRANSFORMS_OUTLINE_PASSES_H
#define PPC_TRANSFORMS_OUTLINE_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::ppc {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "ppc/Transforms/Outline/Passes.h.inc"
} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_OUTLINE_PASSES_H
