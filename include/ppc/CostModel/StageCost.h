// What one rank of each virtual stage does for one micro-batch: layers summed up to forward, backward, weight gradient and
// kept bytes. The step's time and memory are made of these.
#ifndef PPC_COSTMODEL_STAGECOST_H
#define PPC_COSTMODEL_STAGECOST_H

#include "ppc/CostModel/LayerProgram.h"
#include "ppc/Scheduling/PipelineTime.h"

namespace mlir::ppc {

/// Layers of one kind in a chunk, and what one of them costs.
constexpr int layerKinds = 6; // embedding, dense, dense with window, experts, experts with window, head
/// "embedding", "layer", "layer with window", "expert layer", "expert layer with window", "head".
llvm::StringRef layerKindName(int kind);

struct ChunkCost {
  std::array<int64_t, layerKinds> count{};
  StageDurations durations;
  Seconds communication;   // exposed collectives in forward and backward
  Seconds stateExchange;   // of ZeRO-3 within them: gathers and reductions that stay exposed
  double parameters = 0, expertParameters = 0;
  Bytes kept;              // per micro-batch, from forward to backward
  Bytes keptForWeights;    // of those, from backward to the weight gradient
  Bytes working;           // one layer's activations while it is recomputed, and the largest temporaries
  double hardwareFlops = 0; // of one micro-batch on this rank, forward and backward, recomputation included
};

struct ModelCosts {
  std::array<LayerProgram, layerKinds> programs;
  std::array<bool, layerKinds> present{};
  std::vector<ChunkCost> chunks; // virtual stages in model order
};

/// Prices each kind of layer once, cuts the model into pp x vp chunks, sums up.
ModelCosts priceChunks(const PricingContext &context, bool splitBackward);

} // namespace mlir::ppc

#endif // PPC_COSTMODEL_STAGECOST_H
