#include "ArenaMemory.h"
#include "ppc/CostModel/OffloadBucket.h"
#include "ppc/CostModel/OffloadWindow.h"
#include "ppc/CostModel/StepParts.h"
#include "ppc/Scheduling/SharedPlaces.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

using namespace mlir::ppc;

Bytes MemoryBreakdown::total() const {
  return parameters + gradients + optimizer + activations + workspace + communication + allocator + framework;
}

bool mlir::ppc::fitsHost(const Cluster &cluster, const MemoryBreakdown &memory) {
  return memory.host.value <= 0 || memory.host * double(cluster.unitSize()) <= cluster.host.memory;
}

Bytes mlir::ppc::keptStageOutputs(const PricingContext &context) {
  const ParallelLayout &layout = context.layout;
  if (!context.stack.keepsStageOutputs || layout.pp == 1)
    return Bytes(0);
  double tokens = double(layout.microBatch) * double(context.job.sequence) / double(layout.cp);
  // What was received and what was sent; in parts: the rank's part of both, and a copy.
  double parts = context.stack.scatterGatherSends && layout.tp > 1 ? 3 / double(layout.tp) : 2;
  return Bytes(parts * tokens * double(context.model.hidden) * context.streamBytes() * context.activationScale() /
               (layout.sequenceParallel ? double(layout.tp) : 1));
}

/// Communicators of a rank of a compiled program (docs/internals/Runtime.md): one for each group of several ranks, and
/// one for each neighbouring stage and direction.
static double communicators(const ParallelLayout &layout, int64_t stage) {
  int64_t groups = 0;
  for (int64_t size : {layout.tp, layout.cp, layout.dataRanks(), layout.ep})
    groups += size > 1;
  bool ofAll = groups + (layout.pp > 1) > 1; // the norm of gradients
  return double(groups + ofAll + 2 * ((stage > 0) + (stage + 1 < layout.pp)));
}

/// What is on the device of an optimizer that compiled programs keep on the host: some buckets of it at a time.
static Bytes optimizerWindow(const PricingContext &context, Bytes onHost) {
  const ParallelLayout &layout = context.layout;
  const ModelShape &model = context.model;
  if (!offloadsOptimizer(layout.offload))
    return Bytes(0);
  double states = context.stack.momentBytes,
         each = states + (layout.precision == Precision::F32 || layout.zero >= 3 ? 0 : context.stack.masterBytes);
  double table = (model.tiedEmbeddings && layout.pp == 1 ? states : each) * double(model.vocab) * double(model.hidden) /
                 double(layout.tp),
         matrix = each * double(model.hidden) * double(std::max(model.ffn, model.hidden)) / double(layout.tp),
         experts = model.moe.experts ? each * double(model.moe.experts) * double(model.hidden) * double(model.moe.ffn) /
                                           double(layout.ep > 1 ? layout.ep : layout.tp)
                                     : 0;
  double shards = layout.zero >= 1 ? double(layout.shardRanks()) : 1;
  double expertShards = layout.zero >= 1 ? std::max(1.0, shards / double(layout.expertRanks())) : 1;
  Bytes largest(std::max(std::max(table, matrix) / shards, experts / expertShards));
  return std::min(onHost, double(kOffloadBucketsAtOnce) * offloadBucket(onHost, largest));
}

/// Slots of all slices together, in micro-batches, where `forward` of them are in flight at most. F of slice i of the
/// m-th micro-batch is the (k m + i)-th, B the (k m + k - 1 - i)-th, behind F number a more: k forward is a + 1.
static double slotsOfSlices(double forward, const PipelineShape &shape) {
  int64_t slices = shape.slices, ahead = std::llround(forward * double(slices)) - 1, sum = 0;
  if (slices == 1 || ahead < 0)
    return forward;
  for (int64_t slice = 0; slice < slices; ++slice)
    if (int64_t room = slices - 1 - 2 * slice + ahead; room >= 0)
      sum += std::min(shape.microBatches, room / slices + 1);
    else
      ++sum; // a slice that is gone again before another one comes
  return std::max(forward, double(sum) / double(slices));
}

