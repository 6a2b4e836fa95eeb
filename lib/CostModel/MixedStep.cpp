#include "ppc/CostModel/MixedStep.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace mlir::ppc;

template <typename... Values> static llvm::Error refuseStages(const char *format, Values &&...values) {
  return llvm::createStringError(llvm::formatv(format, std::forward<Values>(values)...).str());
}

Cluster mlir::ppc::groupAlone(const Cluster &cluster, int64_t group) {
  Cluster alone;
  alone.name = cluster.name;
  alone.summary = cluster.summary;
  alone.groups = {cluster.groups[group]};
  alone.host = cluster.host;
  return alone;
}

llvm::Error mlir::ppc::verifyStageGroups(const Cluster &cluster, const ParallelLayout &layout) {
  llvm::ArrayRef<int64_t> groups = layout.stageGroups;
  int64_t count = int64_t(cluster.groups.size());
  if (groups.empty())
    return count == 1
               ? llvm::Error::success()
               : refuseStages("cluster {0} has {1} groups of devices; say for each of the {2} pipeline stages on "
                              "which one it lies "
                              "(stage_groups, numbers 0 to {3}), or give a cluster of one group",
                              cluster.name, count, layout.pp, count - 1);
  if (int64_t(groups.size()) != layout.pp)
    return refuseStages("stage_groups lists {0} stages; pp {1} is asked for", groups.size(), layout.pp);
  std::vector<int64_t> stages(count, 0);
  for (size_t i = 0; i < groups.size(); ++i) {
    int64_t group = groups[i];
    if (group < 0 || group >= count)
      return refuseStages("stage_groups has group {0} for stage {1}; cluster {2} has groups 0 to {3}", group, i,
                          cluster.name, count - 1);
    if (stages[group]++ && groups[i - 1] != group)
      return refuseStages(
          "stage_groups has stages of group {0} apart from each other; stages of one group must be neighbours", group);
  }
  int64_t perStage = layout.dp * layout.tp * layout.cp;
  for (int64_t group = 0; group < count; ++group)
    if (stages[group] > cluster.groups[group].count / perStage)
      return refuseStages("{0} stages of {1} devices are on group {2} of cluster {3}, which has {4} devices",
                          stages[group], perStage, group, cluster.name, cluster.groups[group].count);
  return llvm::Error::success();
}

std::vector<int64_t> mlir::ppc::stageDevices(llvm::ArrayRef<llvm::SmallVector<PipelineChunk, 2>> chunks) {
  std::vector<int64_t> devices;
  for (size_t device = 0; device < chunks.size(); ++device)
    for (const PipelineChunk &chunk : chunks[device]) {
      devices.resize(std::max(devices.size(), size_t(chunk.stage) + 1));
      devices[chunk.stage] = int64_t(device);
    }
  return devices;
}

MixedPricing::MixedPricing(const ModelShape &model, const TrainingJob &job, const Cluster &cluster,
                           const ParallelLayout &layout, const Stack &stack, int64_t slices,
                           std::vector<int64_t> deviceOf)
    : layout(layout), deviceOf(std::move(deviceOf)), clusters(cluster.groups.size()), contexts(cluster.groups.size()),
      programs(cluster.groups.size()), prices(cluster.groups.size()) {
  for (int64_t group : layout.stageGroups) {
    if (contexts[group])
      continue;
    clusters[group] = std::make_unique<Cluster>(groupAlone(cluster, group));
    contexts[group] = std::make_unique<PricingContext>(model, job, *clusters[group], layout, stack, slices);
    programs[group] = buildPrograms(*contexts[group]);
    prices[group] = priceLayers(*contexts[group], programs[group]);
  }
  slowest = priceSlowest(cluster);
}

/// From the last stage on one group to the first on another, as priceMessages has it within a group.
static Seconds timeBetween(const Cluster &cluster, const PricingContext &from, int64_t group, const PricingContext &to,
                           int64_t other) {
  const ParallelLayout &layout = from.layout;
  double tokens = double(layout.microBatch) * double(from.job.sequence) / double(layout.cp);
  Bytes message(tokens * double(from.model.hidden) * 2 * from.activationScale());
  bool gathers = from.stack.scatterGatherSends && layout.tp > 1 && !layout.sequenceParallel;
  if (layout.sequenceParallel || gathers)
    message = message / double(layout.tp);
  int64_t first = 0, second = 0;
  for (int64_t i = 0; i < group; ++i)
    first += cluster.groups[i].count;
  for (int64_t i = 0; i < other; ++i)
    second += cluster.groups[i].count;
  // All devices of a unit send at once, and all units of the stage: as many on each adapter as in one unit.
  int64_t perStage = layout.dp * layout.tp * layout.cp, unit = from.cluster.unitSize(), devices = 1;
  for (const ClusterLevel &level : from.cluster.levels())
    devices *= level.size;
  int64_t sharers = std::min(perStage, unit) * std::max<int64_t>(1, devices / unit);
  Seconds time = pointToPointTime(cluster, message, first, second, sharers);
  if (gathers)
    time += collectiveTime(to.cluster, CollectiveKind::AllGather, message * double(layout.tp), to.tensorGroup);
  return time;
}

