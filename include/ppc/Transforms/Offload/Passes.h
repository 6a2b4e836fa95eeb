// Declarations of the passes in Passes.td: offloading to host memory.
#ifndef PPC_TRANSFORMS_OFFLOAD_PASSES_H
#define PPC_TRANSFORMS_OFFLOAD_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::ppc {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "ppc/Transforms/Offload/Passes.h.inc"
} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_OFFLOAD_PASSES_H
