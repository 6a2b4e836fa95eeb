// How long a step of a compiled program takes on an emulated machine: every rank with its streams, tokens and early
// tokens, each collective and message on the links of the ranks that it joins. Nothing is estimated or fitted: pieces
// of routines take the times that are given, transfers those of rings on their ports (docs/guide/Emulate.md).
#ifndef PPC_SIMULATION_PROGRAMREPLAY_H
#define PPC_SIMULATION_PROGRAMREPLAY_H

#include "ppc/Simulation/EmulatedMachine.h"

namespace mlir::ppc {

/// Of a step, the mean of those that are replayed.
struct ReplayedRank {
  Seconds step;
  Seconds exposed; // of it, while no routine computes
};

/// By rank. Steps follow each other: each rank begins one when all of its actions of the one before have ended. All
/// ranks begin the first together. Errors: actions that wait for each other in a circle; members of a group that do not
/// make the same number of calls.
llvm::Expected<std::vector<ReplayedRank>> replayProgram(const StepProgram &program, const EmulatedMachine &machine,
                                                        int64_t steps);

} // namespace mlir::ppc

#endif // PPC_SIMULATION_PROGRAMREPLAY_H
