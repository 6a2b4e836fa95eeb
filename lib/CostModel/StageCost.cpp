#include "ppc/CostModel/StageCost.h"

#include "ArenaMemory.h"
#include "ppc/CostModel/StepParts.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <algorithm>
#include <optional>

using namespace mlir::ppc;

LayerKind mlir::ppc::layerKind(const ModelShape &model, int64_t layer) {
  const bool experts = model.hasExperts(layer);
  if (model.hasIndex(layer)) // of latent attention, which has no window
    return experts ? LayerKind::ExpertIndex : LayerKind::DenseIndex;
  if (model.hasWindow(layer))
    return experts ? LayerKind::ExpertWindow : LayerKind::DenseWindow;
  return experts ? LayerKind::Expert : LayerKind::Dense;
}

llvm::StringRef mlir::ppc::layerKindName(int kind) {
  static constexpr llvm::StringRef names[layerKinds] = {"embedding",
                                                        "layer",
                                                        "layer with window",
                                                        "layer with index",
                                                        "expert layer",
                                                        "expert layer with window",
                                                        "expert layer with index",
                                                        "head"};
  return names[kind];
}

namespace {
/// Forward, backward and weight gradient of one layer on one rank, host time and state exchange included.
struct LayerTimes {
  Seconds forward, backward, weightGradient, communication, exchange;
  Seconds forwardAlone, backwardAlone, gather, scatter; // as in LayerPrice
};
} // namespace

LayerSums mlir::ppc::sumUp(const LayerProgram &program, const Stack &stack) {
  LayerSums sums;
  const bool graphs = stack.execution == Execution::Graphs;
  sums.forward = program.forward();
  sums.backward = program.backward();
  sums.weightGradient = program.weightGradient();
  sums.recomputeModules = program.recomputePartial(false);
  sums.recomputeSelective = program.recomputePartial(true);
  sums.recomputeFull = program.recomputeFull();
  sums.forwardCommunication = program.communication();
  sums.forwardKernels = program.forwardKernels(graphs);
  sums.backwardKernels = program.backwardKernels(graphs);
  sums.saved = program.saved();
  sums.savedSelective = program.savedSelective();
  sums.weightOperands = program.weightOperands();
  sums.weightInputs = program.weightInputs();
  for (const LayerOp &op : program.ops) {
    if (op.kind == OpClass::Communication) {
      sums.communication[0] += op.forward + op.backward;
      sums.communication[1] += op.forward + op.backward + (op.endsLayer ? Seconds(0) : op.forward) - op.gatheredAgain;
    }
    if (op.kind == OpClass::Communication && op.leavesUnit) {
      sums.forwardLeaving += op.forwardLink;
      sums.backwardLeaving += op.backwardLink;
    }
    sums.flops += op.flops.value * op.passes;
    sums.flopsSelective += op.flops.value * (op.passes + op.attentionCore);
    sums.flopsFull += op.flops.value * (op.passes + !op.endsLayer);
  }
  for (size_t i = 0; i < program.meeting; ++i) {
    const LayerOp &op = program.ops[i];
    sums.deviceBefore += op.forward;
    sums.kernelsBefore += graphs && !op.unrecorded ? 0 : op.forwardKernels;
  }
  sums.input = program.input;
  sums.backwardWorkspace = program.backwardWorkspace;
  sums.parameters = program.parameters;
  sums.expertParameters = program.expertParameters;
  sums.roundedParameters = program.roundedParameters;
  sums.f32Parameters = program.f32Parameters;
  return sums;
}

void LayerPrograms::set(LayerKind kind, LayerProgram program, const Stack &stack) {
  sums[int(kind)] = sumUp(program, stack);
  programs[int(kind)] = std::move(program);
  present[int(kind)] = true;
}

/// What the exchange of a layer's state takes by itself.
struct StateExchange {
  Seconds gather, scatter;
};