/// Of arenas where activations leave for the host: each value that routines hand to others has as many slots as there
/// are ever micro-batches between its first use and its last one, so what chunks have at most is added up, also where
/// they have it at different times. Adds to `host` what lies there of it.
static Bytes offloadedSlots(const PricingContext &context, llvm::ArrayRef<ChunkCost> chunks,
                            const PipelineProgram &program, int64_t device, Bytes &host) {
  Bytes sum;
  for (auto [i, chunk] : llvm::enumerate(program.chunks[device])) {
    const ChunkCost &cost = chunks[chunk.stage];
    double forward = 0, weight = 0, both = 0;
    for (const auto &moment : program.moments[device]) {
      forward = std::max(forward, moment[i].forward);
      weight = std::max(weight, moment[i].weight);
      both = std::max(both, moment[i].forward + moment[i].weight);
    }
    forward = slotsOfSlices(forward, program.shape);
    both = std::max(both, forward);
    weight = std::max(weight, std::min(1.0, forward)); // W is a routine of its own, also right behind B
    Bytes forBackward = cost.kept - cost.inputsForWeights, forBoth = cost.inputsForWeights;
    auto leave = [&](Bytes each, double slots, double used) {
      OffloadWindow window = offloadWindow(int64_t(std::ceil(slots)), int64_t(std::ceil(used)));
      if (!window.in)
        return slots * each;
      host += slots * each;
      return double(window.slots()) * each;
    };
    Bytes staying = std::min(forBackward, stayingBytes(context, chunk.stage, chunks.size()));
    sum += forward * staying + leave(forBackward - staying, forward, 1) + leave(forBoth, both, std::max(1.0, weight));
    sum += weight * (cost.keptForWeights - cost.inputsForWeights);
  }
  return sum;
}

namespace {
/// Values that share places with each other: what a micro-batch has of each, and the number of the loads that say how
/// many micro-batches have it.
struct LikeValues {
  llvm::SmallVector<double, 12> bytes;
  llvm::SmallVector<size_t, 12> loads;

  void add(Bytes each, size_t load) {
    bytes.push_back(each.value);
    loads.push_back(load);
  }
};
} // namespace

/// Of each chunk of a device, in micro-batches: what is between F and B, between F and W, and between B and W.
static MomentLoads loadsOf(llvm::ArrayRef<PipelineProgram::Moment> moments, size_t chunks, bool splitsBackward) {
  MomentLoads result(3 * chunks);
  llvm::SmallVector<double, 4> most;
  for (const PipelineProgram::Moment &moment : moments) {
    most.resize(moment.size(), 0);
    for (auto [i, load] : llvm::enumerate(moment))
      most[i] = std::max(most[i], load.forward);
  }
  for (const PipelineProgram::Moment &moment : moments) {
    auto add = [&] {
      llvm::MutableArrayRef<double> row = result.add();
      for (auto [i, load] : llvm::enumerate(moment))
        row[3 * i] = load.forward, row[3 * i + 1] = load.forward + load.weight, row[3 * i + 2] = load.weight;
      return row;
    };
    add();
    // While backward runs, what it reads is there beside what it leaves for weight gradients: behind it one of those
    // waits, or W follows at once.
    for (auto [i, load] : llvm::enumerate(moment))
      if (splitsBackward && (load.weight > 0 || load.forward > 0)) {
        llvm::MutableArrayRef<double> row = add();
        if (load.weight > 0)
          row[3 * i] = std::min(load.forward + 1, most[i]);
        else
          row[3 * i + 2] += std::min(1.0, load.forward);
      }
  }
  return result;
}

