#include "CompiledState.h"
#include "LayerBuilder.h"
#include "ppc/CostModel/MixedStep.h"
#include "ppc/CostModel/PricedLedger.h"
#include "ppc/CostModel/StepParts.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace mlir::ppc;

struct StepEstimator::State {
  PipelineTimer timer;
  PipelineTime time;
};

StepEstimator::StepEstimator(PipelineTimer::Compiled compiled)
    : state(std::make_unique<State>(State{PipelineTimer(std::move(compiled)), PipelineTime()})) {}
StepEstimator::~StepEstimator() = default;

StateCosts mlir::ppc::priceState(const PricingContext &context, double dense, double experts,
                                 llvm::ArrayRef<TransferRow> transfers) {
  const ParallelLayout &layout = context.layout;
  const Stack &stack = context.stack;
  StateCosts costs = priceUpdate(context, dense, experts);
  int64_t ranks = layout.dataRanks(), shard = layout.shardRanks();
  auto exchange = [&](double elements, int64_t stride, int64_t members) {
    const int64_t shards = std::min(shard, members), gradientShards = std::min(layout.gradientRanks(), shards),
                  parameterShards = std::min(layout.parameterRanks(), shards);
    if (members <= 1 || elements <= 0)
      return;
    GroupPlacement whole = placeGroup(context.cluster.levels(), stride, members);
    Bytes gradients(elements * stack.gradientReduceBytes),
        weights(elements * 2 * context.activationScale() * stack.trainedShare);
    bool scatter = layout.zero >= 1 && stack.reduceScatterGradients;
    // In buckets, each a collective of its own.
    double buckets = stack.bucketElements > 0 ? std::max(1.0, elements / stack.bucketElements) : 1;
    auto inBuckets = [&](CollectiveKind kind, Bytes bytes, const GroupPlacement &group) {
      return buckets * collectiveTime(context.cluster, kind, bytes / buckets, group);
    };
    if (layout.zero >= 3 || context.reducesEveryMicroBatch()) {
      // Scatters (and with ZeRO-3 gathers) run beside the layers; those over other ranks that share a copy of the
      // state, and sums over copies, are still to come.
      if (gradientShards < shards)
        costs.reduction +=
            inBuckets(CollectiveKind::ReduceScatter, gradients / double(gradientShards),
                      placeGroup(context.cluster.levels(), stride * gradientShards, shards / gradientShards));
      if (shards < members)
        costs.reduction += collectiveTime(context.cluster, CollectiveKind::AllReduce, gradients / double(shards),
                                          placeGroup(context.cluster.levels(), stride * shards, members / shards));
      if (layout.zero >= 3) {
        if (parameterShards < shards)
          costs.gather +=
              inBuckets(CollectiveKind::AllGather, weights / double(parameterShards),
                        placeGroup(context.cluster.levels(), stride * parameterShards, shards / parameterShards));
        return;
      }
    } else if (!scatter) {
      costs.reduction += inBuckets(CollectiveKind::AllReduce, gradients, whole);
    } else if (shards == members) {
      costs.reduction += inBuckets(CollectiveKind::ReduceScatter, gradients, whole);
    } else {
      costs.reduction +=
          inBuckets(CollectiveKind::ReduceScatter, gradients, placeGroup(context.cluster.levels(), stride, shards)) +
          collectiveTime(context.cluster, CollectiveKind::AllReduce, gradients / double(shards),
                         placeGroup(context.cluster.levels(), stride * shards, members / shards));
    }
    if (layout.zero >= 1) {
      GroupPlacement group = placeGroup(context.cluster.levels(), stride, shards);
      costs.gather += stack.parameterBroadcasts
                          ? double(shards) * collectiveTime(context.cluster, CollectiveKind::Broadcast,
                                                            weights / double(shards), group)
                          : inBuckets(CollectiveKind::AllGather, weights, group);
    }
  };
  int64_t expertRanks = std::max<int64_t>(1, layout.expertDataRanks());
  if (transfers.empty()) {
    exchange(dense, layout.tp, ranks);
    exchange(experts, layout.ep * layout.etp, expertRanks);
  }
  for (const TransferRow &row : transfers)
    (row.kind == TransferKind::AllGather ? costs.gather : costs.reduction) += transferTime(context, row);
  if (ranks > 1 && layout.zero < 3)
    costs.reduction += (dense + experts) * stack.trainedShare * context.cluster.stateExchangeDelay;
  return costs;
}

