// What lies in the scratch of a function, and from when until when.
#ifndef PPC_LIB_TRANSFORMS_CONTRACTS_SCRATCHLIFETIMES_H
#define PPC_LIB_TRANSFORMS_CONTRACTS_SCRATCHLIFETIMES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::ppc {

/// Of a function as `ppc-assign-offsets` leaves it: views of one argument of bytes at fixed offsets stand for
/// temporaries and for the scratch of calls. From its first to its last use, through whatever views of it and until
/// communication that was started has been waited for, no other one may lie on a byte of it. Found from the code
/// alone. What is in flight is not written meanwhile, what arrives not used at all, be it scratch or not. Errors are at
/// what does so, with notes at start and wait; or at the view that comes later, with notes at the other one and at its
/// last use.
LogicalResult verifyScratchLifetimes(func::FuncOp function);

} // namespace mlir::ppc

#endif // PPC_LIB_TRANSFORMS_CONTRACTS_SCRATCHLIFETIMES_H