/// Where the ranks lie that exchange parameters, or gradients. Experts are on other ranks than the dense ones: fewer
/// per node, so fewer adapters per group.
struct ExchangeGroups {
  ExchangeGroups(const PricingContext &context, int64_t ranks)
      : dense(placeGroup(context.cluster.levels(), context.layout.tp, ranks)) {
    const ParallelLayout &layout = context.layout;
    if (context.model.moe)
      experts = placeGroup(context.cluster.levels(), layout.ep * layout.etp, std::min(ranks, layout.expertDataRanks()));
  }
  Seconds time(const PricingContext &context, CollectiveKind kind, const LayerSums &sums, double bytes) const {
    Seconds time = collectiveTime(context.cluster, kind, Bytes(sums.parameters * bytes), dense);
    if (sums.expertParameters > 0)
      time += collectiveTime(context.cluster, kind, Bytes(sums.expertParameters * bytes), experts);
    return time;
  }
  GroupPlacement dense, experts;
};

/// The exchange of each kind of layer.
static std::array<StateExchange, layerKinds> exchangesOf(const PricingContext &context, const LayerTotals &layers) {
  const ParallelLayout &layout = context.layout;
  std::array<StateExchange, layerKinds> exchanges;
  if (layout.zero < 3 && !context.reducesEveryMicroBatch())
    return exchanges;
  std::optional<ExchangeGroups> parameters, gradients;
  if (layout.zero >= 3)
    parameters.emplace(context, layout.parameterRanks());
  if (layout.gradientRanks() > 1) // else once, behind the last backward
    gradients.emplace(context, layout.gradientRanks());
  for (int kind = 0; kind < layerKinds; ++kind) {
    if (!layers.present[kind])
      continue;
    const LayerSums &sums = layers.sums[kind];
    if (parameters)
      exchanges[kind].gather = parameters->time(context, CollectiveKind::AllGather, sums, context.wireBytes());
    if (gradients)
      exchanges[kind].scatter =
          gradients->time(context, CollectiveKind::ReduceScatter, sums, context.stack.gradientReduceBytes);
  }
  return exchanges;
}

static LayerTimes timeLayer(const PricingContext &context, const LayerSums &sums, const StateExchange &exchange,
                            bool recomputed) {
  const ParallelLayout &layout = context.layout;
  const Device &device = context.device();
  LayerTimes times{sums.forward, sums.backward, sums.weightGradient, {}, {}, {}, {}, {}, {}};
  int forwardKernels = sums.forwardKernels, backwardKernels = sums.backwardKernels;
  times.backward += recomputed                                 ? sums.recomputeFull
                    : layout.recompute == Recompute::Selective ? sums.recomputeSelective
                                                               : sums.recomputeModules;
  times.communication = sums.communication[recomputed];
  // The device waits for the host where kernels are shorter than their launches.
  double launches = context.stack.execution == Execution::Compiled ? 0.4 : 1;
  launches *= context.stack.hostLaunch;
  Seconds hostForward = device.hostIssueForward * (launches * forwardKernels);
  Seconds hostBackward =
      device.hostIssueBackward * (launches * backwardKernels) + (recomputed ? hostForward : Seconds(0));
  if (context.stack.launchBlocking) {
    // Host and device take turns.
    times.forward += hostForward + forwardKernels * device.hostWait;
    times.backward += hostBackward + (backwardKernels + (recomputed ? forwardKernels : 0)) * device.hostWait;
  }
  // After it has waited for the device the host has nothing issued ahead.
  Seconds hostBefore = device.hostIssueForward * (launches * sums.kernelsBefore);
  times.forward =
      std::max(sums.deviceBefore, hostBefore) + std::max(times.forward - sums.deviceBefore, hostForward - hostBefore);
  Seconds both = times.backward + times.weightGradient;
  if (both < hostBackward) {
    times.backward = hostBackward * (times.backward / both);
    times.weightGradient = hostBackward - times.backward;
  }
  bool sharded = layout.zero >= 3, reduces = context.reducesEveryMicroBatch();
  times.forwardAlone = times.forward;
  times.backwardAlone = times.backward;
  if (!sharded && !reduces)
    return times;
  // Parameters come layer by layer, one layer ahead of their use; gradients leave beside the next layer's backward.
  const Seconds gather = exchange.gather, scatter = exchange.scatter;
  double microBatches = double(layout.microBatches(context.job));
  double gathers = !sharded ? 0 : context.stack.gatherParametersOncePerStep ? 1 / microBatches : 1;
  double scatters = reduces ? 1 : 1 / microBatches;
  if (context.stack.copiesShards) {
    // Two passes over a layer's parameters or gradients, and one more that casts gradients to a wider type.
    double wire = context.stack.gradientReduceBytes;
    double bytes = scatters * (8 + (wire > 2 ? 2 + wire : 0)) * (sums.parameters + sums.expertParameters);
    times.backward += streamTime(device, Bytes(bytes / device.elementwiseShare));
  }
  times.backwardAlone = times.backward;
  times.gather = sharded ? gather : Seconds(0);
  times.scatter = scatter;
  auto together = [&](Seconds compute, Seconds traffic) {
    return context.stack.arena ? compute + traffic : runTogether(device, compute, traffic); // programs: one by one
  };
  Seconds forward = together(times.forward, gathers * gather);
  Seconds backwardCompute = times.backward + times.weightGradient;
  Seconds traffic = scatters * scatter;
  if (context.stack.reshardAfterForward)
    traffic += gathers * gather;
  Seconds backward = together(backwardCompute, traffic);
  times.exchange = forward - times.forward + backward - backwardCompute;
  times.forward = forward;
  times.backward += backward - backwardCompute;
  return times;
}

