// Time of a step of a compiled program on an emulated machine: every rank with its streams, tokens and completion
// events inside routines, each collective and transfer on the links of its ranks. Nothing is estimated or fitted:
// segments of routines take the given times, transfers those of rings on their ports (docs/guide/Emulate.md).
#ifndef PPC_SIMULATION_PROGRAMREPLAY_H
#define PPC_SIMULATION_PROGRAMREPLAY_H

#include "ppc/Simulation/EmulatedMachine.h"

namespace mlir::ppc {

/// Times of one rank in a step, the mean of the replayed steps.
struct ReplayedRank {
  Seconds step;
  Seconds exposed; // part of the step during which no routine computes
};

/// Returns times by rank. Steps follow each other: each rank starts one when all its actions of the previous step have
/// completed. All ranks start the first step together. Errors: actions that wait for each other in a cycle; members of
/// a group with different numbers of calls.
llvm::Expected<std::vector<ReplayedRank>> replayProgram(const StepProgram &program, const EmulatedMachine &machine,
                                                        int64_t steps);

} // namespace mlir::ppc

#endif // PPC_SIMULATION_PROGRAMREPLAY_H