/// Of arenas: messages and inputs have as many slots as each chunk ever needs; what else routines hand to others lies
/// in places by turns, whichever chunk it is of (ppc-share-slots).
static Bytes slotMemory(const PricingContext &context, llvm::ArrayRef<ChunkCost> chunks, const PipelineProgram &program,
                        int64_t device) {
  const auto &held = program.chunks[device];
  auto [forwardMessage, backwardMessage] = arenaMessages(context);
  Bytes sum;
  LikeValues stream, products, logits, logitGradients;
  bool isNarrow = context.activationScale() < 2, splitsBackward = false;
  for (auto [i, chunk] : llvm::enumerate(held)) {
    const ChunkCost &cost = chunks[chunk.stage];
    double most = 0;
    for (const auto &moment : program.moments[device])
      most = std::max(most, moment[i].forward);
    // What passes to or from a chunk of the same device is no message.
    auto isHere = [&, replica = chunk.replica](int64_t stage) {
      return llvm::is_contained(held, PipelineChunk{replica, stage});
    };
    Bytes passes = double(isHere(chunk.stage - 1) + isHere(chunk.stage + 1)) * (forwardMessage + backwardMessage),
          forBackward = cost.kept - cost.inputsForWeights, forWeights = cost.keptForWeights - cost.inputsForWeights,
          staying = std::min(forBackward, stayingBytes(context, chunk.stage, chunks.size()));
    sum += slotsOfSlices(most, program.shape) * std::max(Bytes(0), staying - passes);
    UnlikeBytes unlike = unlikeBytes(context, cost);
    unlike.logits = std::min(unlike.logits, forBackward - staying);
    // In f32 what products read has the same elements.
    unlike.stream = isNarrow ? std::min(unlike.stream, forBackward - staying - unlike.logits) : Bytes(0);
    unlike.logitGradients = std::min(unlike.logitGradients, forWeights);
    splitsBackward |= forWeights > Bytes(0);
    stream.add(unlike.stream, 3 * i);
    logits.add(unlike.logits, 3 * i);
    logitGradients.add(unlike.logitGradients, 3 * i + 2);
    products.add(forBackward - staying - unlike.logits - unlike.stream, 3 * i);
    products.add(cost.inputsForWeights, 3 * i + 1);
    products.add(forWeights - unlike.logitGradients, 3 * i + 2);
    if (isHere(chunk.stage - 1)) { // from the forward here on; the gradient until the backward behind
      (isNarrow ? stream : products).add(forwardMessage, 3 * i);
      sum += std::min(1.0, most) * backwardMessage;
    }
  }
  MomentLoads moments = loadsOf(program.moments[device], held.size(), splitsBackward);
  for (const LikeValues *values : {&stream, &products, &logits, &logitGradients})
    sum += Bytes(sharedBytes(values->bytes, values->loads, moments));
  return sum;
}

/// The worst of the schedule's moments.
static void holdActivations(const PricingContext &context, llvm::ArrayRef<ChunkCost> chunks,
                            const PipelineProgram &program, int64_t device, MemoryBreakdown &memory) {
  Bytes outputs = keptStageOutputs(context);
  // Of what is offloaded, two chunks' (or layers') worth is on the device: one comes or is used while the other leaves.
  // What weight gradients wait for stays.
  bool offloads = context.copiesActivations();
  Bytes window, host;
  for (const PipelineChunk &chunk : program.chunks[device]) {
    const ChunkCost &cost = chunks[chunk.stage];
    int64_t layers = std::accumulate(cost.count.begin(), cost.count.end(), int64_t(0));
    window = std::max(window, 2 * cost.kept / double(context.stack.offloadsLayers ? std::max<int64_t>(1, layers) : 1));
  }
  for (const auto &moment : program.moments[device]) {
    Bytes held, waiting;
    for (size_t i = 0; i < moment.size(); ++i) {
      const ChunkCost &cost = chunks[program.chunks[device][i].stage];
      held += moment[i].forward * (cost.kept + outputs);
      waiting += moment[i].weight * cost.keptForWeights;
    }
    Bytes here = offloads ? std::min(held, window) : held;
    memory.activations = std::max(memory.activations, here + waiting);
    host = std::max(host, held - here);
  }
  if (offloads && !context.stack.arena)
    memory.host += host;
}