StateCosts mlir::ppc::priceUpdate(const PricingContext &context, double dense, double experts) {
  const ParallelLayout &layout = context.layout;
  const Stack &stack = context.stack;
  const Device &device = context.device();
  StateCosts costs;
  const double parameters = dense + experts;
  const int64_t shard = layout.shardRanks(), expertRanks = std::max<int64_t>(1, layout.expertDataRanks());
  double shards = layout.zero >= 1 ? double(shard) : 1;
  double expertShards = layout.zero >= 1 ? double(std::min(shard, expertRanks)) : 1;
  double owned = dense / shards + experts / expertShards;
  double held =
      dense / double(layout.gradientRanks()) + experts / double(std::min(layout.gradientRanks(), expertRanks));
  bool gradientsCut = layout.zero >= 2 || (layout.zero == 1 && stack.reduceScatterGradients);
  double gradients = (gradientsCut ? owned : parameters);
  // Norm and scale, update (reads gradient, moments, master; writes moments, master, weights), clear.
  double bytes = gradients * stack.gradientBytes * 3 +
                 owned * (6 * stack.trainedShare + 2 * stack.momentBytes + 2 * stack.masterBytes) +
                 (layout.zero >= 2 ? held : parameters) * stack.gradientBytes;
  if (stack.gradientReduceBytes != stack.gradientBytes && layout.zero < 3)
    bytes += parameters * (stack.gradientBytes + stack.gradientReduceBytes) * (stack.gradientF32Copy ? 1 : 2);
  costs.optimizer = streamTime(device, Bytes(bytes));
  if (layout.offload != Offload::None && stack.arena) {
    // State comes to the device and goes back in buckets, beside the update of others; what products read rounded comes
    // once more, for that, and where parameters are on the host, leaves then; without rounding they come and go.
    BytesPerSecond link = context.cluster.hostBandwidth();
    bool isRounded = layout.precision != Precision::F32;
    double master = !isRounded || layout.zero >= 3 ? 0 : stack.masterBytes, each = 0;
    if (offloadsOptimizer(layout.offload))
      each += 2 * stack.momentBytes + 3 * master;
    if (layout.copiesParameters())
      each += isRounded ? context.weightBytes() : 2 * stack.masterBytes;
    Seconds copies = link.value > 0 ? Bytes(owned * each) / link : Seconds(0);
    costs.hostCopies = std::max(Seconds(0), copies - costs.optimizer);
    costs.optimizer += costs.hostCopies;
  } else if (offloadsOptimizer(layout.offload)) {
    // Gradients go down, weights come back; the host updates at its memory's pace, for all devices of the unit.
    BytesPerSecond link = context.cluster.hostBandwidth(), memory = context.cluster.host.memoryBandwidth;
    if (link.value > 0)
      costs.hostCopies = Bytes(owned * (stack.gradientBytes + 2 * stack.trainedShare)) / link;
    costs.optimizer += costs.hostCopies;
    if (memory.value <= 0) // not stated: no faster than what all devices of the unit bring
      memory = link * double(context.cluster.unitSize());
    if (memory.value > 0)
      costs.optimizer += Bytes(owned * (stack.gradientBytes + 2 * stack.momentBytes + 2 * stack.masterBytes +
                                        2 * stack.trainedShare)) *
                         double(context.cluster.unitSize()) / memory;
  }
  return costs;
}

llvm::Expected<StepSchedule> mlir::ppc::resolveSchedule(const TrainingJob &job, const ParallelLayout &layout) {
  StepSchedule schedule;
  schedule.shape.devices = layout.pp;
  schedule.shape.microBatches = layout.microBatches(job);
  llvm::StringRef name = layout.pp == 1 && layout.vp == 1 ? "1f1b" : llvm::StringRef(layout.schedule);
  if (name == "1f1b" && layout.vp > 1)
    name = "interleaved";
  llvm::Expected<const PipelineScheduleKind *> kind = findPipelineSchedule(name);
  if (!kind)
    return kind.takeError();
  schedule.kind = *kind;
  schedule.shape.chunks = std::max(layout.vp, (*kind)->minChunks);
  schedule.shape.slices = defaultSlices(**kind, layout.pp);
  schedule.splitBackward = (*kind)->splitsBackward;
  return schedule;
}

