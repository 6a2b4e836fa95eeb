// Registers everything PPC has.
#include "ppc/InitPpc.h"
#include "dialects/ppc/Ppc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"
#include "ppc/Phases/Phases.h"
#include "ppc/Phases/TargetPhases.h"
#include "ppc/Transforms/Arena/Passes.h"
#include "ppc/Transforms/Autodiff/Passes.h"
#include "ppc/Transforms/Contracts/Passes.h"
#include "ppc/Transforms/Offload/Passes.h"
#include "ppc/Transforms/Overlap/Passes.h"
#include "ppc/Transforms/Pipeline/Passes.h"
#include "ppc/Transforms/Plan/Passes.h"
#include "ppc/Transforms/Precision/Passes.h"
#include "ppc/Transforms/Recompute/Passes.h"
#include "ppc/Transforms/Sharding/Passes.h"

namespace mlir::ppc {

void registerPpcDialects(DialectRegistry &registry) {
  registry.insert<PpcDialect, func::FuncDialect>();
  registerTargetDialects(registry);
}

void registerPpcPasses() {
  registerPpcArenaPasses();
  registerPpcAutodiffPasses();
  registerPpcContractsPasses();
  registerPpcOffloadPasses();
  registerPpcOverlapPasses();
  registerPpcPipelinePasses();
  registerPpcPlanPasses();
  registerPpcPrecisionPasses();
  registerPpcRecomputePasses();
  registerPpcShardingPasses();
  registerPpcPhases();
  registerTargetPhases();

  // Upstream passes that people combine with ours.
  registerCanonicalizerPass();
  registerCSEPass();
  registerStripDebugInfoPass();
}

} // namespace mlir::ppc
