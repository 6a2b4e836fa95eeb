#include "ppc/Planning/PlanVerifier.h"

#include "lib/Planning/Grid/PlanSpace.h"
#include "ppc/CostModel/MixedStep.h"
#include "ppc/Scheduling/ScheduleVerifier.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <tuple>

using namespace mlir::ppc;

template <typename... Values> static llvm::Error refuse(const char *format, Values &&...values) {
  return llvm::createStringError(llvm::formatv(format, std::forward<Values>(values)...).str());
}

namespace {
/// A plan's cost from first principles: every layer priced by itself, every action replayed.
class Recomputation {
public:
  Recomputation(const PlanRequest &request, const ParallelLayout &layout) : request(request), layout(layout) {}
  llvm::Expected<StepCost> run();

private:
  /// `contextOf`: of the device that holds the chunk.
  using ChunkContexts = llvm::function_ref<const PricingContext &(size_t chunk)>;
  std::vector<ChunkCost> priceStages(ChunkContexts contextOf, llvm::ArrayRef<int64_t> layers,
                                     llvm::function_ref<Seconds(size_t)> beside, bool splitBackward) const;
  /// What the device keeps after each of its actions, every moment of the step.
  void followMemory(const PipelineSchedule &schedule, int64_t device, PipelineProgram &program) const;

  const PlanRequest &request;
  const ParallelLayout &layout;
};
} // namespace

std::vector<ChunkCost> Recomputation::priceStages(ChunkContexts contextOf, llvm::ArrayRef<int64_t> layers,
                                                  llvm::function_ref<Seconds(size_t)> beside,
                                                  bool splitBackward) const {
  const ModelShape &model = request.model;
  std::vector<ChunkCost> chunks(layers.size());
  auto add = [&](size_t number, LayerKind kind, LayerProgram program, bool recomputed) {
    const PricingContext &context = contextOf(number);
    ChunkCost &chunk = chunks[number];
    LayerPrograms one;
    one.set(kind, std::move(program), context.stack);
    LayerPrice price = priceLayers(context, one)(kind, recomputed);
    ++chunk.count[int(kind)];
    chunk.recomputed[int(kind)] += recomputed;
    chunk.add(price, 1);
  };
  const size_t last = chunks.size() - 1;
  add(0, LayerKind::Embedding, buildEmbedding(contextOf(0)), false);
  // Layers with positions below this are recomputed; prediction layers lie behind those of the last chunk.
  auto numberOf = [&](size_t chunk) {
    if (layout.recompute != Recompute::Full)
      return int64_t(0);
    int64_t number =
        layout.stageRecomputedLayers.empty() ? layout.recomputedLayers : layout.stageRecomputedLayers[chunk];
    return number < 0 ? std::numeric_limits<int64_t>::max() : number;
  };
  int64_t layer = 0;
  for (size_t i = 0; i < chunks.size(); ++i)
    for (int64_t j = 0; j < layers[i]; ++j, ++layer)
      add(i, layerKind(model, layer), buildLayer(contextOf(i), layer), j < numberOf(i));
  for (int64_t i = 0; i <= model.predictionLayers; ++i)
    add(last, LayerKind::Head, buildHead(contextOf(last)), false);
  for (int64_t i = 0; i < model.predictionLayers; ++i)
    add(last, layerKind(model, model.layers - 1), buildLayer(contextOf(last), model.layers - 1),
        layers.back() + i < numberOf(last));
  for (size_t i = 0; i < chunks.size(); ++i) {
    ChunkCost &chunk = chunks[i];
    chunk.kept += keptMessages(priceLayers(contextOf(i), LayerPrograms()), i == 0, i == last);
    chunk.durations.forward += beside(i);
    chunk.durations.backward += beside(i);
    if (!splitBackward) {
      chunk.durations.backward += chunk.durations.weightGradient;
      chunk.durations.weightGradient = Seconds(0);
      chunk.keptForWeights = chunk.inputsForWeights = Bytes(0); // nothing waits
    }
  }
  return chunks;
}