void mlir::ppc::fitSchedule(const Stack &stack, llvm::ArrayRef<ChunkCost> chunks, const PipelineMessages &messages,
                            StepSchedule &schedule) {
  if (!stack.fittedSchedules || !schedule.kind->fitsDurations())
    return;
  llvm::SmallVector<StageDurations, 64> durations;
  Bytes kept, keptForWeights;
  for (const ChunkCost &chunk : chunks) {
    durations.push_back(chunk.durations);
    kept += chunk.kept;
    keptForWeights += chunk.keptForWeights;
  }
  double weightShare = kept.value > 0 ? std::min(1.0, keptForWeights / kept) : 1;
  schedule.shape = fitPipelineShape(*schedule.kind, schedule.shape, durations, messages, weightShare);
}

Seconds mlir::ppc::pipelineTime(const Stack &stack, const PipelineTime &time) {
  return stack.validatesUpdateAfterwards ? time.span() : time.stepTime;
}

PipelineMessages mlir::ppc::priceMessages(const PricingContext &context) {
  const ParallelLayout &layout = context.layout;
  const Stack &stack = context.stack;
  // One message is the activation between two stages, on each rank its part of it.
  double tokens = double(layout.microBatch) * double(context.job.sequence) / double(layout.cp);
  Bytes message(tokens * double(context.model.hidden) * context.streamBytes() * context.activationScale());
  if (context.message)
    message = *context.message;
  else if (stack.arena && context.isTransformer)
    message = Bytes(4 * double(compiledMessage(context)) * (layout.sequenceParallel ? double(layout.tp) : 1));
  if (layout.sequenceParallel || (stack.scatterGatherSends && layout.tp > 1))
    message = message / double(layout.tp);
  int64_t stride = layout.dp * layout.tp * layout.cp;
  PipelineMessages messages;
  if (layout.pp > 1) {
    // All devices of a unit send at once.
    messages.forward = pointToPointTime(context.cluster, message, stride, std::min(stride, context.cluster.unitSize()));
    if (stack.scatterGatherSends && layout.tp > 1 && !layout.sequenceParallel)
      messages.forward +=
          collectiveTime(context.cluster, CollectiveKind::AllGather, message * double(layout.tp), context.tensorGroup);
    messages.backward = messages.forward;
    messages.blockingSends = stack.blockingSends;
  }
  return messages;
}

/// modelFlopsPerToken, of what is trained: frozen weights have no gradient, a third of what is counted; behind the last
/// trained layer there is no backward at all.
static double trainedFlopsPerToken(const ModelShape &model, int64_t sequence, const Stack &stack) {
  double flops = modelFlopsPerToken(model, sequence);
  if (stack.trainedShare >= 1)
    return flops;
  if (!stack.adapterRank)
    return flops * (1 + 2 * stack.backwardShare) / 3;
  double weights = flops - attentionFlopsPerToken(model, sequence);
  return flops - weights * (1 - stack.trainedShare) / 3;
}

StepCost mlir::ppc::assembleStep(const PricingContext &context, llvm::ArrayRef<ChunkCost> chunks,
                                 const PipelineProgram &program, const PipelineTime &time) {
  return assembleStep([&](int64_t) -> const PricingContext & { return context; }, chunks, program, time);
}

/// Of compiled programs whose parameters are known tensor by tensor.
static std::vector<TransferRow> stateRows(const PricingContext &context, const ModelState &model,
                                          llvm::ArrayRef<ChunkCost> chunks, llvm::ArrayRef<PipelineChunk> held,
                                          int64_t device) {
  if (!context.stack.arena || !context.isTransformer)
    return {};
  std::vector<TransferRow> rows = stateTransfers(context, device, model, deviceState(context, model, chunks, held));
  if (context.layout.zero >= 3 || context.reducesEveryMicroBatch()) // those of micro-batches are in the times of layers
    llvm::erase_if(rows, [](const TransferRow &row) {
      return row.phase != LedgerPhase::Prepare && row.phase != LedgerPhase::Update;
    });
  return rows;
}

/// Peak of all devices together; one that has no products in the layout's precision counts with what stands in for it.
static double totalPeak(DeviceContexts contextOf, const ParallelLayout &layout) {
  auto peakOf = [&](int64_t stage) {
    const Device &device = contextOf(stage).device();
    return device.peakOf(productPrecision(device, layout.precision)).value;
  };
  const double first = peakOf(0), perStage = double(layout.devices() / layout.pp);
  double peak = first * double(layout.devices());
  for (int64_t i = 1; i < layout.pp; ++i)
    peak += (peakOf(i) - first) * perStage;
  return peak;
}

