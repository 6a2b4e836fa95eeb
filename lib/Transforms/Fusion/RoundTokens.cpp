// ppc-round-tokens: convert(dispatch(x)) becomes dispatch(convert(x)).
#include "ppc/Transforms/Fusion/Passes.h"

#include "dialects/ppc/Ppc.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_ROUNDTOKENSPASS
#include "ppc/Transforms/Fusion/Passes.h.inc"

namespace {
struct RoundTokensPass : impl::RoundTokensPassBase<RoundTokensPass> {
  void runOnOperation() override {
    SmallVector<ConvertOp> converts;
    getOperation()->walk([&](ConvertOp op) { converts.push_back(op); });
    for (ConvertOp convert : converts) {
      auto dispatch = convert.getX().getDefiningOp<DispatchOp>();
      // What is multiplied by a weight on the way is rounded behind it.
      if (!dispatch || dispatch.getWeights() || !convert.getX().hasOneUse() ||
          !tensorType(dispatch.getX()).getElementType().isF32() || !convert.getType().getElementType().isBF16())
        continue;
      OpBuilder builder(dispatch);
      Value rounded =
          ConvertOp::create(builder, convert.getLoc(),
                            tensorType(dispatch.getX()).clone(convert.getType().getElementType()), dispatch.getX());
      dispatch.getXMutable().assign(rounded);
      dispatch.getSlots().setType(convert.getType());
      convert.replaceAllUsesWith(dispatch.getSlots());
      convert.erase();
    }
  }
};
} // namespace
} // namespace mlir::ppc
