// plan -> partition: one program per stage, local shapes, explicit collectives and messages.
#include "ppc/Phases/Phases.h"
#include "ppc/Transforms/Arena/Passes.h"
#include "ppc/Transforms/Contracts/Passes.h"
#include "ppc/Transforms/Offload/Passes.h"
#include "ppc/Transforms/Overlap/Passes.h"
#include "ppc/Transforms/Pipeline/Passes.h"
#include "ppc/Transforms/Recompute/Passes.h"
#include "ppc/Transforms/Sharding/Passes.h"

namespace mlir::ppc {

void buildPartitionPhase(OpPassManager &pm, ArrayRef<int64_t> bytesNotToKeep, bool overlap, StringRef cluster) {
  pm.addPass(createPartitionToSpmdPass());
  pm.addPass(createSimplifyCollectivesPass());
  // Decided on the values that each rank really saves, collectives included.
  pm.addPass(createSelectRecomputePass());
  FitRecomputePassOptions fit;
  fit.save.assign(bytesNotToKeep.begin(), bytesNotToKeep.end());
  pm.addPass(createFitRecomputePass(fit));
  pm.addPass(createMaterializeRecomputePass());
  pm.addPass(createVerifySpmdPass());
  pm.addPass(createSplitStagesPass());
  pm.addPass(createApplySchedulePass());
  pm.addPass(createRotateShardsPass());
  if (overlap) {
    pm.addPass(createOverlapReductionsPass(OverlapReductionsPassOptions{cluster.str()}));
    pm.addPass(createPrefetchGathersPass(PrefetchGathersPassOptions{cluster.str()}));
    pm.addPass(createCutProductsPass(CutProductsPassOptions{cluster.str()}));
  }
  pm.addPass(createOffloadParametersPass());
  pm.addPass(createOffloadActivationsPass());
  pm.addPass(createOffloadOptimizerPass());
  pm.addPass(createShareSlotsPass());
  pm.addPass(createVerifyProgramPass());
}

} // namespace mlir::ppc
