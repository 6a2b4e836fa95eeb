// Communication of compiled programs if some tensor-parallel ranks, rows, shard hidden features
// (ParallelLayout::tpRows). Matmuls after a norm make partial sums; norms need full features, and are computed on every
// row, for the row's part of the sequence of the columns.
#ifndef PPC_LIB_COSTMODEL_FEATUREEXCHANGE_H
#define PPC_LIB_COSTMODEL_FEATUREEXCHANGE_H

#include "LayerBuilder.h"

namespace mlir::ppc {

/// Sums over rows of results of matmuls, with these numbers of elements. Like all functions below it appends nothing if
/// there is one row.
void sumOverRows(LayerBuilder &build, const PricingContext &context, LayerTransfer::When when,
                 llvm::ArrayRef<double> elements);
/// Around a norm: its weights, its input from the residual stream, and the gradient of its result.
void gatherNorm(LayerBuilder &build, const PricingContext &context, LayerOp &op);
/// The input of the first norm after the embedding stays gathered: one all-gather fewer than gatherNorm counts.
void keepEmbedded(LayerBuilder &build, const PricingContext &context, LayerOp &op);

} // namespace mlir::ppc

#endif // PPC_LIB_COSTMODEL_FEATUREEXCHANGE_H
