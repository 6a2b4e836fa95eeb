// The step of a program as the replay takes it.
#ifndef PPC_LIB_TRANSFORMS_OVERLAP_STEPPROGRAMREADER_H
#define PPC_LIB_TRANSFORMS_OVERLAP_STEPPROGRAMREADER_H

#include "dialects/ppcrt/PpcRt.h"
#include "ppc/Simulation/StepProgram.h"

namespace mlir::ppc {

/// Walks actions, routines and the functions that their code calls. Fails with an error at the op: code with
/// tensors or with communication in a loop, a group by a list of ranks, a kind of action that the CPU backend does not
/// support, a token that the code does not return.
FailureOr<StepProgram> readStepProgram(ppcrt::ProgramOp program);

} // namespace mlir::ppc

#endif // PPC_LIB_TRANSFORMS_OVERLAP_STEPPROGRAMREADER_H
