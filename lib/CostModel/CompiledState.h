// Parameters of a layer of a compiled program, tensor by tensor as the importer names their dimensions
// (lib/Import/HuggingFace): sizes on one rank of them, of their gradients and of the optimizer's state, and collectives
// of the update. Exact: padding of each dimension and of each block counts.
#ifndef PPC_LIB_COSTMODEL_COMPILEDSTATE_H
#define PPC_LIB_COSTMODEL_COMPILEDSTATE_H

#include "ppc/CostModel/StageCost.h"

namespace mlir::ppc {

/// Axes of a stage's ranks that can shard a gradient, as bits. The data-parallel ranks are two axes if some of them
/// share experts: ExpertAxis are those, DataAxis the others. RowAxis are rows of hidden features.
enum GradientAxes : unsigned {
  DataAxis = 1,
  HeadAxis = 2,
  GroupAxis = 4,
  ExpertAxis = 8,
  RowAxis = 16,
  TensorAxes = HeadAxis | GroupAxis,
};
constexpr unsigned axisSets = 32;

/// Ranks over which a gradient is summed besides the data-parallel ranks: none; those that share a key-value head;
/// those that do not; all tensor-parallel ranks, each of which has a part of the sequence; of depth the ranks with
/// other parts, and the columns with the same one.
enum class Summed { Data, SharedHeads, Heads, Tensor, Depth, Columns };

/// Sharding of the model's attention heads.
HeadCut compiledHeads(const PricingContext &context);
/// Whether attention reshards from the sequence to key-value heads; else keys and values are gathered.
bool exchangesKeys(const PricingContext &context);
/// Whether ranks that share a key-value head sum the gradient of its keys before it passes their norm: after it the
/// gradient is cast to bf16, which a partial sum must not be.
bool sumsKeysEarly(const PricingContext &context);

/// State of one layer of that kind. Depends on tp, its rows, ep, sequenceParallel, dp x cp, zero and precision of the
/// layout only: for parameters, context-parallel ranks are data-parallel ranks.
StateSizes compiledState(const PricingContext &context, LayerKind kind);

/// The parameters of all virtual stages: one layer of each kind, made once for all devices.
struct ModelState {
  std::array<StateSizes, layerKinds> layers;    // state of the kinds that exist
  std::array<double, axisSets> allTensors = {}; // StateSizes::tensorsCutOver of all devices; one of a tied table
};
/// Empty but of compiled transformers.
ModelState modelState(const PricingContext &context, llvm::ArrayRef<ChunkCost> chunks);

/// Parameters of one pipeline rank.
struct DeviceState {
  StateSizes sizes;
  double tied = 0;    // elements of the gradient of a tied table that is summed over two devices
  int64_t copies = 1; // copies of the model; a second one is on the devices in opposite order
  bool hasLoss = false;
};
/// State of all layers of a device, given all virtual stages and the ones that it holds. Tied embeddings on two devices
/// are a table on each; on one, they have two gradients.
DeviceState deviceState(const PricingContext &context, const ModelState &model, llvm::ArrayRef<ChunkCost> chunks,
                        llvm::ArrayRef<PipelineChunk> held);

/// Collectives of one rank of the device once per step: entries of prepare and update, each kind with all of its
/// elements in one call.
std::vector<TransferRow> stateTransfers(const PricingContext &context, int64_t device, const ModelState &model,
                                        const DeviceState &state);

} // namespace mlir::ppc

#endif // PPC_LIB_COSTMODEL_COMPILEDSTATE_H
