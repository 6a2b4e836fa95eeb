// What one rank of each virtual stage does for one micro-batch: layers summed up to forward, backward, weight gradient
// and kept bytes. The step's time and memory are made of these. In three steps, so that a search prices each part once.
#ifndef PPC_COSTMODEL_STAGECOST_H
#define PPC_COSTMODEL_STAGECOST_H

#include "ppc/CostModel/LayerProgram.h"
#include "ppc/Scheduling/PipelineTime.h"

#include <array>

namespace mlir::ppc {

/// What layers of a model differ by. One of each kind is priced.
enum class LayerKind { Embedding, Dense, DenseWindow, DenseIndex, Expert, ExpertWindow, ExpertIndex, Head };
constexpr int layerKinds = int(LayerKind::Head) + 1;
LayerKind layerKind(const ModelShape &model, int64_t layer);
constexpr bool hasExperts(LayerKind kind) { return kind >= LayerKind::Expert && kind <= LayerKind::ExpertIndex; }
constexpr bool hasIndex(LayerKind kind) { return kind == LayerKind::DenseIndex || kind == LayerKind::ExpertIndex; }
/// "embedding", "layer", "layer with window", "layer with index", the same three of an "expert layer", "head".
llvm::StringRef layerKindName(int kind);

/// What pricing asks of a layer's program, summed over its ops once for all layouts that share it: all that it asks, so
/// that the program itself need not be kept. [1]: of layers that are recomputed as a whole.
struct LayerSums {
  Seconds forward, backward, weightGradient;
  Seconds recomputeModules, recomputeSelective, recomputeFull;
  std::array<Seconds, 2> communication;        // exposed, of forward and backward
  Seconds forwardCommunication;                // of forward
  Seconds forwardLeaving, backwardLeaving;     // links of what leaves a unit
  int forwardKernels = 0, backwardKernels = 0; // that the host launches one by one
  Seconds deviceBefore;                        // up to where the host waits for the device
  int kernelsBefore = 0;
  Bytes saved, savedSelective, weightOperands, weightInputs;
  double flops = 0, flopsSelective = 0, flopsFull = 0; // of forward and backward, with what each recomputes
  Bytes input, backwardWorkspace;                      // LayerProgram's
  double parameters = 0, expertParameters = 0;         // likewise
  double roundedParameters = 0, f32Parameters = 0;     // likewise
};
LayerSums sumUp(const LayerProgram &program, const Stack &stack);

/// The sums of each kind of layer.
struct LayerTotals {
  std::array<LayerSums, layerKinds> sums; // of those that are present
  std::array<bool, layerKinds> present{};
};

/// One rank's program of each kind of layer. Depends on these fields of the layout only: tp, cp, ep, etp,
/// sequenceParallel, microBatch, precision, contextKind, attention, fusedNorm, and, for stacks that do not fuse
/// gradient accumulation and below 16 bits, the number of micro-batches.
struct LayerPrograms : LayerTotals {
  std::array<LayerProgram, layerKinds> programs;
  void set(LayerKind kind, LayerProgram program, const Stack &stack); // with its sums
};
LayerPrograms buildPrograms(const PricingContext &context);
/// Their sums alone. `alike`: those of a layout that differs in `ep` and `etp` only, whose layers without experts are
/// the same; not of arenas.
LayerTotals totalPrograms(const PricingContext &context, const LayerTotals *alike = nullptr);

/// One layer and one micro-batch on one rank, as a stage sums it up.
struct LayerPrice {
  Seconds forward, backward, weightGradient; // host time, recomputation and state exchange included
  Seconds communication;                     // exposed collectives in forward and backward
  Seconds stateExchange;                     // of ZeRO-3 within them: gathers and reductions that stay exposed
  double parameters = 0, expertParameters = 0;
  double roundedParameters = 0, f32Parameters = 0; // LayerProgram's
  Bytes kept;                                      // from forward to backward
  Bytes keptForWeights;                            // from backward to the weight gradient
  Bytes inputsForWeights;                          // of those, since forward
  Bytes working;  // its activations while it is recomputed, and the largest temporaries
  Bytes gathered; // ZeRO-3: its parameters, the next layer's behind them, and its gradients before they are scattered
  double repeatedFlops = 0; // of what backward computes again
  // For a replay of what runs beside the layer instead of the sums above: the layer with nothing beside it, of which
  // `forwardCommunication` is exposed collectives, and what the exchange of its state takes once, by itself.
  Seconds forwardAlone, backwardAlone, forwardCommunication;
  Seconds gather, scatter; // of ZeRO-3: its parameters, its gradients (also of ZeRO-2 that reduces every micro-batch)
};
/// By kind; [1]: wholly recomputed. Depends on zero, shardGroup, gradientGroup, parameterGroup, dp and recompute as
/// well.
struct LayerPrices {
  std::array<std::array<LayerPrice, 2>, layerKinds> prices;
  std::array<bool, layerKinds> present{};
  /// Of arenas, messages between stages that lie in the slot of a micro-batch: one of forward, one of backward.
  Bytes forwardMessage, backwardMessage;
  const LayerPrice &operator()(LayerKind kind, bool recomputed) const { return prices[int(kind)][recomputed]; }
};
/// What such a layer with experts takes at least, forward and backward with nothing recomputed or exchanged, whatever
/// the expert degrees; the layout's are 1. Of layers whose weights are all trained; not of arenas.
Seconds boundExpertLayer(const PricingContext &context, int64_t layer);
LayerPrices priceLayers(const PricingContext &context, const LayerTotals &layers);

/// What a virtual stage keeps of messages per micro-batch: what it sends, and the gradient that it receives; what
/// forward receives is a layer's input.
inline Bytes keptMessages(const LayerPrices &prices, bool isFirst, bool isLast) {
  return (isLast ? Bytes(0) : prices.forwardMessage + prices.backwardMessage) +
         (isFirst ? Bytes(0) : prices.backwardMessage);
}

/// What a layer of each kind counts with where stages are cut evenly by time.
std::array<double, layerKinds> cutTimes(const LayerTotals &layers, Recompute recompute);

/// Layers per virtual stage in model order: the layout's, or as the stack cuts.
std::vector<int64_t> cutLayers(const PricingContext &context, const LayerTotals &totals);

struct ChunkCost {
  std::array<int64_t, layerKinds> count{};
  std::array<int64_t, layerKinds> recomputed{}; // of those, wholly; the chunk's first of the kind
  StageDurations durations;
  Seconds communication; // exposed collectives in forward and backward
  Seconds stateExchange; // of ZeRO-3 within them: gathers and reductions that stay exposed
  double parameters = 0, expertParameters = 0;
  double roundedParameters = 0, f32Parameters = 0; // LayerProgram's
  Bytes kept;                                      // per micro-batch, from forward to backward
  Bytes keptForWeights;     // of those, from backward to the weight gradient, where that runs by itself
  Bytes inputsForWeights;   // of the latter, since forward
  Bytes working, gathered;  // LayerPrice's, of the layer where they are most together
  double repeatedFlops = 0; // of one micro-batch on this rank, what backward computes again

