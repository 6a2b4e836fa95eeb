// ppc-fuse-elementwise: upstream's fusion of elementwise linalg.generic ops, with a rule for when it is profitable.
#include "ppc/Transforms/Fusion/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_FUSEELEMENTWISEPASS
#include "ppc/Transforms/Fusion/Passes.h.inc"

namespace {
/// A producer with other users would be recomputed for each of them; a consumer with a larger loop nest would
/// recompute it for each iteration that it does not depend on.
bool pays(OpOperand *operand) {
  auto producer = operand->get().getDefiningOp<linalg::LinalgOp>();
  auto consumer = dyn_cast<linalg::LinalgOp>(operand->getOwner());
  if (!producer || !consumer)
    return false;
  bool oneUser = llvm::all_of(producer->getUsers(), [&](Operation *user) { return user == consumer; });
  return oneUser && producer.getNumLoops() == consumer.getNumLoops();
}

struct FuseElementwisePass : impl::FuseElementwisePassBase<FuseElementwisePass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    linalg::populateElementwiseOpsFusionPatterns(patterns, pays);
    linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
} // namespace mlir::ppc