MemoryBreakdown mlir::ppc::deviceMemory(const PricingContext &context, llvm::ArrayRef<ChunkCost> chunks,
                                        const PipelineProgram &program, int64_t device) {
  const ParallelLayout &layout = context.layout;
  const Stack &stack = context.stack;
  MemoryBreakdown memory;
  double dense = 0, experts = 0, rounded = 0, whole = 0;
  Bytes working, gathered;
  for (const PipelineChunk &chunk : program.chunks[device]) {
    const ChunkCost &cost = chunks[chunk.stage];
    dense += cost.parameters;
    experts += cost.expertParameters;
    rounded += cost.roundedParameters;
    whole += cost.f32Parameters;
    if (working + gathered < cost.working + cost.gathered) {
      working = cost.working;
      gathered = cost.gathered;
    }
  }
  TiedTable table = tiedTable(context, chunks, program.chunks[device]);
  dense += table.own;
  double ranks = double(layout.shardGroup ? layout.shardGroup : layout.dataRanks());
  const double alike = std::max(1.0, double(layout.expertDataRanks()));
  auto cutOver = [&](double bytes, double parts) {
    return Bytes(bytes * (dense / parts + experts / std::min(parts, alike)));
  };
  auto cut = [&](double bytes, bool isCut) { return cutOver(bytes, isCut ? ranks : 1); };
  const double parameterRanks = double(layout.parameterRanks()), gradientRanks = double(layout.gradientRanks());
  double weightBytes = context.weightBytes();
  double masterBytes = layout.precision == Precision::F32 ? 0 : stack.masterBytes;
  memory.parameters = cutOver(weightBytes + stack.referenceBytes, parameterRanks);
  if (stack.adapterRank)
    memory.parameters += cutOver(2 * stack.trainedShare, parameterRanks);
  // Gradients that wait for the last micro-batch to be reduced are whole until then.
  bool wholeGradients =
      layout.zero >= 2 && !stack.reduceGradientsEveryMicroBatch && layout.microBatches(context.job) > 1;
  memory.gradients =
      cutOver(stack.gradientBytes, wholeGradients ? 1 : gradientRanks) + cut(stack.lowPrecisionGradientBytes, false);
  const bool onHost = offloadsOptimizer(layout.offload);
  (onHost ? memory.host : memory.optimizer) =
      cut(masterBytes + stack.momentBytes + stack.updateBytes, layout.zero >= 1);
  if (stack.arena) {
    memory.gradients += Bytes(stack.gradientBytes * table.again);
    if (layout.zero >= 1 && layout.dataRanks() > 1 && gradientRanks < ranks) // the reduced block lies beside the whole
      memory.gradients += cut(stack.gradientBytes, true);
    if (weightBytes < 4) { // copies beside what they are rounded from; what is read as it is has none
      memory.parameters = Bytes((weightBytes * rounded + 4 * whole) / parameterRanks);
      (onHost ? memory.host : memory.optimizer) -= Bytes(masterBytes * (layout.zero >= 1 ? whole / ranks : whole));
      if (onHost && layout.zero >= 3) { // micro-batches read it
        Bytes master(masterBytes * rounded / ranks);
        memory.host -= master;
        memory.optimizer += master;
      }
    }
  }
  Bytes optimizerOnHost = memory.host;
  if (stack.arena && layout.copiesParameters()) { // two virtual stages' are on the device
    double most = 0;
    for (const PipelineChunk &chunk : program.chunks[device])
      most = std::max(most, chunks[chunk.stage].parameters + chunks[chunk.stage].expertParameters);
    memory.hostParameters = memory.parameters;
    memory.host += memory.parameters;
    memory.parameters = std::min(1.0, double(kParametersAtOnce) * most / (dense + experts)) * memory.parameters;
  }
  holdActivations(context, chunks, program, device, memory);
  if (stack.arena) {
    Bytes slots = context.layout.copiesActivations() ? offloadedSlots(context, chunks, program, device, memory.host)
                                                     : slotMemory(context, chunks, program, device);
    Bytes held = std::exchange(memory.activations, slots);
    memory.emptySlots = memory.activations - held;
  }
  memory.workspace = working;
  if (stack.arena)
    memory.workspace = std::max(working, updateScratch(context, chunks, program.chunks[device]) +
                                             optimizerWindow(context, optimizerOnHost));
  memory.communication = gathered;
  if (layout.zero < 3 && layout.dataRanks() > 1 && stack.bucketElements > 0)
    memory.communication += Bytes(std::min(stack.bucketElements, dense + experts) * stack.gradientReduceBytes);
  if (stack.gradientF32Copy)
    memory.communication += Bytes(4 * (dense + experts));
  memory.framework = context.device().frameworkMemory +
                     Bytes(stack.extraBytes + stack.communicatorBytes * communicators(layout, device));
  if (stack.offloadsLayers && context.copiesActivations()) { // layers leave only for want of room
    Bytes room = context.device().memory * (1 - stack.memoryMargin) - memory.total();
    Bytes stays = std::clamp(room, Bytes(0), memory.host);
    memory.activations += stays;
    memory.host -= stays;
  }
  // The less memory is left, the more often the allocator gives back what it caches: fragments fill free memory, they
  // do not end a run.
  Bytes left = context.device().memory - memory.total(),
        fragments = stack.fragmentation * (memory.activations + memory.workspace);
  if (left.value > 0 && fragments.value > 0)
    memory.allocator = left * (fragments / (fragments + left));
  return memory;
}