/// Devices d and p - 1 - d hold the same stages, each with the gradients of half of the micro-batches. They add up what
/// is left of them behind the sum over data-parallel ranks.
static Seconds sumOverCopies(const PricingContext &context, int64_t device, double dense, double experts) {
  const ParallelLayout &layout = context.layout;
  bool cut = layout.zero >= 2 || (layout.zero == 1 && context.stack.reduceScatterGradients);
  int64_t shard = layout.shardGroup ? layout.shardGroup : layout.dataRanks();
  int64_t expertShard = std::min(shard, std::max<int64_t>(1, layout.expertDataRanks()));
  double owned = cut ? dense / double(shard) + experts / double(expertShard) : dense + experts;
  int64_t stride = layout.devices() / layout.pp * std::abs(layout.pp - 1 - 2 * device);
  return collectiveTime(context.cluster, CollectiveKind::AllReduce, Bytes(owned * context.stack.gradientReduceBytes),
                        placeGroup(context.cluster.levels(), stride, 2));
}

StepCost mlir::ppc::assembleStep(DeviceContexts contextOf, llvm::ArrayRef<ChunkCost> chunks,
                                 const PipelineProgram &program, const PipelineTime &time) {
  const PricingContext &any = contextOf(0);
  const ModelShape &model = any.model;
  const TrainingJob &job = any.job;
  const ParallelLayout &layout = any.layout;
  const Stack &stack = any.stack;
  StepCost cost;
  double repeated = 0; // FLOPs of a micro-batch, over the devices of the pipeline
  cost.fits = true;
  cost.pipeline = pipelineTime(stack, time);
  cost.bubble = std::max(0.0, time.bubbleRate());
  double microBatches = double(program.shape.microBatches);
  // Where two replicas of the model run, a device holds a chunk of each for half of the micro-batches.
  double microBatchesOfChunk = microBatches / double(program.replicaCount);
  Seconds end;
  struct {
    const PricingContext *context = nullptr;
    double dense = 0, experts = 0;
    StateCosts costs;
  } alike;
  const ModelState parameters = modelState(any, chunks); // of the layout, whichever group of devices
  for (int64_t device = 0; device < layout.pp; ++device) {
    const PricingContext &context = contextOf(device);
    StageCost &stage = cost.stages.emplace_back();
    stage.memory = deviceMemory(context, chunks, program, device);
    double dense = 0, experts = 0;
    Seconds lastBackward, firstForward, exchange;
    for (const PipelineChunk &chunk : program.chunks[device]) {
      const ChunkCost &part = chunks[chunk.stage];
      dense += part.parameters;
      experts += part.expertParameters;
      stage.forward += part.durations.forward;
      stage.backward += part.durations.backward;
      stage.weightGradient += part.durations.weightGradient;
      stage.communication += part.communication;
      exchange += part.stateExchange;
      lastBackward += part.durations.backward + part.durations.weightGradient;
      firstForward += part.durations.forward;
    }
    if (model.tiedEmbeddings && layout.pp > 1 && device + 1 == layout.pp)
      dense += context.paddedVocabulary() * double(model.hidden) / double(layout.tp);
    std::vector<TransferRow> rows = stateRows(context, parameters, chunks, program.chunks[device], device);
    // Mostly that of the device before.
    if (!rows.empty() || &context != alike.context || dense != alike.dense || experts != alike.experts)
      alike = {&context, dense, experts, priceState(context, dense, experts, rows)};
    StateCosts once = alike.costs;
    if (program.replicaCount > 1 && !(context.stack.arena && context.isTransformer))
      once.reduction += sumOverCopies(context, device, dense, experts);
    stage.gradientReduction = once.reduction;
    stage.parameterGather = once.gather;
    stage.optimizer = once.optimizer;
    Seconds exposed = once.reduction, gather = once.gather;
    if (stack.overlapGradientReduction)
      exposed = runTogether(context.device(), lastBackward, once.reduction) - lastBackward;
    else if (stack.reducesInBuckets)
      exposed = leftBehindBackward(context, chunks, program, device, once.reduction);
    if (stack.overlapParameterGather)
      gather = runTogether(context.device(), firstForward, once.gather) - firstForward;
    stage.exposedReduction = exposed;
    stage.exposedGather = gather;
    // What virtual stages read comes in forward and in backward, beside others.
    if (BytesPerSecond link = context.cluster.hostBandwidth();
        context.stack.arena && layout.copiesParameters() && link.value > 0)
      exposed +=
          std::max(Seconds(0), 2 * stage.memory.hostParameters / link -
                                   microBatchesOfChunk * (stage.forward + stage.backward + stage.weightGradient));
    // The update waits for the norm of all gradients, that is, for every stage; validated afterwards, for nobody.
    Seconds begin = stack.validatesUpdateAfterwards ? time.begin[device] : Seconds(0);
    Seconds finish = time.end[device] - begin + exposed;
    if (finish > end) {
      end = finish;
      cost.exposedGradients = std::max(Seconds(0), finish - cost.pipeline);
    }
    cost.exposedCommunication =
        std::max(cost.exposedCommunication, microBatchesOfChunk * (stage.communication + exchange) + exposed + gather);
    cost.optimizer = std::max(cost.optimizer, once.optimizer + gather);
    Bytes total = stage.memory.total();
    cost.fits &= total <= context.device().memory && fitsHost(context.cluster, stage.memory);
    Bytes reported = stack.reportsAllocated ? total - stage.memory.framework - stage.memory.allocator : total;
    if (reported > cost.peakMemory) {
      cost.peakMemory = reported;
      cost.worstStage = device;
    }
    for (const PipelineChunk &chunk : program.chunks[device])
      repeated += chunk.replica ? 0 : chunks[chunk.stage].repeatedFlops;
  }
  cost.stepTime = std::max(end, cost.pipeline) + cost.optimizer;

  double devices = double(layout.devices());
  double tokensPerStep = double(job.globalBatch) * double(job.sequence);
  cost.modelFlops = trainedFlopsPerToken(model, job.sequence, stack) * tokensPerStep;
  cost.hardwareFlops = cost.modelFlops + repeated * microBatches * devices / double(layout.pp);
  if (double peak = totalPeak(contextOf, layout); peak > 0) {
    double available = peak * cost.stepTime.value;
    cost.mfu = cost.modelFlops / available;
    cost.hfu = cost.hardwareFlops / available;
  }
  cost.tokensPerSecondPerDevice = tokensPerStep / cost.stepTime.value / devices;
  return cost;
}

