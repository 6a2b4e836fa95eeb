// What the contract of programs says about time.
#ifndef PPC_LIB_TRANSFORMS_CONTRACTS_PROGRAMTIME_H
#define PPC_LIB_TRANSFORMS_CONTRACTS_PROGRAMTIME_H

#include "dialects/ppcrt/PpcRt.h"

namespace mlir::ppc {

/// Of the step or of the evaluation of all devices: nothing waits for ever, of two uses of a slot of a buffer, one of
/// them a write, one happens before the other, and what is read was written, for the same micro-batch. Errors are at
/// the op, with notes where the other ends are.
LogicalResult verifyTime(ppcrt::ProgramOp program, ppcrt::ProgramSymbols &symbols, bool isEvaluation);

} // namespace mlir::ppc

#endif // PPC_LIB_TRANSFORMS_CONTRACTS_PROGRAMTIME_H
