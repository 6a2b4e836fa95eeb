// What one rank of a compiled program holds in its arena (docs/internals/CostModel.md, Memory): the values that
// backward reads, each once and as wide as ppc-lower-precision leaves it, in the slot of its micro-batch, and the
// scratch of backward. Replaces the `saved` of ops and the workspace of layer programs for stacks with `arena`. Bytes
// of what is not known op by op (experts, latent projections) stay as their builders say.
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

/// What programs keep of messages and inputs on the device whatever is offloaded (ppc-offload-activations), of each
/// micro-batch: the messages of a virtual stage, among them the input of its first layer; ids or targets.
Bytes stayingBytes(const PricingContext &context, size_t stage, size_t stageCount);

/// Of what a micro-batch leaves in a chunk beside `stayingBytes`, what lies in places of its own elements and sizes:
/// values of the residual stream; of layers without experts what lies between their products; logits and the logarithms
/// of their sums; gradients of logits that weight gradients wait for.
struct UnlikeBytes {
  Bytes stream, feedForward, logits, logitGradients;
};
UnlikeBytes unlikeBytes(const PricingContext &context, const ChunkCost &chunk);

/// Elements of a tied embedding beside those that the embedding counts: a last stage without the embedding has a table
/// of its own; where both are, each ends a gradient of it. Zero for other stacks.
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