/// One layer of each kind of the model, by its number.
static std::array<int64_t, layerKinds> layersByKind(const ModelShape &model) {
  std::array<int64_t, layerKinds> layers;
  layers.fill(-1);
  for (int64_t layer = 0; layer < model.layers; ++layer) {
    int64_t &first = layers[int(layerKind(model, layer))];
    if (first < 0)
      first = layer;
    if (model.hasAlikeLayers())
      break;
  }
  return layers;
}

LayerPrograms mlir::ppc::buildPrograms(const PricingContext &context) {
  LayerPrograms result;
  auto set = [&](LayerKind kind, LayerProgram program) { result.set(kind, std::move(program), context.stack); };
  set(LayerKind::Embedding, buildEmbedding(context));
  std::array<int64_t, layerKinds> layers = layersByKind(context.model);
  for (int kind = 0; kind < layerKinds; ++kind)
    if (layers[kind] >= 0)
      set(LayerKind(kind), buildLayer(context, layers[kind]));
  set(LayerKind::Head, buildHead(context));
  return result;
}

LayerTotals mlir::ppc::totalPrograms(const PricingContext &context, const LayerTotals *alike) {
  LayerTotals result;
  auto isAlike = [&](LayerKind kind) { return alike && !hasExperts(kind) && alike->present[int(kind)]; };
  auto set = [&](LayerKind kind, llvm::function_ref<LayerProgram()> build) {
    result.sums[int(kind)] = isAlike(kind) ? alike->sums[int(kind)] : sumUp(build(), context.stack);
    result.present[int(kind)] = true;
  };
  set(LayerKind::Embedding, [&] { return buildEmbedding(context); });
  std::array<int64_t, layerKinds> layers = layersByKind(context.model);
  for (int kind = 0; kind < layerKinds; ++kind)
    if (layers[kind] >= 0)
      set(LayerKind(kind), [&] { return buildLayer(context, layers[kind]); });
  set(LayerKind::Head, [&] { return buildHead(context); });
  return result;
}

Seconds mlir::ppc::boundExpertLayer(const PricingContext &context, int64_t layer) {
  // Cut otherwise, experts get as many rows or more, and exchange them besides, which may hide what others exchange.
  Seconds least;
  for (const LayerOp &op : buildLayer(context, layer).ops) {
    if (op.kind == OpClass::Communication && context.stack.overlapExperts)
      continue;
    if (!op.byExpert)
      least += op.forward + op.backward + op.weightGradient + (op.recomputed ? op.forward : Seconds(0));
    else if (op.kind == OpClass::Gemm)
      least += op.passes * leastProductTime(context.device(), context.layout.precision, op.flops);
  }
  return least;
}

