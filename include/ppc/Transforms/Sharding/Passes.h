// The passes of the subject Sharding; what each does is said in Passes.td.
#ifndef PPC_TRANSFORMS_SHARDING_PASSES_H
#define PPC_TRANSFORMS_SHARDING_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "ppc/TargetCapabilities/TargetCapabilities.h"

namespace mlir::ppc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "ppc/Transforms/Sharding/Passes.h.inc"

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_SHARDING_PASSES_H
