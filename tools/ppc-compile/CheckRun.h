// --check: runs the parallel and the single-device program on the same data and compares their results.
#ifndef PPC_TOOLS_COMPILE_CHECKRUN_H
#define PPC_TOOLS_COMPILE_CHECKRUN_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace mlir::ppc {

/// Trains both executables for `steps` steps on random tokens from one seed and compares, in this order: the losses of
/// all steps (relative difference below 1e-5, of bf16 programs 1e-3), the gradients of the first two steps and of the
/// last, and the parameters after it (relative L2 difference below 1e-4, of bf16 programs 5e-2, each). Adam can turn
/// rounding of a small gradient into a full step, so parameters may differ as far as the gradients explain; elements
/// that only rounding moves are named. Reports the first value that differs. Returns true if all agree.
bool checkEquivalence(llvm::StringRef parallel, llvm::StringRef single, llvm::StringRef folder, int64_t steps,
                      llvm::StringRef precision);

} // namespace mlir::ppc

#endif // PPC_TOOLS_COMPILE_CHECKRUN_H
