// Reductions of gradients between ranks, as updates have them.
#ifndef PPC_LIB_TRANSFORMS_OVERLAP_GRADIENTREDUCTIONS_H
#define PPC_LIB_TRANSFORMS_OVERLAP_GRADIENTREDUCTIONS_H

#include "dialects/ppc/Ppc.h"
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::ppc {

/// A sum of micro-batches that an update first of all reduces over ranks of its device.
struct GradientReduction {
  Operation *op; ///< in the code of the update
  ppcrt::CollectiveKind kind;
  ArrayAttr axes;
  ppcrt::BufferOp from, to;
  unsigned argument;              ///< number of the update's argument
  std::optional<unsigned> result; ///< number of the update's result that is stored in `to`; none for an all-reduce
  int64_t elements;               ///< number of elements before the reduction
};

/// Reductions of the update of a device that an action can do instead.
SmallVector<GradientReduction> findReductions(ppcrt::RoutineOp update, func::FuncOp code, const SymbolTable &functions);

/// Takes a reduction out of the update, which from then on finds its result in `to`.
void takeOut(const GradientReduction &reduction, ppcrt::RoutineOp update, func::FuncOp code);

} // namespace mlir::ppc

#endif // PPC_LIB_TRANSFORMS_OVERLAP_GRADIENTREDUCTIONS_H