void Recomputation::followMemory(const PipelineSchedule &schedule, int64_t device, PipelineProgram &program) const {
  auto &held = program.chunks.emplace_back();
  for (int64_t replica = 0; replica < schedule.replicaCount(); ++replica)
    for (int64_t stage = 0; stage < schedule.stageCount; ++stage)
      if (schedule.deviceOf(replica, stage) == device)
        held.push_back({replica, stage});
  auto &moments = program.moments.emplace_back();
  PipelineProgram::Moment now(held.size());
  double share = 1 / double(schedule.sliceCount);
  llvm::ArrayRef<PipelineAction> list = schedule.devices[device];
  for (size_t i = 0; i < list.size(); ++i) {
    PipelineChunk chunk{schedule.replicaOf(list[i].microBatch), list[i].stage};
    ChunkLoad &load = now[llvm::find(held, chunk) - held.begin()];
    switch (list[i].kind) {
    case PipelineActionKind::Forward:
      load.forward += share;
      break;
    case PipelineActionKind::Backward:
      if (isMerged(list, i))
        break;
      load.forward -= share;
      load.weight += share;
      break;
    case PipelineActionKind::WeightGradient:
      (i > 0 && isMerged(list, i - 1) ? load.forward : load.weight) -= share;
      break;
    }
    moments.push_back(now);
  }
}

llvm::Expected<StepCost> Recomputation::run() {
  llvm::Expected<StepSchedule> resolved = resolveSchedule(request.job, layout);
  if (!resolved)
    return resolved.takeError();
  if (llvm::Error error = checkPipelineShape(*resolved->kind, resolved->shape))
    return std::move(error);
  ParallelLayout effective = layout;
  effective.vp = resolved->shape.chunks;
  // Of one group of devices: a cluster of its own. Of several: a context for each stage, by the group that it lies on.
  bool mixed = !llvm::all_equal(layout.stageGroups);
  const Cluster alone = groupAlone(request.cluster, layout.stageGroups.empty() ? 0 : layout.stageGroups.front());
  std::optional<PricingContext> context;
  std::optional<MixedPricing> pricing;
  std::vector<int64_t> layers(layout.stageLayers.begin(), layout.stageLayers.end());
  PipelineMessages messages;
  if (mixed) {
    if (resolved->kind->replicas > 1)
      return refuse("schedule {0} keeps the model twice: not over several groups of devices", resolved->kind->name);
    PipelineSchedule places = resolved->kind->make(resolved->shape);
    std::vector<int64_t> deviceOf;
    for (int64_t stage = 0; stage < places.stageCount; ++stage)
      deviceOf.push_back(places.deviceOf(0, stage));
    pricing.emplace(request.model, request.job, request.cluster, effective, request.stack, resolved->shape.slices,
                    std::move(deviceOf));
    messages = pricing->messages();
    if (layers.empty())
      layers = pricing->cut();
  } else {
    context.emplace(request.model, request.job, alone, effective, request.stack, resolved->shape.slices);
    messages = priceMessages(*context);
    if (layers.empty())
      layers = cutLayers(*context, buildPrograms(*context));
  }
  auto contextOf = [&](int64_t device) -> const PricingContext & {
    return mixed ? pricing->contextOf(device) : *context;
  };
  std::vector<ChunkCost> chunks = priceStages(
      [&](size_t chunk) -> const PricingContext & { return mixed ? pricing->contextOfChunk(chunk) : *context; }, layers,
      [&](size_t chunk) { return mixed ? pricing->beside(chunk) : timeBesideMessages(*context); },
      resolved->splitBackward);
  std::vector<StageDurations> durations;
  for (const ChunkCost &chunk : chunks)
    durations.push_back(chunk.durations);
  fitSchedule(request.stack, chunks, messages, *resolved);
  PipelineSchedule schedule = resolved->kind->make(resolved->shape);
  if (llvm::Error error = verifySchedule(schedule, slotsPerStage(schedule)))
    return std::move(error);
  llvm::Expected<ScheduleTimeline> timeline = simulateSchedule(schedule, durations, messages);
  if (!timeline)
    return timeline.takeError();

  PipelineTime time;
  PipelineProgram program;
  program.shape = resolved->shape;
  program.stageCount = schedule.stageCount;
  program.replicaCount = schedule.replicaCount();
  time.stepTime = timeline->stepTime;
  for (int64_t device = 0; device < schedule.deviceCount(); ++device) {
    const std::vector<TimedAction> &actions = timeline->devices[device];
    time.busy.push_back(timeline->busy[device]);
    time.begin.push_back(actions.empty() ? Seconds(0) : actions.front().start);
    time.end.push_back(actions.empty() ? Seconds(0) : actions.back().end);
    followMemory(schedule, device, program);
  }
  if (messages.blockingSends)
    for (const TimedMessage &message : timeline->messages)
      time.end[message.from] = std::max(time.end[message.from], message.end);
  return assembleStep(contextOf, chunks, program, time);
}

