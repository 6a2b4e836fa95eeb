// Declarations of the conversions between dialects (described in Passes.td).
#ifndef PPC_CONVERSION_PASSES_H
#define PPC_CONVERSION_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::ppc {

#define GEN_PASS_DECL
#include "ppc/Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "ppc/Conversion/Passes.h.inc"

} // namespace mlir::ppc

#endif // PPC_CONVERSION_PASSES_H
