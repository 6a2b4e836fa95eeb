#include "ppc/CostModel/PricedLedger.h"

#include "ArenaMemory.h"
#include "CompiledState.h"
#include "LayerBuilder.h"
#include "SequenceExchange.h"
#include "ppc/CostModel/OffloadWindow.h"
#include "ppc/Scheduling/SharedPlaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir::ppc;

namespace {

/// Layers of one kind on one device.
struct LayersOf {
  LayerKind kind;
  int64_t device;
  const LayerProgram &program;
  int64_t layers, recomputed; // of the former, as a whole
};

/// Writes down how often what stands in programs of layers is done in a step.
class LayerRows {
public:
  LayerRows(const PricingContext &context, const StepDetail &detail)
      : microBatches(context.layout.microBatches(context.job) / detail.schedule->replicas), slices(detail.shape.slices),
        selective(context.layout.recompute == Recompute::Selective),
        weightPhase(detail.schedule->splitsBackward ? LedgerPhase::WeightGradient : LedgerPhase::Backward) {}

  void addTransfers(const LayersOf &place, std::vector<TransferRow> &rows) const {
    for (const LayerOp &op : place.program.ops)
      for (const LayerTransfer &transfer : op.transfers)
        addTransfer(place, transfer, op.endsLayer ? 0 : place.recomputed, rows);
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
          if (product.readLater) { // only the last slice computes these again
            rows.back().product.shape.n -= product.readLater;
            row(LedgerPhase::Backward, again);
            rows.back().product.shape.n = product.readLater;
            rows.back().product.calls /= slices;
          }
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
      row.calls *= times * microBatches * slices;
      row.elements = llvm::divideCeil(row.elements, slices); // of a slice of the sequence
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
    case LayerTransfer::When::ForWeights:
      add(weightPhase, place.layers);
      break;
    case LayerTransfer::When::Again:
      add(LedgerPhase::Backward, place.layers - place.recomputed);
      break;
    case LayerTransfer::When::AgainForWeights:
      add(weightPhase, place.layers - place.recomputed);
      break;
    }
  }

  int64_t microBatches, slices;
  bool selective;
  LedgerPhase weightPhase;
};

} // namespace

/// Every kind of layer of every virtual stage.
template <typename Visit> static void forEachLayers(const StepDetail &detail, Visit visit) {
  for (auto [device, held] : llvm::enumerate(detail.chunks))
    for (const PipelineChunk &chunk : held) {
      const ChunkCost &cost = detail.costs.chunks[chunk.stage];
      for (int kind = 0; kind < layerKinds; ++kind)
        if (cost.count[kind])
          visit(LayersOf{LayerKind(kind), int64_t(device), detail.costs.programs[kind], cost.count[kind],
                         cost.recomputed[kind]});
    }
}

std::vector<ProductRow> mlir::ppc::priceProducts(const PricingContext &context, const StepDetail &detail) {
  std::vector<ProductRow> rows;
  LayerRows layers(context, detail);
  forEachLayers(detail, [&](const LayersOf &place) { layers.addProducts(place, rows); });
  return rows;
}

int64_t mlir::ppc::compiledMessage(const PricingContext &context) {
  const ParallelLayout &layout = context.layout;
  int64_t parts = sequenceParts(layout);
  return layout.microBatch * int64_t(largestShare(context.job.sequence / layout.cp, parts)) *
         (context.model.hidden / layout.tpRows);
}

namespace {

/// Bytes that a device holds once for each slot of a micro-batch. Nothing is known where weight gradients run by
/// themselves (what waits for them is priced by the schedule's worst moment, StepMemory.cpp, not buffer by buffer),
/// where the sequence is cut over ranks of its own or in slices, where rows cut hidden features, and where blocks of
/// the sequence are padded (values are kept before and behind the mask of their padding).
class SlotBytes {
public:
  SlotBytes(const PricingContext &context, const StepDetail &detail) : context(context), detail(detail) {
    const ParallelLayout &layout = context.layout;
    llvm::StringRef name = layout.pp == 1 ? llvm::StringRef(layout.schedule) : detail.schedule->name;
    llvm::Expected<PipelineSchedule> made = makePipelineSchedule(name, detail.shape);
    if (!made)
      llvm::consumeError(made.takeError());
    else if (!detail.schedule->splitsBackward && layout.cp == 1 && detail.shape.slices == 1 && layout.tpRows == 1 &&
             !(layout.sequenceParallel && context.job.sequence % layout.tp)) {
      schedule = std::move(*made);
      slots = slotsPerStage(*schedule);
    }
  }
  bool isKnown() const { return schedule.has_value(); }

