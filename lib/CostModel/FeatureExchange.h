// What ranks of compiled programs exchange where some of the tensor-parallel ones, rows, cut hidden features
// (ParallelLayout::tpRows). Products behind a norm give parts of sums; norms need whole features, and are computed on
// every row, of the part of the sequence that the columns leave.
#ifndef PPC_LIB_COSTMODEL_FEATUREEXCHANGE_H
#define PPC_LIB_COSTMODEL_FEATUREEXCHANGE_H

#include "LayerBuilder.h"

namespace mlir::ppc {

/// All of these append nothing where there is one row. Sums over rows of what products give, of so many elements each.
void sumOverRows(LayerBuilder &build, const PricingContext &context, LayerTransfer::When when,
                 llvm::ArrayRef<double> elements);
/// Around a norm: its weights, what it reads of the residual stream, and the gradient of its result.
void gatherNorm(LayerBuilder &build, const PricingContext &context, LayerOp &op);
/// What the first norm behind the embedding reads is kept whole: one gather less of those that gatherNorm counts.
void keepEmbedded(LayerBuilder &build, const PricingContext &context, LayerOp &op);

} // namespace mlir::ppc

#endif // PPC_LIB_COSTMODEL_FEATUREEXCHANGE_H
