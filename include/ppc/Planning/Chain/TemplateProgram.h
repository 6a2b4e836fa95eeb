// What one rank executes for a layer that was cut op by op, as the program of a layer that the step model prices: so
// that what the search over templates finds and what degrees of parallelism say are compared by one measure.
//
// The search adds kernels and transfers up. Here, as in the layers of degrees, the sum of an activation's gradient runs
// beside the weight gradients of the products that use it, what is gathered again for backward beside their other
// gradients, and elementwise ops that nothing else reads are fused, where the stack does so.
#ifndef PPC_PLANNING_CHAIN_TEMPLATEPROGRAM_H
#define PPC_PLANNING_CHAIN_TEMPLATEPROGRAM_H

#include "ppc/CostModel/LayerProgram.h"
#include "ppc/Planning/Chain/TemplateNetwork.h"

namespace mlir::ppc {

struct TemplateProgram {
  LayerProgram program; // names are those of the template's ops and values, which must outlive it
  Bytes copies;         // of parameters in other layouts than they are stored in, and their gradients; per step
};

/// The row of a reshard step in compiled programs, of forward; none where nothing moves. The innermost axis's ranks are
/// `stride` apart.
std::optional<LayerTransfer> transferOf(const ReshardStep &step, llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
                                        llvm::ArrayRef<LayoutAxis> grid, int64_t stride = 1);

/// `context` says what the stack overlaps and fuses; its layout's tp is the size of the whole grid of `pricing`.
/// `pricePerByte`: at which the choice was made.
TemplateProgram buildTemplateProgram(const TemplatePricing &pricing, const PricingContext &context,
                                     const OpTemplate &layer, TemplateNetwork &network, const TemplateChoice &choice,
                                     double pricePerByte);

} // namespace mlir::ppc

#endif // PPC_PLANNING_CHAIN_TEMPLATEPROGRAM_H
