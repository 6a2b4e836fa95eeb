#include "ppc/CostModel/PricedLedger.h"

#include "CompiledState.h"
#include "LayerBuilder.h"

#include <numeric>

using namespace mlir::ppc;

namespace {

/// Writes down what the layers of one device do.
class DeviceLedger {
public:
  DeviceLedger(Ledger &ledger, int64_t device, int64_t microBatches, bool splitBackward, bool selective)
      : ledger(ledger), device(device), microBatches(microBatches), selective(selective),
        weightPhase(splitBackward ? LedgerPhase::WeightGradient : LedgerPhase::Backward) {}

  /// `layers` of them, of which `recomputed` are computed again as a whole.
  /// `isAlone`: an embedding without a norm or layers on its stage, where all of backward is the gradient of weights.
  void add(const LayerProgram &program, int64_t layers, int64_t recomputed, bool isAlone) {
    for (const LayerOp &op : program.ops) {
      int64_t again = op.endsLayer ? 0 : recomputed;
      for (LayerTransfer transfer : op.transfers) {
        if (isAlone && transfer.when == LayerTransfer::When::Backward)
          transfer.when = LayerTransfer::When::AgainForWeights;
        addTransfer(transfer, layers, again, recomputed);
      }
      addWork(op, layers, selective && op.attentionCore ? layers : again);
    }
  }

private:
  void addTransfer(const LayerTransfer &transfer, int64_t layers, int64_t again, int64_t recomputed) {
    auto row = [&](LedgerPhase phase, int64_t times) {
      ledger.transfers.push_back({device, phase, transfer.kind, transfer.members(), transfer.elementBits,
                                  transfer.elements, transfer.calls * times * microBatches});
    };
    switch (transfer.when) {
    case LayerTransfer::When::Forward:
      row(LedgerPhase::Forward, layers);
      row(LedgerPhase::Backward, again);
      break;
    case LayerTransfer::When::Backward:
      row(LedgerPhase::Backward, layers);
      break;
    case LayerTransfer::When::Again:
      row(LedgerPhase::Backward, layers - recomputed);
      break;
    case LayerTransfer::When::AgainForWeights:
      row(weightPhase, layers - recomputed);
      break;
    }
  }

  void addWork(const LayerOp &op, int64_t layers, int64_t again) {
    bool attention = op.attentionCore;
    auto row = [&](LedgerPhase phase, double flops) {
      ledger.work.push_back({device, phase, attention, int64_t(flops) * microBatches});
    };
    row(LedgerPhase::Forward, double(layers) * op.flops.value);
    row(LedgerPhase::Backward, double(again) * op.flops.value);
    if (attention) {
      row(LedgerPhase::Backward, double(layers) * op.backwardFlops.value);
      return;
    }
    row(LedgerPhase::Backward, double(layers) * op.backwardFlops.value / 2);
    row(weightPhase, double(layers) * op.backwardFlops.value / 2);
  }

  Ledger &ledger;
  int64_t device, microBatches;
  bool selective;
  LedgerPhase weightPhase;
};

} // namespace

int64_t mlir::ppc::compiledMessage(const PricingContext &context) {
  const ParallelLayout &layout = context.layout;
  int64_t parts = layout.sequenceParallel ? layout.tp : 1;
  return layout.microBatch * int64_t(largestShare(context.job.sequence / layout.cp, parts)) * context.model.hidden;
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
  std::vector<int64_t> deviceOf(chunks.size());
  for (int64_t device = 0; device < layout.pp; ++device)
    for (const PipelineChunk &chunk : detail.chunks[device])
      deviceOf[chunk.stage] = device;
  for (int64_t device = 0; device < layout.pp; ++device) {
    DeviceLedger rows(ledger, device, microBatches, detail.schedule->splitsBackward,
                      layout.recompute == Recompute::Selective);
    for (const PipelineChunk &chunk : detail.chunks[device]) {
      const ChunkCost &cost = chunks[chunk.stage];
      bool isAlone =
          cost.count[int(LayerKind::Embedding)] == std::accumulate(cost.count.begin(), cost.count.end(), int64_t(0)) &&
          !context.model.embeddingNorm;
      for (int kind = 0; kind < layerKinds; ++kind)
        if (cost.count[kind])
          rows.add(detail.costs.programs[kind], cost.count[kind], cost.recomputed[kind], isAlone);
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
