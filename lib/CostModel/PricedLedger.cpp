#include "ppc/CostModel/PricedLedger.h"

#include "CompiledState.h"
#include "LayerBuilder.h"
#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace mlir::ppc;

namespace {

/// Layers of one kind on one device.
struct LayersOf {
  int64_t device;
  const LayerProgram &program;
  int64_t layers, recomputed; // of the former, as a whole
  bool isAlone; // an embedding without a norm, a factor or layers on its stage, where all of backward is the gradient
                // of weights
};

/// Writes down how often what stands in programs of layers is done in a step.
class LayerRows {
public:
  LayerRows(const PricingContext &context, const StepDetail &detail)
      : microBatches(context.layout.microBatches(context.job)),
        selective(context.layout.recompute == Recompute::Selective),
        weightPhase(detail.schedule->splitsBackward ? LedgerPhase::WeightGradient : LedgerPhase::Backward) {}

  void addTransfers(const LayersOf &place, std::vector<TransferRow> &rows) const {
    for (const LayerOp &op : place.program.ops)
      for (LayerTransfer transfer : op.transfers) {
        if (place.isAlone && transfer.when == LayerTransfer::When::Backward)
          transfer.when = LayerTransfer::When::AgainForWeights;
        addTransfer(place, transfer, op.endsLayer ? 0 : place.recomputed, rows);
      }
  }

  void addProducts(const LayersOf &place, std::vector<ProductRow> &rows) const {
    for (const LayerOp &op : place.program.ops) {
      int64_t again = selective && op.attentionCore ? place.layers : op.endsLayer ? 0 : place.recomputed;
      for (const LayerProduct &product : op.products) {
        auto row = [&](LedgerPhase phase, int64_t times) {
          rows.push_back({place.device, phase, op.attentionCore, product, times * microBatches});
        };
        switch (product.when) {
        case LayerProduct::When::Forward:
          row(LedgerPhase::Forward, place.layers);
          row(LedgerPhase::Backward, again);
          break;
        case LayerProduct::When::Backward:
          row(LedgerPhase::Backward, place.layers);
          break;
        case LayerProduct::When::WeightGradient:
          row(weightPhase, place.layers);
          break;
        }
      }
    }
  }

private:
  void addTransfer(const LayersOf &place, const LayerTransfer &transfer, int64_t again,
                   std::vector<TransferRow> &rows) const {
    auto add = [&](LedgerPhase phase, int64_t times) {
      TransferRow row = rowOf(transfer);
      row.device = place.device;
      row.phase = phase;
      row.calls *= times * microBatches;
      rows.push_back(row);
    };
    switch (transfer.when) {
    case LayerTransfer::When::Forward:
      add(LedgerPhase::Forward, place.layers);
      add(LedgerPhase::Backward, again);
      break;
    case LayerTransfer::When::Backward:
      add(LedgerPhase::Backward, place.layers);
      break;
    case LayerTransfer::When::Again:
      add(LedgerPhase::Backward, place.layers - place.recomputed);
      break;
    case LayerTransfer::When::AgainForWeights:
      add(weightPhase, place.layers - place.recomputed);
      break;
    }
  }

  int64_t microBatches;
  bool selective;
  LedgerPhase weightPhase;
};

} // namespace

/// Every kind of layer of every virtual stage.
template <typename Visit>
static void forEachLayers(const PricingContext &context, const StepDetail &detail, Visit visit) {
  for (auto [device, held] : llvm::enumerate(detail.chunks))
    for (const PipelineChunk &chunk : held) {
      const ChunkCost &cost = detail.costs.chunks[chunk.stage];
      bool isAlone =
          cost.count[int(LayerKind::Embedding)] == std::accumulate(cost.count.begin(), cost.count.end(), int64_t(0)) &&
          !context.model.embeddingNorm && !context.model.scalesEmbedding;
      for (int kind = 0; kind < layerKinds; ++kind)
        if (cost.count[kind])
          visit(
              LayersOf{int64_t(device), detail.costs.programs[kind], cost.count[kind], cost.recomputed[kind], isAlone});
    }
}

std::vector<ProductRow> mlir::ppc::priceProducts(const PricingContext &context, const StepDetail &detail) {
  std::vector<ProductRow> rows;
  LayerRows layers(context, detail);
  forEachLayers(context, detail, [&](const LayersOf &place) { layers.addProducts(place, rows); });
  return rows;
}