PipelineMessages MixedPricing::priceSlowest(const Cluster &cluster) const {
  llvm::ArrayRef<int64_t> groups = layout.stageGroups;
  PipelineMessages messages;
  for (size_t i = 0; i + 1 < groups.size(); ++i) {
    int64_t from = groups[i], to = groups[i + 1];
    if (i > 0 && groups[i - 1] == from && from == to)
      continue;
    PipelineMessages own = priceMessages(*contexts[from]);
    messages.blockingSends = own.blockingSends;
    Seconds time = from == to ? own.forward
                              : std::max(timeBetween(cluster, *contexts[from], from, *contexts[to], to),
                                         timeBetween(cluster, *contexts[to], to, *contexts[from], from));
    messages.forward = std::max(messages.forward, time);
  }
  // Of several chunks per device, those of the last device go on to the first.
  if (layout.vp > 1 && groups.front() != groups.back())
    messages.forward = std::max(
        {messages.forward,
         timeBetween(cluster, *contexts[groups.back()], groups.back(), *contexts[groups.front()], groups.front()),
         timeBetween(cluster, *contexts[groups.front()], groups.front(), *contexts[groups.back()], groups.back())});
  messages.backward = messages.forward;
  return messages;
}

Seconds MixedPricing::beside(size_t chunk) const {
  const PricingContext &context = contextOfChunk(chunk);
  if (layout.pp == 1 || context.stack.blockingSends)
    return Seconds(0);
  return context.device().communicationShare * slowest.forward;
}

ChunkCost MixedPricing::priceChunk(const ChunkLayers &layers, size_t chunk, bool splitBackward) const {
  const ModelShape &model = contextOf(0).model;
  int64_t recomputed = layout.recomputedOf(chunk, layers.recomputable(model));
  return mlir::ppc::priceChunk(model, pricesOfChunk(chunk), layers, recomputed, beside(chunk), splitBackward);
}

llvm::Expected<StepCost> mlir::ppc::estimateMixed(const ModelShape &model, const TrainingJob &job,
                                                  const Cluster &cluster, const ParallelLayout &layout,
                                                  const Stack &stack, StepDetail *detail, StepEstimator &estimator,
                                                  PipelineTimer &timer, PipelineTime &time) {
  if (llvm::Error error = verifyStageGroups(cluster, layout))
    return std::move(error);
  if (llvm::all_equal(layout.stageGroups)) {
    ParallelLayout alone = layout;
    alone.stageGroups.clear();
    return estimator.estimate(model, job, groupAlone(cluster, layout.stageGroups.front()), alone, stack, detail);
  }
  llvm::Expected<StepSchedule> schedule = resolveSchedule(job, layout);
  if (!schedule)
    return schedule.takeError();
  if (schedule->kind->replicas > 1)
    return refuseStages(
        "schedule {0} keeps the model twice, on devices from both ends of the pipeline: stages on several "
        "groups of devices need a schedule that keeps it once",
        schedule->kind->name);
  if (llvm::Error error = checkPipelineShape(*schedule->kind, schedule->shape))
    return std::move(error);
  ParallelLayout effective = layout;
  effective.vp = schedule->shape.chunks;
  llvm::Expected<const PipelineProgram *> program = timer.compile(*schedule->kind, schedule->shape);
  if (!program)
    return program.takeError();
  MixedPricing pricing(model, job, cluster, effective, stack, schedule->shape.slices, stageDevices((*program)->chunks));
  std::vector<ChunkCost> chunks;
  for (const ChunkLayers &layers : listChunks(pricing.cut()))
    chunks.push_back(pricing.priceChunk(layers, chunks.size(), schedule->splitBackward));
  llvm::SmallVector<StageDurations, 32> durations;
  for (const ChunkCost &chunk : chunks)
    durations.push_back(chunk.durations);
  fitSchedule(stack, chunks, pricing.messages(), *schedule);
  program = timer.compile(*schedule->kind, schedule->shape);
  if (!program)
    return program.takeError();
  if (llvm::Error error = timer.time(**program, durations, pricing.messages(), time))
    return std::move(error);
  StepCost cost = assembleStep([&](int64_t device) -> const PricingContext & { return pricing.contextOf(device); },
                               chunks, **program, time);
  if (detail) {
    auto busy = [&](size_t i) {
      return cost.stages[i].forward + cost.stages[i].backward + cost.stages[i].weightGradient;
    };
    size_t busiest = 0;
    for (size_t i = 1; i < cost.stages.size(); ++i)
      if (busy(i) > busy(busiest))
        busiest = i;
    ModelCosts costs;
    static_cast<LayerPrograms &>(costs) = pricing.programsOf(int64_t(busiest));
    costs.chunks = std::move(chunks);
    *detail = {schedule->kind, schedule->shape, pricing.messages(), std::move(costs), (*program)->chunks};
  }
  return cost;
}