/// What is kept leaves beside forward and comes back beside backward, by copy engines.
static void addHostCopies(const PricingContext &context, const LayerSums &sums, bool recomputed, LayerPrice &price) {
  const Cluster &cluster = context.cluster;
  // Adapters hang on the same link of the device: while they work at full rate the copies get what is left of it.
  Seconds forward = sums.forwardLeaving,
          backward = sums.backwardLeaving + (recomputed ? sums.forwardLeaving : Seconds(0));
  if (context.layout.zero >= 3 && context.layout.dataRanks() * context.layout.tp > cluster.unitSize()) {
    forward += price.gather;
    backward += price.gather + price.scatter;
  }
  double network =
      cluster.levels().size() > 1 ? std::min(1.0, cluster.levels()[1].bandwidth / cluster.host.bandwidth) : 0;
  Seconds copy = price.kept / cluster.hostBandwidth();
  price.forward = std::max(price.forward, copy + network * forward);
  price.backward += std::max(Seconds(0), copy + network * backward - price.backward - price.weightGradient);
  // They read and write the device's memory, which other kernels then wait for.
  Seconds memory = price.kept / (context.device().memoryEfficiency * context.device().memoryBandwidth);
  price.forward += memory;
  price.backward += memory;
}

LayerPrices mlir::ppc::priceLayers(const PricingContext &context, const LayerTotals &layers) {
  LayerPrices result;
  result.present = layers.present;
  if (context.stack.arena)
    std::tie(result.forwardMessage, result.backwardMessage) = arenaMessages(context);
  bool selective = context.layout.recompute == Recompute::Selective;
  const std::array<StateExchange, layerKinds> exchanges = exchangesOf(context, layers);
  for (int kind = 0; kind < layerKinds; ++kind) {
    if (!layers.present[kind])
      continue;
    const LayerSums &sums = layers.sums[kind];
    const StateExchange &exchange = exchanges[kind];
    for (bool again : {false, true}) {
      LayerTimes times = timeLayer(context, sums, exchange, again);
      LayerPrice &price = result.prices[kind][again];
      price.forward = times.forward;
      price.backward = times.backward;
      price.weightGradient = times.weightGradient;
      price.communication = times.communication;
      price.stateExchange = times.exchange;
      price.forwardAlone = times.forwardAlone;
      price.backwardAlone = times.backwardAlone;
      price.forwardCommunication = sums.forwardCommunication;
      price.gather = times.gather;
      price.scatter = times.scatter;
      price.parameters = sums.parameters;
      price.expertParameters = sums.expertParameters;
      price.roundedParameters = sums.roundedParameters;
      price.f32Parameters = sums.f32Parameters;
      price.kept = again ? sums.input : selective ? sums.savedSelective : sums.saved;
      price.keptForWeights = sums.weightOperands;
      price.inputsForWeights = std::min(again ? Bytes(0) : sums.weightInputs, price.kept); // else backward makes them
      if (context.copiesActivations() && context.cluster.host.bandwidth.value > 0)
        addHostCopies(context, sums, again, price);
      price.working = sums.backwardWorkspace;
      if (again) // of arenas, the input lies where it is kept
        price.working += sums.saved - (context.stack.arena ? sums.input : Bytes(0));
      else if (selective)
        price.working += sums.saved - sums.savedSelective;
      if (context.layout.zero >= 3) {
        // The gradients of the last product leave before the loss's temporaries are gone; other layers have both at
        // once.
        bool isEnd = kind == int(LayerKind::Embedding) || kind == int(LayerKind::Head);
        double weight = context.layout.precision == Precision::F32 ? 4 : 2;
        double gradient = context.layout.gradientRanks() > 1 ? context.stack.gradientReduceBytes : 0;
        price.gathered = Bytes((sums.parameters + sums.expertParameters) * (isEnd ? weight : 2 * weight + gradient));
      }
      price.repeatedFlops = (again ? sums.flopsFull : selective ? sums.flopsSelective : sums.flops) - sums.flops;
    }
  }
  return result;
}

Seconds mlir::ppc::timeBesideMessages(const PricingContext &context) {
  if (context.layout.pp == 1 || context.stack.blockingSends)
    return Seconds(0);
  return context.device().communicationShare * priceMessages(context).forward;
}

std::vector<ChunkLayers> mlir::ppc::listChunks(llvm::ArrayRef<int64_t> counts) {
  std::vector<ChunkLayers> chunks;
  int64_t begin = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    chunks.push_back({begin, counts[i], i == 0, i + 1 == counts.size()});
    begin += counts[i];
  }
  return chunks;
}

