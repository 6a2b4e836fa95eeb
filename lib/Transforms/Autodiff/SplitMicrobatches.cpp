// Micro-batching: splits the batch dimension of all values in time, as the partitioner shards it over devices, and
// sums.
#include "BatchAnalysis.h"
#include "mlir/IR/Builders.h"
#include "ppc/Transforms/Autodiff/Passes.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_SPLITMICROBATCHESPASS
#include "ppc/Transforms/Autodiff/Passes.h.inc"

namespace {

/// Moves the analysed ops into an accumulate op.
void rewrite(func::FuncOp function, BatchAnalysis &analysis, int64_t count) {
  analysis.makeParts();
  DenseSet<Operation *> inside(analysis.body.begin(), analysis.body.end());
  llvm::SetVector<Value> &yielded = analysis.yielded;
  Operation *first = &function.front().front();
  for (Operation &op : llvm::make_early_inc_range(function.front()))
    if (isPreparation(&op) && &op != first)
      op.moveBefore(first);
    else if (isPreparation(&op))
      first = first->getNextNode();
  OpBuilder builder(first);
  auto accumulate = AccumulateOp::create(builder, function.getLoc(), TypeRange(ValueRange(yielded.getArrayRef())),
                                         ValueRange(SmallVector<Value>(analysis.inputs.begin(), analysis.inputs.end())),
                                         builder.getI64IntegerAttr(count));
  Block *block = builder.createBlock(&accumulate.getBody());
  for (Value result : yielded)
    result.replaceUsesWithIf(accumulate.getSums()[std::distance(yielded.begin(), llvm::find(yielded, result))],
                             [&](OpOperand &use) { return !inside.contains(use.getOwner()); });
  for (Operation *op : analysis.body) {
    op->moveBefore(block, block->end());
    for (Value result : op->getResults())
      result.setType(analysis.partType(result));
  }
  for (BlockArgument input : analysis.inputs) {
    BlockArgument slice = block->addArgument(analysis.partType(input), input.getLoc());
    input.replaceUsesWithIf(slice, [&](OpOperand &use) { return inside.contains(use.getOwner()); });
  }
  builder.setInsertionPointToEnd(block);
  YieldOp::create(builder, function.getLoc(), yielded.getArrayRef());
}

/// Parameters that are added to the same values have one gradient (biases of parallel branches). Each gets a copy, and
/// so a sum of its own: the update reduces gradients between ranks in place.
void separateResults(func::FuncOp function) {
  DenseSet<Value> seen;
  for (OpOperand &result : function.front().getTerminator()->getOpOperands()) {
    Operation *op = result.get().getDefiningOp();
    if (seen.insert(result.get()).second || !op || isUpdate(op))
      continue;
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    auto copy = SumOp::create(builder, op->getLoc(), result.get().getType(), result.get());
    copy->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    result.set(copy);
  }
}

struct SplitMicrobatchesPass : impl::SplitMicrobatchesPassBase<SplitMicrobatchesPass> {
  using SplitMicrobatchesPassBase::SplitMicrobatchesPassBase;

  void runOnOperation() override {
    int64_t microBatches = count;
    if (auto plan = getOperation()->getAttrOfType<PlanAttr>(attr::plan); plan && microBatches == 0)
      microBatches = plan.getMicroBatches();
    if (microBatches < 0) {
      getOperation().emitError() << "count is " << microBatches << ", expected at least 1 micro-batch";
      return signalPassFailure();
    }
    microBatches = std::max<int64_t>(microBatches, 1);
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal() || !llvm::hasSingleElement(function.getBody())) {
        function.emitOpError("must have one block, the step, to be split into micro-batches");
        return signalPassFailure();
      }
      separateResults(function);
      BatchAnalysis analysis(function, microBatches);
      if (failed(analysis.run()))
        return signalPassFailure();
      rewrite(function, analysis, microBatches);
    }
  }
};

} // namespace
} // namespace mlir::ppc
