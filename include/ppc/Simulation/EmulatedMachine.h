// Links and durations as programs take them with `--emulate FILE` and write them with `--save-durations`
// (docs/guide/Emulate.md), for a replay of the same step.
#ifndef PPC_SIMULATION_EMULATEDMACHINE_H
#define PPC_SIMULATION_EMULATEDMACHINE_H

#include "ppc/Simulation/StepProgram.h"
#include "llvm/Support/Error.h"

namespace mlir::ppc {

/// Each rank has a port, or those share one that differ in axes of `sharedBy` only. It sends and receives at the rate
/// at the same time.
struct EmulatedLink {
  std::vector<int32_t> axes, sharedBy; // indices into StepProgram::axes
  BytesPerSecond rate;                 // rate of a port per direction; above 0
  Seconds latency;                     // latency of each step of an algorithm
};

struct EmulatedMachine {
  std::vector<EmulatedLink> links;
  std::vector<std::vector<std::vector<Seconds>>> pieces; // [device][routine][segment]

  /// The first link that has all of these axes; null where there is none.
  const EmulatedLink *linkOver(const std::vector<int32_t> &axes) const;
};

/// Reads an emulated machine. `durations` may be empty if `emulation` has them. Errors name the file and the key:
/// unreadable files, missing or unknown keys, axes that the program lacks, a group or transfers without a link,
/// devices, routines or segments that differ from the program's.
llvm::Expected<EmulatedMachine> readEmulatedMachine(const StepProgram &program, llvm::StringRef emulation,
                                                    llvm::StringRef durations);

} // namespace mlir::ppc

#endif // PPC_SIMULATION_EMULATEDMACHINE_H
