// ppc-round-tokens: convert(dispatch(x)) becomes dispatch(convert(x)).
#include "ppc/Transforms/Fusion/Passes.h"

#include "dialects/ppc/Ppc.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_ROUNDTOKENSPASS
#include "ppc/Transforms/Fusion/Passes.h.inc"

namespace {
/// Whether the loops that write the slots round: each token has its own slot, and no other op uses rounded tokens.
bool roundsOnTheWay(DispatchOp dispatch) {
  return dispatch.getType().getDimSize(2) == tensorType(dispatch.getX()).getDimSize(1) &&
         llvm::none_of(dispatch.getX().getUsers(), llvm::IsaPred<ConvertOp>);
}

struct RoundTokensPass : impl::RoundTokensPassBase<RoundTokensPass> {
  void runOnOperation() override {
    SmallVector<ConvertOp> converts;
    getOperation()->walk([&](ConvertOp op) { converts.push_back(op); });
    for (ConvertOp convert : converts) {
      auto dispatch = convert.getX().getDefiningOp<DispatchOp>();
      // Tokens that dispatch multiplies by weights are rounded after it.
      if (!dispatch || dispatch.getWeights() || roundsOnTheWay(dispatch) || !convert.getX().hasOneUse() ||
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
