// Bytes of tensors and the work of ops that read every operand and write every result once. Each scalar operation
// counts as one floating-point operation, exponentials and divisions too.
#ifndef PPC_DIALECTS_COST_TENSORTRAFFIC_H
#define PPC_DIALECTS_COST_TENSORTRAFFIC_H

#include "dialects/ppc/Ppc.h"

namespace mlir::ppc {

inline int64_t elementsOf(Value value) { return tensorType(value).getNumElements(); }

inline int64_t bytesOf(Value value) {
  return elementsOf(value) * int64_t(tensorType(value).getElementTypeBitWidth() / 8);
}

inline int64_t bytesOf(ValueRange values) {
  int64_t bytes = 0;
  for (Value value : values)
    bytes += bytesOf(value);
  return bytes;
}

/// `flops` operations, every operand read once, every result written once.
inline OpCost costOf(Operation *op, double flops, Engine engine = Engine::Vector) {
  return {flops, bytesOf(op->getOperands()), bytesOf(op->getResults()), engine};
}

/// Ops that do nothing when the program runs.
inline OpCost noCost() { return {0, 0, 0, Engine::None}; }

} // namespace mlir::ppc

#endif // PPC_DIALECTS_COST_TENSORTRAFFIC_H
