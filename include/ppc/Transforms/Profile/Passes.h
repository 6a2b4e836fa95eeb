// Declarations of the profile passes (described in Passes.td).
#ifndef PPC_TRANSFORMS_PROFILE_PASSES_H
#define PPC_TRANSFORMS_PROFILE_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::ppc {

/// The function of the runtime that `ppc-mark-operations` calls, with the number of the operation that begins.
inline constexpr StringLiteral kProfileFunction = "ppcrt_profile";

#define GEN_PASS_DECL
#include "ppc/Transforms/Profile/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "ppc/Transforms/Profile/Passes.h.inc"

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_PROFILE_PASSES_H
