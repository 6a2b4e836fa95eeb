// Checks of the names in actions, for the verifier of programs.
#ifndef PPC_DIALECTS_PPCRT_IR_ACTIONNAMES_H
#define PPC_DIALECTS_PPCRT_IR_ACTIONNAMES_H

#include "dialects/ppcrt/PpcRt.h"

namespace mlir::ppcrt {

/// Checks that all names in the actions of `sequence`, a step or an evaluation of `device`, exist in the program and in
/// `module`, and fit their use; an error at the first action for which they do not (program_c6).
LogicalResult verifyActionNames(DeviceOp device, Operation &sequence, const ProgramSymbols &symbols,
                                const SymbolTable &module);

} // namespace mlir::ppcrt

#endif // PPC_DIALECTS_PPCRT_IR_ACTIONNAMES_H