llvm::Expected<StepCost> StepEstimator::estimate(const ModelShape &model, const TrainingJob &job,
                                                 const Cluster &cluster, const ParallelLayout &layout,
                                                 const Stack &stack, StepDetail *detail) {
  if (llvm::Error error = verifyLayout(model, job, layout))
    return std::move(error);
  if (std::string part = unpricedPart(model, layout); !part.empty())
    return llvm::createStringError("there is no cost model for " + part);
  if (layout.tpRows > 1 && !stack.arena)
    return llvm::createStringError(
        llvm::formatv("tp_rows {0} has a cost model for compiled programs only", layout.tpRows).str());
  if (cluster.groups.size() > 1 || !layout.stageGroups.empty())
    return estimateMixed(model, job, cluster, layout, stack, detail, *this, state->timer, state->time);
  if (layout.devices() > cluster.deviceCount())
    return llvm::createStringError(llvm::formatv("the layout needs {0} devices, cluster {1} has {2}", layout.devices(),
                                                 cluster.name, cluster.deviceCount())
                                       .str());
  llvm::Expected<StepSchedule> schedule = resolveSchedule(job, layout);
  if (!schedule)
    return schedule.takeError();
  ParallelLayout effective = layout;
  effective.vp = schedule->shape.chunks;
  PricingContext context(model, job, cluster, effective, stack, schedule->shape.slices);
  if (llvm::Error error = checkPipelineShape(*schedule->kind, schedule->shape))
    return std::move(error);
  ModelCosts costs;
  static_cast<LayerPrograms &>(costs) = buildPrograms(context);
  LayerPrices prices = priceLayers(context, costs);
  costs.chunks = priceChunks(context, prices, cutLayers(context, costs), schedule->splitBackward);
  llvm::SmallVector<StageDurations, 32> durations;
  for (const ChunkCost &chunk : costs.chunks)
    durations.push_back(chunk.durations);
  PipelineMessages messages = priceMessages(context);
  fitSchedule(stack, costs.chunks, messages, *schedule);
  llvm::Expected<const PipelineProgram *> program = state->timer.compile(*schedule->kind, schedule->shape);
  if (!program)
    return program.takeError();
  if (llvm::Error error = state->timer.time(**program, durations, messages, state->time))
    return std::move(error);
  StepCost cost = assembleStep(context, costs.chunks, **program, state->time);
  if (detail)
    *detail = {schedule->kind, schedule->shape, messages, std::move(costs), (*program)->chunks};
  return cost;
}
