// Lifetimes of temporaries in the scratch of a function.
#ifndef PPC_LIB_TRANSFORMS_CONTRACTS_SCRATCHLIFETIMES_H
#define PPC_LIB_TRANSFORMS_CONTRACTS_SCRATCHLIFETIMES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::ppc {

/// Checks a function after `ppc-assign-offsets`: views of one argument of bytes at fixed offsets are temporaries
/// and the scratch of calls. From its first to its last use, through whatever views of it and until the wait of
/// communication that was started, no other one may use a byte of it. Found from the code alone. The source of
/// communication in flight is not written meanwhile, its destination not used at all, be it scratch or not. Errors are
/// at the op that violates this, with notes at start and wait; or at the later view, with notes at the other one and at
/// its last use.
LogicalResult verifyScratchLifetimes(func::FuncOp function);

} // namespace mlir::ppc

#endif // PPC_LIB_TRANSFORMS_CONTRACTS_SCRATCHLIFETIMES_H
