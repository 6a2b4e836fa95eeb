#include "PlanInputs.h"

#include "ppc/Analysis/ModuleShape.h"
#include "ppc/Analysis/PlanCuts.h"
#include "ppc/Planning/Files/LayoutFile.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::ppc {

PlanRequest PlanInputs::request() const {
  PlanRequest request{model, job, cluster, stack, base, {}, Bytes(0)};
  request.refuse = [this](const ParallelLayout &layout) { return lackedBy(target, model, layout); };
  return request;
}

llvm::Expected<Cluster> planMachine(StringRef cluster, int64_t ranks) {
  llvm::Expected<Cluster> machine =
      findCluster(cluster.empty() ? llvm::formatv("local:{0}", ranks).str() : cluster.str());
  if (machine && !cluster.empty())
    machine = clusterOfRanks(*machine, ranks);
  return machine;
}

llvm::Expected<PlanInputs> planInputs(ModuleOp module, StringRef cluster, int64_t ranks,
                                      const TargetCapabilities &target) {
  llvm::Expected<ModelShape> model = modelShapeOf(module);
  if (!model)
    return model.takeError();
  llvm::Expected<TrainingJob> job = trainingJobOf(module);
  if (!job)
    return job.takeError();
  llvm::Expected<Cluster> machine = planMachine(cluster, ranks);
  if (!machine)
    return machine.takeError();
  if (machine->groups.size() > 1)
    return llvm::createStringError("cluster " + machine->name +
                                   " has groups of different devices; programs are built for one kind: ask for "
                                   "as many ranks as its first group has");
  llvm::Expected<Stack> stack = findStack(target.stack);
  if (!stack)
    return stack.takeError();
  PlanInputs inputs{std::move(*model), *job, std::move(*machine), std::move(*stack), target, {}};
  inputs.base.precision = precisionOf(module);
  inputs.base.attention = target.attention;
  return inputs;
}

std::string refusedPin(const TargetCapabilities &target, const PlanConstraints &constraints, Precision precision) {
  ParallelLayout layout;
  layout.precision = precision;
  for (int key = 0; key < planKeyCount; ++key)
    if (constraints.isPinned(PlanKey(key)))
      setPlanValue(layout, PlanKey(key), constraints.pinned(PlanKey(key)));
  if (!constraints.isPinned(PlanKey::Context))
    layout.contextKind = ContextKind::AllGather;
  if (layout.precision != precision)
    return ("products in " + toString(layout.precision) + " where --precision says " + toString(precision)).str();
  return lackedBy(target, layout);
}

/// The recomputation of a plan that treats all layers alike, or of each stage some first ones.
static llvm::Error recomputeOf(PlanAttr plan, int64_t layers, ParallelLayout &layout) {
  if (!plan.getRecompute())
    return llvm::Error::success();
  std::vector<Recompute> choices(layers + 1, Recompute::None);
  for (NamedAttribute rule : plan.getRecompute()) {
    auto mode = dyn_cast<StringAttr>(rule.getValue());
    if (!mode)
      return llvm::createStringError("the plan names the ops to recompute of layers " + rule.getName().getValue() +
                                     " one by one");
    LayerRange range = *parseLayerRange(rule.getName());
    for (int64_t layer = 1; layer <= layers; ++layer)
      if (range.contains(layer))
        choices[layer] = *parseRecompute(mode.getValue());
  }
  ArrayRef<int64_t> first = plan.getStages();
  SmallVector<int64_t> counts;
  std::optional<int64_t> most, fewest; // recomputed layers of stages; of stages that keep some
  for (size_t stage = 0; stage < first.size(); ++stage) {
    int64_t begin = std::max<int64_t>(first[stage], 1),
            end = std::min(stage + 1 < first.size() ? first[stage + 1] : layers + 1, layers + 1);
    int64_t count = 0;
    while (begin + count < end && choices[begin + count] != Recompute::None)
      ++count;
    for (int64_t layer = begin; layer < end; ++layer) {
      if ((layer < begin + count) != (choices[layer] != Recompute::None))
        return llvm::createStringError(
            llvm::formatv("the plan recomputes layer {0} and not those before it on its stage", layer).str());
      if (choices[layer] != Recompute::None)
        layout.recompute = choices[layer];
    }
    counts.push_back(count);
    most = std::max(most.value_or(0), count);
    if (begin + count < end)
      fewest = std::min(fewest.value_or(count), count);
  }
  if (!fewest) // no stage keeps anything
    return llvm::Error::success();
  if (layout.recompute == Recompute::Selective)
    return llvm::createStringError("the plan recomputes attention of some layers and not of others");
  if (*fewest == *most)
    layout.recomputedLayers = *most;
  else
    layout.stageRecomputedLayers.assign(counts.begin(), counts.end());
  return llvm::Error::success();
}

