// Communication of ranks that have parts of a sequence between matmuls, before and after these: all columns of tensor
// parallelism with sequence parallelism, or some of them with depth.
#ifndef PPC_LIB_COSTMODEL_SEQUENCEEXCHANGE_H
#define PPC_LIB_COSTMODEL_SEQUENCEEXCHANGE_H

#include "LayerBuilder.h"

namespace mlir::ppc {

/// Parts of each sequence between matmuls, and the stride of the ranks that have them.
inline int64_t sequenceParts(const ParallelLayout &layout) {
  return layout.sequenceParallel ? layout.tensorColumns() : layout.tpDepth;
}
inline int64_t sequenceStride(const ParallelLayout &layout) {
  return layout.sequenceParallel ? 1 : layout.tp / layout.tpDepth;
}
inline bool cutsSequence(const ParallelLayout &layout) { return sequenceParts(layout) > 1; }

/// A collective over the ranks that have the parts; `elements` of all parts.
LayerTransfer overSequence(const PricingContext &context, LayerTransfer::When when, TransferKind kind, int64_t bits,
                           double elements);

/// Reduces partial sums on all columns, f32, to parts of the sequence: reduce-scatters over these, and sums each part
/// over the columns that have the same one; or, if the sums are few and not a norm's result, sums over all columns at
/// once, as the reshard planner does. `elements` of all parts.
void sumIntoSequence(LayerBuilder &build, const PricingContext &context, LayerOp &op, LayerTransfer::When when,
                     double elements, bool behindNorm = false);

} // namespace mlir::ppc

#endif // PPC_LIB_COSTMODEL_SEQUENCEEXCHANGE_H
