// Splits a routine of the whole step into several, which run one after the other.
#ifndef PPC_LIB_TRANSFORMS_OFFLOAD_ROUTINEPARTS_H
#define PPC_LIB_TRANSFORMS_OFFLOAD_ROUTINEPARTS_H

#include "dialects/ppc/Ppc.h"
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::ppc {

/// Part of each op of a routine's code, other than constants and the return. An op's part is not before the parts
/// of its operands.
using PartOfOp = DenseMap<Operation *, unsigned>;

/// Replaces `routine` by `count` routines, and its code by as many functions; the first keeps their names. A part
/// reads results of an earlier one from the buffer that they are written to, or from a new `prepared` buffer. Constants
/// are in each part that uses them. Errors: a part would read a buffer after an earlier one has overwritten it.
FailureOr<SmallVector<ppcrt::RoutineOp>> splitRoutine(ppcrt::RoutineOp routine, SymbolTable &functions,
                                                      const PartOfOp &partOf, unsigned count);

} // namespace mlir::ppc

#endif // PPC_LIB_TRANSFORMS_OFFLOAD_ROUTINEPARTS_H
