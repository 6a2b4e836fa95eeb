#include "FeatureExchange.h"

using namespace mlir::ppc;
using When = LayerTransfer::When;

/// Over the rows, which are next to each other but for the columns; f32, which sums and norms are in.
static LayerTransfer overRows(const PricingContext &context, When when, TransferKind kind, double elements) {
  const ParallelLayout &layout = context.layout;
  return {when, kind, layout.tpRows, layout.tensorColumns(), 32, int64_t(elements)};
}

/// Elements of the residual stream with whole features, of a rank's part of the sequence.
static double wholeStream(const PricingContext &context) {
  const ParallelLayout &layout = context.layout;
  int64_t parts = layout.sequenceParallel ? layout.tensorColumns() : 1;
  return double(layout.microBatch) * largestShare(context.job.sequence / layout.cp, parts) *
         double(context.model.hidden);
}

void mlir::ppc::sumOverRows(LayerBuilder &build, const PricingContext &context, When when,
                            llvm::ArrayRef<double> elements) {
  if (context.layout.tpRows == 1)
    return;
  LayerOp &op = build.transfers("sums over rows", {});
  for (double each : elements)
    build.addTransfer(op, overRows(context, when, TransferKind::AllReduce, each));
}

void mlir::ppc::gatherNorm(LayerBuilder &build, const PricingContext &context, LayerOp &op) {
  if (context.layout.tpRows == 1)
    return;
  double hidden = double(context.model.hidden);
  LayerTransfer weights = overRows(context, When::Forward, TransferKind::AllGather, hidden);
  weights.calls = context.model.norm == NormKind::LayerNorm ? 2 : 1; // and its bias, which backward does not read
  build.addTransfer(op, weights);
  build.addTransfer(op, overRows(context, When::Again, TransferKind::AllGather, hidden));
  for (When when : {When::Forward, When::Again, When::Backward})
    build.addTransfer(op, overRows(context, when, TransferKind::AllGather, wholeStream(context)));
}

void mlir::ppc::keepEmbedded(LayerBuilder &build, const PricingContext &context, LayerOp &op) {
  if (context.layout.tpRows == 1 || context.model.scalesEmbedding) // what is scaled is another value
    return;
  LayerTransfer less = overRows(context, When::Again, TransferKind::AllGather, wholeStream(context));
  less.calls = -1;
  build.addTransfer(op, less);
}
