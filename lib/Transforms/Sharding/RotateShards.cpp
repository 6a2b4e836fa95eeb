// ppc-rotate-shards: gathers of parameters whose blocks go round the ranks instead.
#include "dialects/ppc/Ppc.h"
#include "dialects/ppcrt/PpcRt.h"
#include "ppc/Transforms/Sharding/Passes.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_ROTATESHARDSPASS
#include "ppc/Transforms/Sharding/Passes.h.inc"

namespace {

/// Of a parameter, over ranks that compute different things: each adds up what it computes of blocks in an order of its
/// own, so that ranks that hold the same value would round it differently.
bool isOfParameter(AllGatherOp gather, GridAttr grid) {
  return isa<BlockArgument>(gather.getX()) && llvm::all_of(axisNames(gather.getAxes()), [&](StringRef axis) {
           return grid.has(axis) && llvm::is_contained({AxisRole::Data, AxisRole::Context}, grid.role(axis));
         });
}

struct RotateShardsPass : impl::RotateShardsPassBase<RotateShardsPass> {
  void runOnOperation() override {
    PlanAttr plan = planOf(getOperation());
    if (!plan || !plan.rotates())
      return;
    for (auto code : getOperation().getOps<func::FuncOp>())
      if (std::optional<ppcrt::RoutineKind> kind = ppcrt::routineKindOf(code);
          kind && !ppcrt::isOfStep(*kind) && !code.isExternal())
        for (auto gather : code.getOps<AllGatherOp>())
          if (isOfParameter(gather, plan.getGrid()) && gather.canRotate())
            gather.setRotated(true);
  }
};

} // namespace
} // namespace mlir::ppc
