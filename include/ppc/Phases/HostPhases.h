// The phases from one stage's tensor program to host code: device and host.
#ifndef PPC_PHASES_HOSTPHASES_H
#define PPC_PHASES_HOSTPHASES_H

#include "mlir/Pass/PassManager.h"

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::ppc {

/// partition -> device: bodies outlined and merged, loops fused, buffers at offsets in one scratch per function.
/// With `profile` the program notes when each operation begins (ppc-mark-operations). `verifyArena` checks the layout
/// of memory afterwards (ppc-verify-arena). `overlap`: collectives of bodies run beside what does not need them
/// (ppc-start-collectives).
void buildDevicePhase(OpPassManager &pm, bool profile = false, bool verifyArena = true, bool overlap = false);

/// device -> host code: LLVM dialect, entries `void name(void **buffers)`, calls of the runtime.
void buildHostPhase(OpPassManager &pm);

/// Registers `ppc-phase-device` and `ppc-phase-host` for textual pipelines, and the passes they are made of.
void registerHostPhases();

/// The dialects of these phases and what bufferization must know of them.
void registerHostDialects(DialectRegistry &registry);

} // namespace mlir::ppc

#endif // PPC_PHASES_HOSTPHASES_H
