// How the places of an operand move with the loops of a generic op.
#ifndef PPC_LIB_TARGET_CUDA_ACCESSPATTERN_H
#define PPC_LIB_TARGET_CUDA_ACCESSPATTERN_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::ppc::cuda {

/// The place of an operand's element in its buffer as constant + sum of steps[i] times loop i.
struct AccessPattern {
  int64_t constant = 0;
  SmallVector<int64_t> steps;
};

/// None where indices are not linear.
std::optional<AccessPattern> patternOf(linalg::GenericOp generic, OpOperand &operand);

/// True if `width` neighbours along `dim` lie side by side from a multiple of their size on.
bool isVector(const AccessPattern &pattern, ArrayRef<int64_t> sizes, unsigned dim, int64_t width);

/// How many neighbours along `dim` can be accessed at once, up to 16 bytes, by every operand that moves along it; 1 if
/// they cannot. Operands that stay where they are do not matter.
int64_t vectorWidth(linalg::GenericOp generic, unsigned dim);

} // namespace mlir::ppc::cuda

#endif // PPC_LIB_TARGET_CUDA_ACCESSPATTERN_H
