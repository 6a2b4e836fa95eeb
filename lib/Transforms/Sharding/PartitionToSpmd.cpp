// ppc-partition-to-spmd: runs the rewriter on every function.
#include "ppc/Transforms/Sharding/Passes.h"
#include "ppc/Transforms/Sharding/SpmdRewriter.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_PARTITIONTOSPMDPASS
#include "ppc/Transforms/Sharding/Passes.h.inc"

namespace {

struct PartitionToSpmdPass : impl::PartitionToSpmdPassBase<PartitionToSpmdPass> {
  void runOnOperation() override {
    PlanAttr plan = planOf(getOperation());
    if (!plan) {
      getOperation().emitError("has no ppc.plan: run ppc-make-plan and ppc-apply-plan first");
      return signalPassFailure();
    }
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      if (failed(verifyStatedAxes(function, plan.getGrid())))
        return signalPassFailure();
      SpmdRewriter rewriter(function, plan.getGrid());
      if (failed(rewriter.run()))
        return signalPassFailure();
    }
  }
};

} // namespace
} // namespace mlir::ppc
