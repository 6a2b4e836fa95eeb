// partition -> device: from ppc ops on tensors to functions on buffers at fixed offsets, each distinct one once, and
// one arena per rank. The target lowers the functions.
#include "mlir/Dialect/Func/Transforms/Passes.h"
#include "ppc/Phases/TargetPhases.h"
#include "ppc/Transforms/Arena/Passes.h"
#include "ppc/Transforms/Contracts/Passes.h"
#include "ppc/Transforms/Memory/Passes.h"
#include "ppc/Transforms/Outline/Passes.h"
#include "ppc/Transforms/Profile/Passes.h"

namespace mlir::ppc {

void buildDevicePhase(OpPassManager &pm, const Target &target, bool profile, bool verifyArena, bool overlap) {
  if (profile)
    pm.addPass(createNameOperationsPass());
  // No pass before the target's may drop or merge ops: the collectives of the model dialect are values without
  // effects, but a rank that leaves one out blocks the others. Each kind of layer once, before anything looks inside.
  pm.addPass(createOutlineLayersPass());
  pm.addPass(func::createDuplicateFunctionEliminationPass());
  // The functions of a stage only call from here on; nothing below looks at each call again.
  pm.addPass(createBindBuffersPass());
  target.addBodyPasses(pm, overlap);
  pm.addPass(createVerifyDevicePass());
  // Now that each function's scratch is known, the arena of each stage can be laid out.
  AssignArenaPassOptions arena;
  arena.alignment = target.capabilities().alignment;
  pm.addPass(createAssignArenaPass(arena));
  if (verifyArena) // before any pass merges views, which then live longer than the values they replace
    pm.addPass(createVerifyArenaPass());
  if (profile)
    pm.addPass(createMarkOperationsPass());
}

} // namespace mlir::ppc