int64_t mlir::ppc::compiledMessage(const PricingContext &context) {
  const ParallelLayout &layout = context.layout;
  int64_t parts = layout.sequenceParallel ? layout.tp : 1;
  return layout.microBatch * int64_t(largestShare(context.job.sequence / layout.cp, parts)) * context.model.hidden;
}

/// Bytes of the slots of micro-batches on a device: of each virtual stage as many as its schedule needs.
static double slotBytes(const StepDetail &detail, llvm::ArrayRef<int64_t> slots, int64_t device) {
  double bytes = 0;
  for (const PipelineChunk &chunk : detail.chunks[device]) {
    const ChunkCost &cost = detail.costs.chunks[chunk.stage];
    bytes += double(slots[chunk.stage]) *
             (cost.kept + (detail.schedule->splitsBackward ? cost.keptForWeights : Bytes(0))).value;
  }
  return bytes;
}

Ledger mlir::ppc::priceLedger(const PricingContext &context, const StepDetail &detail) {
  Ledger ledger;
  const ParallelLayout &layout = context.layout;
  const std::vector<ChunkCost> &chunks = detail.costs.chunks;
  int64_t microBatches = layout.microBatches(context.job), stride = layout.dataRanks() * layout.tp;
  auto message = [&](int64_t device, LedgerPhase phase, int64_t to) {
    if (to != device) // else it stays where it is
      ledger.transfers.push_back({device, phase, TransferKind::Message, MemberSet(2, (to - device) * stride), 32,
                                  compiledMessage(context), microBatches});
  };
  std::vector<int64_t> slots;
  llvm::StringRef name = layout.pp == 1 ? llvm::StringRef(layout.schedule) : detail.schedule->name;
  if (llvm::Expected<PipelineSchedule> schedule = makePipelineSchedule(name, detail.shape))
    slots = slotsPerStage(*schedule);
  else
    llvm::consumeError(schedule.takeError());
  std::vector<int64_t> deviceOf(chunks.size());
  for (int64_t device = 0; device < layout.pp; ++device)
    for (const PipelineChunk &chunk : detail.chunks[device])
      deviceOf[chunk.stage] = device;
  LayerRows layers(context, detail);
  forEachLayers(context, detail, [&](const LayersOf &place) { layers.addTransfers(place, ledger.transfers); });
  for (const ProductRow &row : priceProducts(context, detail))
    ledger.work.push_back({row.device, row.phase, row.attention, row.product.flops() * row.product.calls * row.times});
  for (int64_t device = 0; device < layout.pp; ++device) {
    for (const PipelineChunk &chunk : detail.chunks[device]) {
      if (chunk.stage > 0)
        message(device, LedgerPhase::Backward, deviceOf[chunk.stage - 1]);
      if (chunk.stage + 1 < int64_t(chunks.size()))
        message(device, LedgerPhase::Forward, deviceOf[chunk.stage + 1]);
    }
    DeviceState state = deviceState(context, chunks, detail.chunks[device]);
    llvm::append_range(ledger.transfers, stateTransfers(context, device, state));
    auto memory = [&](MemoryRow::Kind kind, double bytes) { ledger.memory.push_back({device, kind, int64_t(bytes)}); };
    memory(MemoryRow::Kind::Parameters, 4 * state.sizes.parameters);
    memory(MemoryRow::Kind::State, 4 * state.sizes.states);
    memory(MemoryRow::Kind::Gradients, 4 * state.sizes.gradients);
    memory(MemoryRow::Kind::Prepared, 2 * state.sizes.prepared);
    if (!slots.empty())
      memory(MemoryRow::Kind::Slots, slotBytes(detail, slots, device));
  }
  ledger.settle();
  return ledger;
}

llvm::Expected<Ledger> mlir::ppc::priceLedger(const ModelShape &model, const TrainingJob &job, const Cluster &cluster,
                                              const ParallelLayout &layout, const Stack &stack) {
  StepDetail detail;
  llvm::Expected<StepCost> cost = StepEstimator().estimate(model, job, cluster, layout, stack, &detail);
  if (!cost)
    return cost.takeError();
  return priceLedger(PricingContext(model, job, cluster, layout, stack), detail);
}
