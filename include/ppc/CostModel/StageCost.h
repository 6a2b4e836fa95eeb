// Cost of one micro-batch on one rank of each virtual stage: layers summed up to forward, backward, weight gradient and
// saved bytes. The step's time and memory are computed from these. In three steps, so that a search estimates each part
// once.
#ifndef PPC_COSTMODEL_STAGECOST_H
#define PPC_COSTMODEL_STAGECOST_H

#include "ppc/CostModel/LayerProgram.h"
#include "ppc/Scheduling/PipelineTime.h"

#include <array>

namespace mlir::ppc {

/// Kinds of layers that differ in cost. One layer of each kind is estimated.
enum class LayerKind { Embedding, Dense, DenseWindow, DenseIndex, Expert, ExpertWindow, ExpertIndex, Head };
constexpr int layerKinds = int(LayerKind::Head) + 1;
LayerKind layerKind(const ModelShape &model, int64_t layer);
constexpr bool hasExperts(LayerKind kind) { return kind >= LayerKind::Expert && kind <= LayerKind::ExpertIndex; }
constexpr bool hasIndex(LayerKind kind) { return kind == LayerKind::DenseIndex || kind == LayerKind::ExpertIndex; }
/// "embedding", "layer", "layer with window", "layer with index", the same three of an "expert layer", "head".
llvm::StringRef layerKindName(int kind);

/// Sums over the ops of a layer's program, computed once for all layouts that share it, so that the program itself need
/// not be kept. [1]: for layers that are fully recomputed.
struct LayerSums {
  Seconds forward, backward, weightGradient;
  Seconds recomputeModules, recomputeSelective, recomputeFull;
  std::array<Seconds, 2> communication;        // exposed, of forward and backward
  Seconds forwardCommunication;                // communication of forward
  Seconds forwardLeaving, backwardLeaving;     // link time of traffic that leaves a unit
  int forwardKernels = 0, backwardKernels = 0; // that the host launches one by one
  Seconds deviceBefore;                        // up to where the host waits for the device
  int kernelsBefore = 0;
  Bytes saved, savedSelective, weightOperands, weightInputs;
  double flops = 0, flopsSelective = 0, flopsFull = 0; // FLOPs of forward and backward, with recomputation of each kind
  Bytes input, backwardWorkspace;                      // LayerProgram's
  double parameters = 0, expertParameters = 0;         // likewise
  double roundedParameters = 0, f32Parameters = 0;     // likewise
};
LayerSums sumUp(const LayerProgram &program, const Stack &stack);

/// The sums of each kind of layer.
struct LayerTotals {
  std::array<LayerSums, layerKinds> sums; // sums of the kinds that are present
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
  Seconds stateExchange;                     // ZeRO-3's share: exposed all-gathers and reductions
  double parameters = 0, expertParameters = 0;
  double roundedParameters = 0, f32Parameters = 0; // LayerProgram's
  Bytes kept;                                      // from forward to backward
  Bytes keptForWeights;                            // from backward to the weight gradient
  Bytes inputsForWeights;                          // part of those, since forward
  Bytes working;  // its activations while it is recomputed, and the largest temporaries
  Bytes gathered; // ZeRO-3: its parameters, the next layer's prefetched parameters, and its gradients before they are
                  // scattered
  double repeatedFlops = 0; // FLOPs of recomputation in backward
  // For a replay of concurrent work instead of the sums above: the layer alone, with exposed collectives in
  // `forwardCommunication`, and the time of each exchange of its state alone.
  Seconds forwardAlone, backwardAlone, forwardCommunication;
  Seconds gather, scatter; // exchanges of ZeRO-3: of its parameters, of its gradients (also of ZeRO-2 that reduces
                           // every micro-batch)
};
/// By kind; [1]: wholly recomputed. Depends on zero, shardGroup, gradientGroup, parameterGroup, dp and recompute as
/// well.
struct LayerPrices {
  std::array<std::array<LayerPrice, 2>, layerKinds> prices;
  std::array<bool, layerKinds> present{};
  /// With arenas, activations between stages that are stored in the slot of a micro-batch: one of forward, one of
  /// backward.
  Bytes forwardMessage, backwardMessage;
  const LayerPrice &operator()(LayerKind kind, bool recomputed) const { return prices[int(kind)][recomputed]; }
};
/// Lower bound for such a layer with experts, forward and backward with nothing recomputed or exchanged, for all expert
/// degrees; the layout's are 1. For layers whose weights are all trained; not for arenas.
Seconds boundExpertLayer(const PricingContext &context, int64_t layer);
LayerPrices priceLayers(const PricingContext &context, const LayerTotals &layers);

/// Bytes of sent and received activations that a virtual stage keeps per micro-batch: its output, and the gradient that
/// it receives; the input of forward is a layer's input.
inline Bytes keptMessages(const LayerPrices &prices, bool isFirst, bool isLast) {
  return (isLast ? Bytes(0) : prices.forwardMessage + prices.backwardMessage) +
         (isFirst ? Bytes(0) : prices.backwardMessage);
}

/// Weights of the kinds of layers in a stage partition that is even by time.
std::array<double, layerKinds> cutTimes(const LayerTotals &layers, Recompute recompute);

/// Layers per virtual stage in model order: the layout's, or as the stack partitions.
std::vector<int64_t> cutLayers(const PricingContext &context, const LayerTotals &totals);

struct ChunkCost {
  std::array<int64_t, layerKinds> count{};
  std::array<int64_t, layerKinds> recomputed{}; // fully recomputed layers among those; the chunk's first of the kind
  StageDurations durations;
  Seconds communication; // exposed collectives in forward and backward
  Seconds stateExchange; // ZeRO-3's share: exposed all-gathers and reductions
  double parameters = 0, expertParameters = 0;
  double roundedParameters = 0, f32Parameters = 0; // LayerProgram's
  Bytes kept;                                      // per micro-batch, from forward to backward
  Bytes keptForWeights;     // part of those, from backward to the weight gradient, if that runs separately
  Bytes inputsForWeights;   // part of the latter, since forward
  Bytes working, gathered;  // LayerPrice's, of the layer where they are most together
  double repeatedFlops = 0; // for one micro-batch on this rank: recomputation in backward

  /// Adds `times` layers of this cost; the caller counts their kinds.
  void add(const LayerPrice &price, double times);
};
/// Slowdown of a chunk's forward and of its backward by kernels that send and receive concurrently.
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

/// Cost of one virtual stage whose first `recomputed` layers are fully recomputed. `beside`: timeBesideMessages.
/// `splitBackward`: the schedule runs weight gradients separately; otherwise they are part of backward.
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
