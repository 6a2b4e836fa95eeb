// Checks of actions that the verifier of programs makes.
#ifndef PPC_DIALECTS_PPCRT_IR_ACTIONNAMES_H
#define PPC_DIALECTS_PPCRT_IR_ACTIONNAMES_H

#include "dialects/ppcrt/PpcRt.h"

namespace mlir::ppcrt {

/// Whether what the actions of `sequence`, a step or an evaluation of `device`, name is in the program and in `module`,
/// and of use there; an error at the first action of which it is not (program_c6).
LogicalResult verifyActionNames(DeviceOp device, Operation &sequence, const ProgramSymbols &symbols,
                                const SymbolTable &module);

} // namespace mlir::ppcrt

#endif // PPC_DIALECTS_PPCRT_IR_ACTIONNAMES_H
