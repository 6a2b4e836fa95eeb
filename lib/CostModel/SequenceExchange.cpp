#include "SequenceExchange.h"

#include "ppc/Sharding/ReshardPlanner.h"

using namespace mlir::ppc;

LayerTransfer mlir::ppc::overSequence(const PricingContext &context, LayerTransfer::When when, TransferKind kind,
                                      int64_t bits, double elements) {
  const ParallelLayout &layout = context.layout;
  return {when, kind, sequenceParts(layout), sequenceStride(layout), bits, int64_t(elements)};
}

void mlir::ppc::sumIntoSequence(LayerBuilder &build, const PricingContext &context, LayerOp &op,
                                LayerTransfer::When when, double elements, bool behindNorm) {
  const ParallelLayout &layout = context.layout;
  const int64_t parts = sequenceParts(layout), others = layout.tensorColumns() / parts;
  if (others > 1 && !behindNorm) {
    LayoutAxis grid[] = {{"parts", parts}, {"others", others}};
    Layout from, to;
    from.dims.resize(2);
    from.partial = {0, 1};
    to.dims = {{0}, {}};
    ReshardPlan plan = llvm::cantFail(planReshard(grid, {parts, int64_t(elements) / parts}, 4, from, to));
    if (plan.steps.front().axes.size() == 2) {
      build.addTransfer(op, {when, TransferKind::AllReduce, layout.tensorColumns(), 1, 32, int64_t(elements)});
      return;
    }
  }
  build.addTransfer(op, overSequence(context, when, TransferKind::ReduceScatter, 32, elements));
  if (others > 1)
    build.addTransfer(op, {when, TransferKind::AllReduce, others, 1, 32, int64_t(elements) / parts});
}
