// Arena memory of one rank of a compiled program (docs/internals/CostModel.md, Memory): values saved for backward, each
// once and as wide as ppc-lower-precision leaves it, in the slot of its micro-batch, and the scratch of backward.
// Replaces the `saved` of ops and the workspace of layer programs for stacks with `arena`. Bytes that are not known op
// by op (experts, latent projections) stay as their builders set them.
#ifndef PPC_LIB_COSTMODEL_ARENAMEMORY_H
#define PPC_LIB_COSTMODEL_ARENAMEMORY_H

#include "LayerBuilder.h"
#include "ppc/CostModel/StepParts.h"

namespace mlir::ppc {

void setEmbeddingArenaBytes(const PricingContext &context, LayerProgram &program);
/// `layer`: as for buildLayer.
void setArenaBytes(const PricingContext &context, int64_t layer, LayerProgram &program);
void setHeadArenaBytes(const PricingContext &context, LayerProgram &program);

/// A message of forward and one of backward between stages.
std::pair<Bytes, Bytes> arenaMessages(const PricingContext &context);

/// Bytes per micro-batch that stay on the device whatever is offloaded (ppc-offload-activations): sent and received
/// activations of a virtual stage, among them the input of its first layer; ids or targets.
Bytes stayingBytes(const PricingContext &context, size_t stage, size_t stageCount);

/// Bytes that a micro-batch saves in a chunk besides `stayingBytes`, in slots of their own element types and sizes:
/// values of the residual stream; for layers without experts values between their matmuls; logits and the logarithms of
/// their sums; gradients of logits that weight gradients wait for.
struct UnlikeBytes {
  Bytes stream, feedForward, logits, logitGradients;
};
UnlikeBytes unlikeBytes(const PricingContext &context, const ChunkCost &chunk);

/// Elements of a tied embedding besides those that the embedding counts: a last stage without the embedding has a
/// separate table; a stage with both makes a gradient of the table for each. Zero for other stacks.
struct TiedTable {
  double own = 0, again = 0;
};
TiedTable tiedTable(const PricingContext &context, llvm::ArrayRef<ChunkCost> chunks,
                    llvm::ArrayRef<PipelineChunk> held);

/// Scratch of the update: with ZeRO-1 a rank's block of the gradient that is being reduced and of the parameter that is
/// being gathered, of the largest parameters, the tables of the vocabulary.
Bytes updateScratch(const PricingContext &context, llvm::ArrayRef<ChunkCost> chunks,
                    llvm::ArrayRef<PipelineChunk> held);

} // namespace mlir::ppc

#endif // PPC_LIB_COSTMODEL_ARENAMEMORY_H
