// A routine of the whole step as several, which run one after the other.
#ifndef PPC_LIB_TRANSFORMS_OFFLOAD_ROUTINEPARTS_H
#define PPC_LIB_TRANSFORMS_OFFLOAD_ROUTINEPARTS_H

#include "dialects/ppc/Ppc.h"
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::ppc {

/// Of each op of a routine's code, other than constants and the return, the part that it goes to. An op comes no
/// earlier than what it uses.
using PartOfOp = DenseMap<Operation *, unsigned>;

/// Replaces `routine` by `count` routines, and its code by as many functions; the first keeps their names. A part reads
/// what an earlier one leaves where that is written, or in a buffer that is prepared and new. Constants are in each
/// part that uses them. Errors: a part would read a buffer after an earlier one has written something else there.
FailureOr<SmallVector<ppcrt::RoutineOp>> splitRoutine(ppcrt::RoutineOp routine, SymbolTable &functions,
                                                      const PartOfOp &partOf, unsigned count);

} // namespace mlir::ppc

#endif // PPC_LIB_TRANSFORMS_OFFLOAD_ROUTINEPARTS_H
