// What ranks that have parts of a sequence between products exchange at the edges of these: all columns of tensor
// parallelism with sequence parallelism, or some of them with depth.
#ifndef PPC_LIB_COSTMODEL_SEQUENCEEXCHANGE_H
#define PPC_LIB_COSTMODEL_SEQUENCEEXCHANGE_H

#include "LayerBuilder.h"

namespace mlir::ppc {

/// Parts of each sequence between products, and how far apart the ranks are that have them.
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

/// Parts of sums on all columns, f32, that are wanted in parts of the sequence: scattered over these, and each part
/// summed over the columns that have the same one; or, where they are few and not those of a norm's result, summed over
/// all columns at once, as the reshard planner says. `elements` of all parts.
void sumIntoSequence(LayerBuilder &build, const PricingContext &context, LayerOp &op, LayerTransfer::When when,
                     double elements, bool behindNorm = false);

} // namespace mlir::ppc

#endif // PPC_LIB_COSTMODEL_SEQUENCEEXCHANGE_H
