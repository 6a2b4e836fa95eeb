// ppc-expand-cross-entropy: the loss as log_sum_exp minus the picked logit.
#include "ppc/Transforms/Sharding/Passes.h"

#include "dialects/ppc/Ppc.h"
#include "mlir/IR/Builders.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_EXPANDCROSSENTROPYPASS
#include "ppc/Transforms/Sharding/Passes.h.inc"

namespace {

struct ExpandCrossEntropyPass : impl::ExpandCrossEntropyPassBase<ExpandCrossEntropyPass> {
  void runOnOperation() override {
    getOperation().walk([&](CrossEntropyOp op) {
      OpBuilder builder(op);
      Location loc = op.getLoc();
      Type rows = op.getLse().getType();
      auto lse = LogSumExpOp::create(builder, loc, rows, op.getLogits(), BlockAttr());
      auto picked = PickOp::create(builder, loc, rows, op.getLogits(), op.getTargets(), BlockAttr());
      auto nll = SubOp::create(builder, loc, rows, lse, picked);
      for (Operation *created : {lse.getOperation(), picked.getOperation(), nll.getOperation()})
        created->setDiscardableAttrs(op->getDiscardableAttrDictionary());
      op->replaceAllUsesWith(ValueRange{nll, lse});
      op.erase();
    });
  }
};

} // namespace
} // namespace mlir::ppc