  double of(int64_t device) const {
    double bytes = 0, message = 4 * double(compiledMessage(context)),
           input = 4 * double(context.layout.microBatch) * double(context.job.sequence); // ids, or targets
    llvm::SmallVector<int64_t, 2> held; // stages of all copies of the model, one after the other
    int64_t stages = schedule->stageCount, last = stages - 1;
    bool shares = !context.layout.copiesActivations();
    std::vector<SharedKind> stream, kinds, feedForward, logits; // which share places with their like
    for (const PipelineChunk &chunk : detail.chunks[device]) {
      held.push_back(chunk.replica * stages + chunk.stage);
      double kept = detail.costs.chunks[chunk.stage].kept.value,
             staying = stayingBytes(context, chunk.stage, detail.costs.chunks.size()).value;
      bytes += double(slots[held.back()]) * staying;
      if (shares) {
        UnlikeBytes unlike = unlikeBytes(context, detail.costs.chunks[chunk.stage]);
        auto add = [&](std::vector<SharedKind> &like, double each) {
          like.push_back({each, {held.back(), Kind::Forward}, {held.back(), Kind::Backward}});
        };
        add(stream, unlike.stream.value);
        add(kinds, kept - staying - (unlike.stream + unlike.feedForward + unlike.logits).value);
        add(feedForward, unlike.feedForward.value);
        add(logits, unlike.logits.value);
      } else {
        bytes += double(windowOf(held.back()).slots()) * (kept - staying);
      }
    }
    // Messages that stay here are there once, instead of with the stage that sends and with the one that receives;
    // inputs of the first stage and of the last have slots of their own.
    for (int64_t stage : held)
      if (stage % stages != last && llvm::is_contained(held, stage + 1)) {
        bytes -= 2 * message * double(slots[stage] + slots[stage + 1]);
        if (shares) {
          stream.push_back({message, {stage, Kind::Forward}, {stage + 1, Kind::Backward}});
          stream.push_back({message, {stage + 1, Kind::Backward}, {stage, Kind::Backward}});
        } else {
          bytes += 2 * message * double(together(device, stage, stage + 1));
        }
      }
    for (const std::vector<SharedKind> *like : {&stream, &kinds, &feedForward, &logits})
      bytes += bytesOf(*like, device);
    auto first = llvm::find_if(held, [&](int64_t stage) { return stage % stages == 0; });
    auto end = llvm::find_if(held, [&](int64_t stage) { return stage % stages == last; });
    if (last > 0 && first != held.end() && end != held.end())
      bytes += input * double(2 * together(device, *first, *end) - slots[*first] - slots[*end]);
    return bytes;
  }

  /// Of those, what lies on the host.
  double onHost(int64_t device) const {
    double bytes = 0;
    for (const PipelineChunk &chunk : detail.chunks[device])
      if (int64_t place = chunk.replica * schedule->stageCount + chunk.stage; windowOf(place).in)
        bytes += double(slots[place]) * (detail.costs.chunks[chunk.stage].kept -
                                         stayingBytes(context, chunk.stage, detail.costs.chunks.size()))
                                            .value;
    return bytes;
  }

private:
  using Kind = PipelineActionKind;
  /// What is there of each micro-batch from an action of a stage to one of the same stage or of another.
  struct SharedKind {
    double bytes;
    std::pair<int64_t, Kind> made, used;
  };
  /// Of what lies in places by turns, whichever stage it is of (ppc-share-slots).
  double bytesOf(llvm::ArrayRef<SharedKind> kinds, int64_t device) const {
    const std::vector<PipelineAction> &actions = schedule->devices[device];
    std::vector<double> bytes;
    std::vector<size_t> numbers;
    MomentLoads moments(kinds.size(), actions.size());
    for (auto [number, kind] : llvm::enumerate(kinds)) {
      bytes.push_back(kind.bytes);
      numbers.push_back(number);
      int64_t there = 0;
      for (auto [place, action] : llvm::enumerate(actions)) {
        std::pair<int64_t, Kind> self(schedule->chunkIndex(action), action.kind);
        there += self == kind.made;
        moments[place][number] = double(there);
        there -= self == kind.used;
      }
    }
    return sharedBytes(bytes, numbers, moments);
  }
  OffloadWindow windowOf(int64_t place) const {
    return context.layout.copiesActivations() ? offloadWindow(slots[place]) : OffloadWindow{slots[place], 0};
  }
  int64_t together(int64_t device, int64_t stage, int64_t other) const {
    std::vector<PipelineAction> own;
    llvm::copy_if(schedule->devices[device], std::back_inserter(own), [&](const PipelineAction &action) {
      return schedule->chunkIndex(action) == stage || schedule->chunkIndex(action) == other;
    });
    return leastSlots(own, std::max(slots[stage], slots[other]));
  }

