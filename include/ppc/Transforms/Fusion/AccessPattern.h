//===- AccessPattern.h - Offsets of operands in loops -------------------===//
//
// How the offset of an operand's element changes with the loops of a structured op on buffers of static shapes.
//
//===----------------------------------------------------------------------===//
#ifndef PPC_TRANSFORMS_FUSION_ACCESSPATTERN_H
#define PPC_TRANSFORMS_FUSION_ACCESSPATTERN_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::ppc {

/// The offset of an operand's element in its buffer as constant + sum of steps[i] times loop i, in elements.
struct AccessPattern {
  int64_t constant = 0;
  SmallVector<int64_t> steps;
};

/// Returns std::nullopt if indices are not linear. An operand that is not a buffer has the offset 0 in all
/// iterations.
std::optional<AccessPattern> patternOf(linalg::LinalgOp op, OpOperand &operand);

/// True if `width` neighbours along `dim` are contiguous, starting at a multiple of their size.
bool isVector(const AccessPattern &pattern, ArrayRef<int64_t> sizes, unsigned dim, int64_t width);

/// How many neighbours along `dim` can be accessed at once, up to 16 bytes, by every operand that moves along it; 1
/// if they cannot. Operands that do not move along it do not matter.
int64_t vectorWidth(linalg::LinalgOp op, unsigned dim);

/// One loop, or several that merged because the inner one covers exactly one step of the outer one.
struct LoopSpan {
  int64_t size = 1, step = 0;
  bool operator==(const LoopSpan &other) const { return size == other.size && step == other.step; }
};

/// Loops of these sizes and steps, the last one fastest, with as few spans as possible. Empty if nothing moves.
SmallVector<LoopSpan> mergeLoops(ArrayRef<int64_t> sizes, ArrayRef<int64_t> steps);

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_FUSION_ACCESSPATTERN_H
