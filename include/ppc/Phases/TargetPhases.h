// The phases that a target has a part in: from one stage's tensor program to code.
#ifndef PPC_PHASES_TARGETPHASES_H
#define PPC_PHASES_TARGETPHASES_H

#include "ppc/Target/Target.h"

namespace mlir::ppc {

/// partition -> device: functions outlined and merged, lowered by the target, buffers at offsets in one scratch per
/// function, an arena per rank. With `profile` the program records when each operation starts (ppc-mark-operations).
/// `verifyArena` checks the layout of memory afterwards (ppc-verify-arena). `overlap`: collectives of compiled
/// functions run concurrently with ops that do not use them (ppc-start-collectives).
void buildDevicePhase(OpPassManager &pm, const Target &target, bool profile = false, bool verifyArena = true,
                      bool overlap = false);

/// Registers `ppc-phase-device` (option `target`) and, for each target, `ppc-phase-NAME` (device -> code) for textual
/// pipelines, and the passes they are made of.
void registerTargetPhases();

/// Registers the dialects of these phases and the interfaces that bufferization needs for them.
void registerTargetDialects(DialectRegistry &registry);

} // namespace mlir::ppc

#endif // PPC_PHASES_TARGETPHASES_H