  const PricingContext &context;
  const StepDetail &detail;
  std::optional<PipelineSchedule> schedule;
  std::vector<int64_t> slots;
};

} // namespace

Ledger mlir::ppc::priceLedger(const PricingContext &context, const StepDetail &detail) {
  Ledger ledger;
  const ParallelLayout &layout = context.layout;
  const std::vector<ChunkCost> &chunks = detail.costs.chunks;
  int64_t microBatches = layout.microBatches(context.job) / detail.schedule->replicas,
          stride = layout.dataRanks() * layout.tp;
  int64_t slicesOfAll = microBatches * detail.shape.slices;
  auto message = [&](int64_t device, LedgerPhase phase, int64_t to) {
    if (to != device) // else it stays where it is
      ledger.transfers.push_back({device, phase, TransferKind::Message, MemberSet(2, (to - device) * stride), 32,
                                  int64_t(llvm::divideCeil(compiledMessage(context), detail.shape.slices)),
                                  slicesOfAll});
  };
  SlotBytes slots(context, detail);
  std::vector<std::vector<int64_t>> deviceOf(detail.schedule->replicas, std::vector<int64_t>(chunks.size()));
  for (int64_t device = 0; device < layout.pp; ++device)
    for (const PipelineChunk &chunk : detail.chunks[device])
      deviceOf[chunk.replica][chunk.stage] = device;
  LayerRows layers(context, detail);
  MemberSet data(layout.parameterRanks(), layout.tp);
  forEachLayers(detail, [&](const LayersOf &place) {
    layers.addTransfers(place, ledger.transfers);
    if (layout.parameterRanks() > 1 && place.recomputed)
      ledger.transfers.push_back({place.device, LedgerPhase::Backward, TransferKind::AllGather, data, 32,
                                  int64_t(compiledState(context, place.kind).gathers.again) * place.recomputed,
                                  slicesOfAll});
  });
  for (const ProductRow &row : priceProducts(context, detail))
    ledger.work.push_back({row.device, row.phase, row.attention, row.product.flops() * row.product.calls * row.times});
  const ModelState parameters = modelState(context, chunks);
  for (int64_t device = 0; device < layout.pp; ++device) {
    for (const PipelineChunk &chunk : detail.chunks[device]) {
      if (chunk.stage > 0)
        message(device, LedgerPhase::Backward, deviceOf[chunk.replica][chunk.stage - 1]);
      if (chunk.stage + 1 < int64_t(chunks.size()))
        message(device, LedgerPhase::Forward, deviceOf[chunk.replica][chunk.stage + 1]);
    }
    DeviceState state = deviceState(context, parameters, chunks, detail.chunks[device]);
    for (TransferRow &row : stateTransfers(context, device, parameters, state)) {
      if (row.phase == LedgerPhase::WeightGradient && !detail.schedule->splitsBackward)
        row.phase = LedgerPhase::Backward;
      if (row.phase != LedgerPhase::Prepare && row.phase != LedgerPhase::Update) // each slice its own
        row.calls *= detail.shape.slices;
      ledger.transfers.push_back(row);
    }
    auto memory = [&](MemoryRow::Kind kind, double bytes) { ledger.memory.push_back({device, kind, int64_t(bytes)}); };
    memory(MemoryRow::Kind::Parameters, 4 * state.sizes.parameters);
    memory(MemoryRow::Kind::State, 4 * state.sizes.states);
    memory(MemoryRow::Kind::Gradients, 4 * state.sizes.gradients);
    memory(MemoryRow::Kind::Prepared, 2 * state.sizes.prepared);
    if (slots.isKnown()) {
      memory(MemoryRow::Kind::Slots, slots.of(device));
      memory(MemoryRow::Kind::HostSlots, slots.onHost(device));
    }
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