llvm::Expected<ParallelLayout> layoutOf(PlanAttr plan, const PlanInputs &inputs) {
  ParallelLayout layout = inputs.base;
  auto parts = [&](StringRef dimension) {
    auto axes = plan.getDimensions().getAs<ArrayAttr>(dimension);
    return axes ? plan.getGrid().product(axes) : 1;
  };
  layout.dp = parts("batch");
  layout.tp = parts("ffn");
  layout.cp = parts("sequence");
  layout.contextKind = ContextKind::AllGather; // what attention does with a cut sequence
  layout.pp = plan.getPipelineDevices();
  layout.vp = plan.getVp();
  if (!plan.getParameters().empty())
    return llvm::createStringError("the plan cuts parameter '" + plan.getParameters().begin()->getName().getValue() +
                                   "' on its own");
  if (layout.dp * layout.cp * layout.tp != plan.getGrid().deviceCount() || parts("vocab") != layout.tp ||
      parts("kv_heads") * parts("head_group") != layout.tp)
    return llvm::createStringError(
        llvm::formatv(
            "the plan cuts batch {0} ways, sequence {1}, ffn {2}, vocab {3} and heads {4} on {5} ranks of a stage",
            layout.dp, layout.cp, layout.tp, parts("vocab"), parts("kv_heads") * parts("head_group"),
            plan.getGrid().deviceCount())
            .str());
  DictionaryAttr activations = activationCuts(plan);
  int64_t sequenceParts = 1;
  for (NamedAttribute entry : activations) {
    int64_t cuts = plan.getGrid().product(cast<ArrayAttr>(entry.getValue()));
    if (entry.getName() == "sequence")
      sequenceParts = cuts;
    else if (cuts > 1)
      return llvm::createStringError("the plan cuts activations along '" + entry.getName().getValue() + "'");
  }
  int64_t stateParts = plan.getGrid().product(updateCuts(plan));
  if ((sequenceParts > 1 && sequenceParts != layout.tp) || (stateParts > 1 && stateParts != layout.dataRanks()))
    return llvm::createStringError(
        llvm::formatv("the plan cuts activations {0} ways along the sequence and optimizer state {1} ways",
                      sequenceParts, stateParts)
            .str());
  layout.sequenceParallel = sequenceParts > 1;
  layout.zero = stateParts > 1;
  layout.microBatch = inputs.job.globalBatch / (layout.dp * plan.getMicroBatches());
  layout.schedule = plan.getSchedule().str();
  if (llvm::Error error = recomputeOf(plan, inputs.model.layers, layout))
    return std::move(error);
  ArrayRef<int64_t> first = plan.getStages();
  for (size_t stage = 0; first.size() > 1 && stage < first.size(); ++stage) {
    int64_t begin = std::max<int64_t>(first[stage], 1);
    int64_t end = std::max<int64_t>(stage + 1 < first.size() ? first[stage + 1] : inputs.model.layers + 1, 1);
    layout.stageLayers.push_back(std::min(end, inputs.model.layers + 1) - std::min(begin, inputs.model.layers + 1));
  }
  return layout;
}

} // namespace mlir::ppc
