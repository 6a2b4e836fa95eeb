// The pattern families of ppc-to-ppc-rt.
#ifndef PPC_LIB_CONVERSION_PPCTOPPCRT_PATTERNS_H
#define PPC_LIB_CONVERSION_PPCTOPPCRT_PATTERNS_H

#include "mlir/IR/PatternMatch.h"

namespace mlir::ppc {
void populateAttentionCall(RewritePatternSet &patterns);
void populateLibrary(RewritePatternSet &patterns);
void populateRuntimeCollective(RewritePatternSet &patterns);
} // namespace mlir::ppc

#endif // PPC_LIB_CONVERSION_PPCTOPPCRT_PATTERNS_H
