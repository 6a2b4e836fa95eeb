#include "ppc/Simulation/StepWork.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mlir::ppc;

StepWork mlir::ppc::workOfDurations(PipelineSchedule schedule, llvm::ArrayRef<StageDurations> durations,
                                    const PipelineMessages &messages) {
  StepWork work;
  work.chunks.resize(schedule.stageCount);
  for (size_t i = 0; i < work.chunks.size(); ++i) {
    const StageDurations &each = durations[durations.size() == 1 ? 0 : i];
    LayerWork layer;
    layer.forward = each.forward;
    layer.backward = each.backward;
    layer.weightGradient = each.weightGradient;
    work.chunks[i].layers = {layer};
    work.chunks[i].overlap = each.overlap;
  }
  work.devices.resize(schedule.deviceCount());
  work.messages = messages;
  work.schedule = std::move(schedule);
  return work;
}

Seconds mlir::ppc::totalTime(const GroupTimes &times) {
  Seconds total;
  for (Seconds each : times)
    total += each;
  return total;
}

static GroupTimes scaled(const GroupTimes &times, double factor) {
  GroupTimes result;
  for (int group = 0; group < opGroupCount; ++group)
    result[group] = factor * times[group];
  return result;
}

/// `exposed` over the groups as the program's collectives share it.
static GroupTimes byGroup(const LayerProgram &program, Seconds exposed, bool backward, bool again) {
  GroupTimes times;
  for (const LayerOp &op : program.ops)
    if (op.kind == OpClass::Communication)
      times[int(op.group)] += std::max(
          Seconds(0), backward ? op.backward + (again && !op.endsLayer ? op.forward : Seconds(0)) : op.forward);
  Seconds sum = totalTime(times);
  if (sum.value > 0)
    return scaled(times, exposed / sum);
  times[0] = exposed;
  return times;
}

/// Layers of a chunk in model order. Sums in ChunkCost are authoritative: costs of layers are scaled to them.
static ChunkWork chunkOf(const PricingContext &context, const LayerPrograms &programs, const LayerPrices &prices,
                         const ChunkCost &chunk, int64_t firstLayer, int64_t layers, bool isFirst, bool isLast,
                         bool splitBackward) {
  ChunkWork work;
  std::array<int64_t, layerKinds> recomputed = chunk.recomputed;
  Seconds forward, backward, weight;
  auto add = [&](LayerKind kind) {
    bool again = recomputed[int(kind)] > 0;
    recomputed[int(kind)] -= again;
    const LayerPrice &price = prices(kind, again);
    LayerWork &layer = work.layers.emplace_back();
    layer.kind = kind;
    layer.program = &programs.programs[int(kind)];
    layer.recomputed = again;
    layer.forward = price.forwardAlone;
    layer.backward = price.backwardAlone;
    layer.weightGradient = price.weightGradient;
    if (context.layout.copiesActivations()) { // copies take the memory's bandwidth from other kernels
      Seconds copied = price.kept / (context.device().memoryEfficiency * context.device().memoryBandwidth);
      layer.forward += copied;
      layer.backward += copied;
    }
    Seconds exposed = std::max(Seconds(0), price.forwardCommunication);
    layer.forwardExposed = byGroup(*layer.program, std::min(exposed, layer.forward), false, false);
    exposed = std::min(std::max(Seconds(0), price.communication - exposed), layer.backward);
    layer.backwardExposed = byGroup(*layer.program, exposed, true, again);
    layer.gather = price.gather;
    layer.scatter = price.scatter;
    layer.parameters = price.parameters + price.expertParameters;
    forward += price.forward;
    backward += price.backward;
    weight += price.weightGradient;
  };
  if (isFirst)
    add(LayerKind::Embedding);
  for (int64_t layer = firstLayer; layer < firstLayer + layers; ++layer)
    add(layerKind(context.model, layer));
  if (isLast) {
    for (int64_t i = 0; i < context.model.predictionLayers; ++i)
      add(layerKind(context.model, context.model.layers - 1));
    for (int64_t i = 0; i < 1 + context.model.predictionLayers; ++i)
      add(LayerKind::Head);
  }
  // The replay itself finds the slowdown by concurrent transfers.
  Seconds beside = timeBesideMessages(context);
  Seconds wholeBackward = splitBackward ? backward : backward + weight;
  double forwardScale = forward.value > 0 ? (chunk.durations.forward - beside) / forward : 1;
  double backwardScale = wholeBackward.value > 0 ? (chunk.durations.backward - beside) / wholeBackward : 1;
  double weightScale = !splitBackward ? backwardScale : weight.value > 0 ? chunk.durations.weightGradient / weight : 1;
  for (LayerWork &layer : work.layers) {
    layer.forward = forwardScale * layer.forward;
    layer.forwardExposed = scaled(layer.forwardExposed, forwardScale);
    layer.backward = backwardScale * layer.backward;
    layer.backwardExposed = scaled(layer.backwardExposed, backwardScale);
    layer.weightGradient = weightScale * layer.weightGradient;
    if (!splitBackward) {
      layer.backward += layer.weightGradient;
      layer.weightGradient = Seconds(0);
    }
  }
  return work;
}