llvm::Error mlir::ppc::verifyPlanLayout(const PlanRequest &request, const ParallelLayout &layout) {
  if (llvm::Error error = verifyLayout(request.model, request.job, layout))
    return error;
  if (request.cluster.groups.size() > 1 || !layout.stageGroups.empty())
    if (llvm::Error error = verifyStageGroups(request.cluster, layout))
      return error;
  if (!request.constraints.stageGroups.empty() && layout.stageGroups != request.constraints.stageGroups)
    return refuse("the plan has other groups of devices for its stages than the request asks for");
  if (layout.devices() > request.cluster.deviceCount())
    return refuse("the plan needs {0} devices, cluster {1} has {2}", layout.devices(), request.cluster.name,
                  request.cluster.deviceCount());
  if (std::optional<PlanKey> broken = brokenConstraint(request.constraints, layout))
    return refuse("the plan has {0} {1}, the request asks for {2}", toString(*broken),
                  planValueText(*broken, planValue(layout, *broken)), request.constraints.describe(*broken));
  if (request.refuse)
    if (std::string part = request.refuse(layout); !part.empty())
      return refuse("the plan cannot be run: {0}", part);
  return llvm::Error::success();
}

template <typename... Values> static std::string claim(const char *format, Values &&...values) {
  return llvm::formatv(format, std::forward<Values>(values)...).str();
}

llvm::Expected<std::string> mlir::ppc::claimThatDiffers(const PlanRequest &request, const Plan &plan,
                                                        double tolerance) {
  const ParallelLayout &layout = plan.layout;
  llvm::Expected<StepCost> expected = Recomputation(request, layout).run();
  if (!expected)
    return expected.takeError();

  auto differs = [&](double claimed, double found) {
    return !(std::abs(claimed - found) <= tolerance * std::max(std::abs(claimed), std::abs(found)));
  };
  const StepCost &claimed = plan.cost;
  std::pair<const char *, std::pair<Seconds, Seconds>> times[] = {
      {"step", {claimed.stepTime, expected->stepTime}},
      {"pipeline", {claimed.pipeline, expected->pipeline}},
      {"optimizer", {claimed.optimizer, expected->optimizer}},
      {"exposed gradient communication", {claimed.exposedGradients, expected->exposedGradients}}};
  for (auto &[name, pair] : times)
    if (differs(pair.first.value, pair.second.value) &&
        std::abs(pair.first.value - pair.second.value) > tolerance * expected->stepTime.value)
      return claim("the plan claims {0:e9} s for the {1}; recomputed: {2:e9} s", pair.first.value, name,
                   pair.second.value);
  if (claimed.stages.size() != expected->stages.size())
    return claim("the plan lists {0} stages; there are {1}", claimed.stages.size(), expected->stages.size());
  bool fits = true;
  for (size_t stage = 0; stage < expected->stages.size(); ++stage) {
    const MemoryBreakdown &left = claimed.stages[stage].memory, &right = expected->stages[stage].memory;
    if (differs(left.total().value, right.total().value) || differs(left.host.value, right.host.value))
      return claim("the plan claims {0:e9} bytes on stage {1}; recomputed: {2:e9}", left.total().value, stage,
                   right.total().value);
    fits &= fitsStage(request, layout, stage, right);
  }
  if (differs(claimed.peakMemory.value, expected->peakMemory.value))
    return claim("the plan claims a peak of {0:e9} bytes; recomputed: {1:e9}", claimed.peakMemory.value,
                 expected->peakMemory.value);
  if (claimed.fits != fits)
    return claim("the plan claims {0} to fit; recomputed: {1} of {2} allowed", claimed.fits ? "" : "not",
                 toString(expected->peakMemory),
                 toString(stageMemoryLimit(request, layout, size_t(expected->worstStage))));
  if (differs(claimed.mfu, expected->mfu))
    return claim("the plan claims a model FLOPs utilization of {0:P4}; recomputed: {1:P4}", claimed.mfu, expected->mfu);
  return "";
}

llvm::Error mlir::ppc::verifyPlan(const PlanRequest &request, const Plan &plan, double tolerance) {
  if (llvm::Error error = verifyPlanLayout(request, plan.layout))
    return error;
  llvm::Expected<std::string> difference = claimThatDiffers(request, plan, tolerance);
  if (!difference)
    return difference.takeError();
  return difference->empty() ? llvm::Error::success() : llvm::createStringError(*difference);
}
