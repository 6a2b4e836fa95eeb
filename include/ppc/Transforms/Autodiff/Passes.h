// Declarations of the train phase's passes (described in Passes.td).
#ifndef PPC_TRANSFORMS_AUTODIFF_PASSES_H
#define PPC_TRANSFORMS_AUTODIFF_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::ppc {

#define GEN_PASS_DECL
#include "ppc/Transforms/Autodiff/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "ppc/Transforms/Autodiff/Passes.h.inc"

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_AUTODIFF_PASSES_H
