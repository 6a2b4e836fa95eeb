// Declarations of the pipeline passes (described in Passes.td).
#ifndef PPC_TRANSFORMS_PIPELINE_PASSES_H
#define PPC_TRANSFORMS_PIPELINE_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::ppc {

#define GEN_PASS_DECL
#include "ppc/Transforms/Pipeline/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "ppc/Transforms/Pipeline/Passes.h.inc"

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_PIPELINE_PASSES_H
