// Op-sharded layer on one rank as a LayerProgram for the step model, so that results of the search over templates and
// layouts by degrees of parallelism compare by one measure.
//
// The search adds up kernels and transfers. Here, as in layers by degrees, the sum of an activation's gradient overlaps
// with the weight gradients of the matmuls that use it, values gathered again for backward overlap with their other
// gradients, and elementwise ops with a single reader are fused, if the stack does so.
#ifndef PPC_PLANNING_CHAIN_TEMPLATEPROGRAM_H
#define PPC_PLANNING_CHAIN_TEMPLATEPROGRAM_H

#include "ppc/CostModel/LayerProgram.h"
#include "ppc/Planning/Chain/TemplateNetwork.h"

namespace mlir::ppc {

struct TemplateProgram {
  LayerProgram program; // names belong to the template's ops and values, which must outlive it
  Bytes copies;         // bytes of parameters in other layouts than their stored one, and their gradients; per step
};

/// Returns the ledger entry of a reshard step in compiled programs, in forward; std::nullopt if nothing moves.
/// Neighbours along the innermost axis are `stride` apart.
std::optional<LayerTransfer> transferOf(const ReshardStep &step, llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
                                        llvm::ArrayRef<LayoutAxis> grid, int64_t stride = 1);

/// Builds the program. `context` has the stack's overlap and fusion; its layout's tp is the size of the whole mesh of
/// `pricing`. `pricePerByte`: cost of memory at which the choice was made.
TemplateProgram buildTemplateProgram(const TemplatePricing &pricing, const PricingContext &context,
                                     const OpTemplate &layer, TemplateNetwork &network, const TemplateChoice &choice,
                                     double pricePerByte);

} // namespace mlir::ppc

#endif // PPC_PLANNING_CHAIN_TEMPLATEPROGRAM_H