/// Layers of [begin, end), by kind.
static std::array<int64_t, layerKinds> countKinds(const ModelShape &model, int64_t begin, int64_t end) {
  std::array<int64_t, layerKinds> counts{};
  if (model.hasAlikeLayers()) {
    counts[int(layerKind(model, begin))] = std::max<int64_t>(0, end - begin);
    return counts;
  }
  for (int64_t layer = begin; layer < end; ++layer)
    ++counts[int(layerKind(model, layer))];
  return counts;
}

void ChunkCost::add(const LayerPrice &price, double times) {
  durations.forward += times * price.forward;
  durations.backward += times * price.backward;
  durations.weightGradient += times * price.weightGradient;
  communication += times * price.communication;
  stateExchange += times * price.stateExchange;
  parameters += times * price.parameters;
  expertParameters += times * price.expertParameters;
  roundedParameters += times * price.roundedParameters;
  f32Parameters += times * price.f32Parameters;
  kept += times * price.kept;
  keptForWeights += times * price.keptForWeights;
  inputsForWeights += times * price.inputsForWeights;
  if (working + gathered < price.working + price.gathered) {
    working = price.working;
    gathered = price.gathered;
  }
  repeatedFlops += times * price.repeatedFlops;
}

ChunkCost mlir::ppc::priceChunk(const ModelShape &model, const LayerPrices &prices, const ChunkLayers &layers,
                                int64_t recomputed, Seconds beside, bool splitBackward) {
  ChunkCost chunk;
  auto add = [&](LayerKind kind, bool again, int64_t count) {
    if (!count)
      return;
    const LayerPrice &price = prices(kind, again);
    chunk.count[int(kind)] += count;
    chunk.recomputed[int(kind)] += again ? count : 0;
    chunk.add(price, double(count));
  };
  if (layers.isFirst)
    add(LayerKind::Embedding, false, 1);
  // Equal layers are summed up at once.
  int64_t middle = layers.begin + std::min(recomputed, layers.layers), end = layers.begin + layers.layers;
  std::array<int64_t, layerKinds> again = countKinds(model, layers.begin, middle),
                                  kept = countKinds(model, middle, end);
  for (int kind = 0; kind < layerKinds; ++kind) {
    add(LayerKind(kind), true, again[kind]);
    add(LayerKind(kind), false, kept[kind]);
  }
  if (layers.isLast) {
    add(LayerKind::Head, false, 1 + model.predictionLayers);
    if (int64_t predictions = model.predictionLayers) {
      LayerKind kind = layerKind(model, model.layers - 1);
      int64_t behind = std::clamp<int64_t>(recomputed - layers.layers, 0, predictions);
      add(kind, true, behind);
      add(kind, false, predictions - behind);
    }
  }
  chunk.kept += keptMessages(prices, layers.isFirst, layers.isLast);
  chunk.durations.forward += beside;
  chunk.durations.backward += beside;
  if (!splitBackward) {
    chunk.durations.backward += chunk.durations.weightGradient;
    chunk.durations.weightGradient = Seconds(0);
    chunk.keptForWeights = chunk.inputsForWeights = Bytes(0); // nothing waits
  }
  return chunk;
}

std::vector<ChunkCost> mlir::ppc::priceChunks(const PricingContext &context, const LayerPrices &prices,
                                              llvm::ArrayRef<int64_t> counts, bool splitBackward) {
  std::vector<ChunkCost> chunks;
  Seconds beside = timeBesideMessages(context);
  for (const ChunkLayers &layers : listChunks(counts)) {
    int64_t recomputed = context.layout.recomputedOf(chunks.size(), layers.recomputable(context.model));
    chunks.push_back(priceChunk(context.model, prices, layers, recomputed, beside, splitBackward));
  }
  return chunks;
}

std::vector<int64_t> mlir::ppc::layersPerChunk(const ModelShape &model, llvm::ArrayRef<ChunkCost> chunks) {
  std::vector<int64_t> layers;
  for (const ChunkCost &chunk : chunks) {
    layers.push_back(0);
    for (int kind = int(LayerKind::Embedding) + 1; kind < int(LayerKind::Head); ++kind)
      layers.back() += chunk.count[kind];
  }
  if (!layers.empty())
    layers.back() -= model.predictionLayers;
  return layers;
}
