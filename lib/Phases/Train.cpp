// import -> train: a loss becomes a training step.
#include "mlir/Transforms/Passes.h"
#include "ppc/Phases/Phases.h"
#include "ppc/Transforms/Autodiff/Passes.h"
#include "ppc/Transforms/Contracts/Passes.h"

namespace mlir::ppc {

void buildTrainPhase(OpPassManager &pm, const TrainOptions &options) {
  pm.addPass(createSliceSequencePass());
  // Unused values need no gradient.
  pm.addPass(createCSEPass());
  pm.addPass(createBuildBackwardPass());
  // Ops with several gradients build one copy for each; here they become one.
  pm.addPass(createCSEPass());
  pm.addPass(createSplitMicrobatchesPass(SplitMicrobatchesPassOptions{options.microBatches}));
  AppendOptimizerPassOptions optimizer;
  optimizer.beta1 = options.beta1;
  optimizer.beta2 = options.beta2;
  optimizer.epsilon = options.epsilon;
  optimizer.weightDecay = options.weightDecay;
  optimizer.maxNorm = options.maxNorm;
  pm.addPass(createAppendOptimizerPass(optimizer));
  pm.addPass(createVerifyModelPass());
}

} // namespace mlir::ppc
