// Declarations of the passes in Passes.td: contracts between phases.
#ifndef PPC_TRANSFORMS_CONTRACTS_PASSES_H
#define PPC_TRANSFORMS_CONTRACTS_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::ppc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "ppc/Transforms/Contracts/Passes.h.inc"

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_CONTRACTS_PASSES_H
