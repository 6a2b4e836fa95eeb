// partition -> device: from ppc ops on tensors to loops and library calls on buffers at fixed offsets.
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"
#include "ppc/Conversion/Passes.h"
#include "ppc/Phases/HostPhases.h"
#include "ppc/Transforms/Arena/Passes.h"
#include "ppc/Transforms/Contracts/Passes.h"
#include "ppc/Transforms/Fusion/Passes.h"
#include "ppc/Transforms/Memory/Passes.h"
#include "ppc/Transforms/Outline/Passes.h"
#include "ppc/Transforms/Overlap/Passes.h"
#include "ppc/Transforms/Profile/Passes.h"

namespace mlir::ppc {

void buildDevicePhase(OpPassManager &pm, bool profile, bool verifyArena, bool overlap) {
  if (profile)
    pm.addPass(createNameOperationsPass());
  // No pass before ppc-to-ppc-rt may drop or merge ops: the collectives of the model dialect are values without
  // effects, but a rank that leaves one out blocks the others. Each kind of layer once, before anything looks inside.
  pm.addPass(createOutlineLayersPass());
  pm.addPass(func::createDuplicateFunctionEliminationPass());
  // The functions of a stage only call from here on; nothing below looks at each call again.
  pm.addPass(createBindBuffersPass());
  // Where results go is decided while a value is still a value.
  pm.addPass(createPassDestinationsPass());
  // Products become library calls before sums become loops, so that a sum can go into the call; collectives that were
  // rearranged by loops follow.
  pm.addPass(createPpcToPpcRtPass());
  pm.addPass(createFuseAccumulationPass());
  pm.addPass(createFuseRoundingPass());
  pm.addPass(createPpcToLinalgPass());
  pm.addPass(createPpcToPpcRtPass());
  pm.addPass(createFuseElementwisePass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // Buffers: loops write straight to the destinations.
  pm.addPass(bufferization::createEmptyTensorEliminationPass());
  bufferization::OneShotBufferizePassOptions bufferize;
  bufferize.bufferizeFunctionBoundaries = true;
  bufferize.functionBoundaryTypeConversion = bufferization::LayoutMapOption::IdentityLayoutMap;
  bufferize.unknownTypeConversion = bufferization::LayoutMapOption::IdentityLayoutMap;
  pm.addPass(bufferization::createOneShotBufferizePass(bufferize));
  pm.addPass(createCanonicalizerPass()); // drops copies of a buffer to itself
  pm.addPass(bufferization::createDropEquivalentBufferResultsPass());
  pm.addPass(createCanonicalizerPass());
  if (overlap)
    pm.addPass(createStartCollectivesPass());
  pm.addPass(createAssignOffsetsPass());
  pm.addPass(createVerifyDevicePass());
  // Now that each function's scratch is known, the arena of each stage can be laid out.
  pm.addPass(createAssignArenaPass());
  if (verifyArena) // before anything merges views, which then live longer than what they stand for
    pm.addPass(createVerifyArenaPass());
  if (profile)
    pm.addPass(createMarkOperationsPass());
}

} // namespace mlir::ppc
