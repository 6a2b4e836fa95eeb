// The constraints of the contract of programs that are about time.
#ifndef PPC_LIB_TRANSFORMS_CONTRACTS_PROGRAMTIME_H
#define PPC_LIB_TRANSFORMS_CONTRACTS_PROGRAMTIME_H

#include "dialects/ppcrt/PpcRt.h"

namespace mlir::ppc {

/// Checks the step or the evaluation of all devices: there is no deadlock, of two uses of a slot of a buffer, one
/// of them a write, one happens before the other, and a value that is read was written, for the same micro-batch.
/// Errors are at the op, with notes at the other ends.
LogicalResult verifyTime(ppcrt::ProgramOp program, ppcrt::ProgramSymbols &symbols, bool isEvaluation);

} // namespace mlir::ppc

#endif // PPC_LIB_TRANSFORMS_CONTRACTS_PROGRAMTIME_H
