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
  unsigned argument;              ///< of the update's code
  std::optional<unsigned> result; ///< of the update's code, which lies in `to`; of an all-reduce none
  int64_t elements;               ///< before it
};

/// Those of the update of a device that an action can do in its stead.
SmallVector<GradientReduction> findReductions(ppcrt::RoutineOp update, func::FuncOp code, const SymbolTable &functions);

/// Takes a reduction out of the update, which from then on finds its result in `to`.
void takeOut(const GradientReduction &reduction, ppcrt::RoutineOp update, func::FuncOp code);

} // namespace mlir::ppc

#endif // PPC_LIB_TRANSFORMS_OVERLAP_GRADIENTREDUCTIONS_H