  /// As many layers of this price; their kinds are the caller's to count.
  void add(const LayerPrice &price, double times);
};
/// What a chunk's forward and its backward each lose to the kernels that send and receive beside it.
Seconds timeBesideMessages(const PricingContext &context);

/// A virtual stage: layers [begin, begin + layers) of the model, the first also with the embedding, the last with
/// prediction layers and heads.
struct ChunkLayers {
  int64_t begin = 0, layers = 0;
  bool isFirst = false, isLast = false;
  /// Layers that can be recomputed: prediction layers count as the last ones.
  int64_t recomputable(const ModelShape &model) const { return layers + (isLast ? model.predictionLayers : 0); }
};
/// `counts`: layers per virtual stage.
std::vector<ChunkLayers> listChunks(llvm::ArrayRef<int64_t> counts);

/// One virtual stage of which the first `recomputed` layers are recomputed as a whole. `beside`: timeBesideMessages.
/// `splitBackward`: the schedule places weight gradients on their own; otherwise they are part of backward.
ChunkCost priceChunk(const ModelShape &model, const LayerPrices &prices, const ChunkLayers &chunk, int64_t recomputed,
                     Seconds beside, bool splitBackward);

/// All of them, with the layout's numbers of recomputed layers.
std::vector<ChunkCost> priceChunks(const PricingContext &context, const LayerPrices &prices,
                                   llvm::ArrayRef<int64_t> counts, bool splitBackward);

/// Layers of the model in each chunk, as ParallelLayout::stageLayers lists them: without embedding, head and prediction
/// layers, which the last chunk has besides.
std::vector<int64_t> layersPerChunk(const ModelShape &model, llvm::ArrayRef<ChunkCost> chunks);

struct ModelCosts : LayerPrograms {
  std::vector<ChunkCost> chunks; // virtual stages in model order
};

} // namespace mlir::ppc

#endif // PPC_COSTMODEL_STAGECOST_H
