// Remarks of passes, as lines on standard error.
#ifndef PPC_TOOLS_COMPILE_REMARKS_H
#define PPC_TOOLS_COMPILE_REMARKS_H

#include "mlir/IR/MLIRContext.h"

namespace mlir::ppc {

/// Prints remarks of the passes of the context from now on: with `explain` (--explain) every decision, and always
/// options without effect. Returns false if remarks are unavailable.
bool printRemarks(MLIRContext &context, bool explain);

/// Suppresses remarks while it exists: for attempts that may be replaced.
class SilentRemarks {
public:
  SilentRemarks();
  ~SilentRemarks();
  SilentRemarks(const SilentRemarks &) = delete;
  SilentRemarks &operator=(const SilentRemarks &) = delete;
};

} // namespace mlir::ppc

#endif // PPC_TOOLS_COMPILE_REMARKS_H
