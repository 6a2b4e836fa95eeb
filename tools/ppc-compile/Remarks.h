// Remarks of passes, as lines on standard error.
#ifndef PPC_TOOLS_COMPILE_REMARKS_H
#define PPC_TOOLS_COMPILE_REMARKS_H

#include "mlir/IR/MLIRContext.h"

namespace mlir::ppc {

/// Prints from now on what the passes of the context remark: with `explain` (--explain) every decision, and always that
/// what an option asks for does nothing. False where that cannot be had.
bool printRemarks(MLIRContext &context, bool explain);

/// While one lives nothing is printed: of what is tried, and perhaps done in another way.
class SilentRemarks {
public:
  SilentRemarks();
  ~SilentRemarks();
  SilentRemarks(const SilentRemarks &) = delete;
  SilentRemarks &operator=(const SilentRemarks &) = delete;
};

} // namespace mlir::ppc

#endif // PPC_TOOLS_COMPILE_REMARKS_H