/// The links that collectives inside layers load while they run.
static void setGroupLinks(const PricingContext &context, StepWork &work) {
  const ParallelLayout &layout = context.layout;
  Bytes bytes(double(layout.microBatch) * double(context.job.sequence) / double(layout.cp) *
              double(context.model.hidden) * 2);
  auto set = [&](OpGroup which, const GroupPlacement &group, CollectiveKind kind, Bytes each) {
    llvm::SmallVector<double, 4> &shares = work.groupLinks[int(which)];
    shares = linkShares(context.cluster, kind, each, group);
    for (double &share : shares)
      share *= context.device().collectiveShare;
  };
  bool scatters = layout.sequenceParallel;
  set(OpGroup::Tensor, context.tensorGroup, scatters ? CollectiveKind::AllGather : CollectiveKind::AllReduce, bytes);
  set(OpGroup::Context, context.contextGroup, CollectiveKind::AllGather, bytes);
  if (context.model.moe) {
    Bytes copies = bytes * double(context.model.moe.topK) / double(layout.tp);
    set(OpGroup::Expert, context.expertGroup, CollectiveKind::AllToAll, copies);
    set(OpGroup::ExpertTensor, context.expertTensorGroup, CollectiveKind::AllGather, copies * double(layout.etp));
  }
}

static void setMessageLink(const PricingContext &context, StepWork &work) {
  llvm::ArrayRef<ClusterLevel> levels = context.cluster.levels();
  int64_t level = int64_t(levels.size()) - 1;
  while (level > 0 && levels[level].size <= 1)
    --level;
  work.messageLevel = level;
  const LinkConstants &constants = levels[level].constants;
  double travelling =
      work.messages.forward.value > 0 ? 1 - (constants.floor + levels[level].latency) / work.messages.forward : 0;
  work.messageLink =
      std::clamp(travelling, 0.0, 1.0) *
      (constants.ring.efficiency > 0 ? std::min(1.0, constants.pointToPoint / constants.ring.efficiency) : 1.0);
}

StepWork mlir::ppc::deriveStepWork(const PricingContext &context, const StepDetail &detail, const StepCost &cost,
                                   PipelineSchedule schedule) {
  const ParallelLayout &layout = context.layout;
  const Stack &stack = context.stack;
  StepWork work;
  work.schedule = std::move(schedule);
  work.messages = detail.messages;
  bool split = llvm::any_of(detail.costs.chunks,
                            [](const ChunkCost &chunk) { return chunk.durations.weightGradient.value > 0; });
  LayerPrices prices = priceLayers(context, detail.costs);
  std::vector<int64_t> layers = layersPerChunk(context.model, detail.costs.chunks);
  int64_t first = 0;
  for (size_t i = 0; i < detail.costs.chunks.size(); ++i) {
    const ChunkCost &chunk = detail.costs.chunks[i];
    ChunkWork each =
        chunkOf(context, detail.costs, prices, chunk, first, layers[i], i == 0, i + 1 == layers.size(), split);
    each.kept = chunk.kept + keptStageOutputs(context);
    each.keptForWeights = chunk.keptForWeights;
    if (layout.copiesActivations())
      each.copied = chunk.kept;
    work.chunks.push_back(std::move(each));
    first += layers[i];
  }
  GroupPlacement data = placeGroup(context.cluster.levels(), layout.tp, layout.dataRanks());
  for (size_t device = 0; device < cost.stages.size(); ++device) {
    const StageCost &stage = cost.stages[device];
    double dense = 0, experts = 0;
    for (const PipelineChunk &chunk : detail.chunks[device]) {
      dense += detail.costs.chunks[chunk.stage].parameters;
      experts += detail.costs.chunks[chunk.stage].expertParameters;
    }
    DeviceWork each;
    // With buckets, the exposed part after the last backward.
    each.reduction = stack.reducesInBuckets ? stage.exposedReduction : stage.gradientReduction;
    each.gather = stage.parameterGather;
    each.hostCopies = priceState(context, dense, experts).hostCopies;
    each.optimizer = std::max(Seconds(0), stage.optimizer - each.hostCopies);
    each.constant = stage.memory.total() - stage.memory.activations + stage.memory.emptySlots;
    if (layout.copiesActivations())
      for (const PipelineChunk &chunk : detail.chunks[device])
        each.activationLimit = std::max(each.activationLimit, 2 * detail.costs.chunks[chunk.stage].kept);
    double exchanged = (dense + experts) * stack.gradientReduceBytes;
    each.stateLinks = linkShares(context.cluster, CollectiveKind::ReduceScatter, Bytes(exchanged), data);
    work.devices.push_back(std::move(each));
  }
  work.overlapsReduction = stack.overlapGradientReduction;
  work.overlapsGather = stack.overlapParameterGather;
  work.gathersForBackward = stack.reshardAfterForward;
  work.gathersOnce = stack.gatherParametersOncePerStep;
  work.scattersEveryMicroBatch = context.reducesEveryMicroBatch();
  work.validatesAfterwards = stack.validatesUpdateAfterwards;
  work.selective = layout.recompute == Recompute::Selective;
  work.bucketElements = stack.bucketElements;
  work.host = context.cluster.hostBandwidth();
  work.communicationShare = context.device().communicationShare;
  work.communicationSlowdown = context.device().communicationSlowdown;
  work.levels = int64_t(context.cluster.levels().size());
  setGroupLinks(context, work);
  setMessageLink(context, work);
  return work;
}
