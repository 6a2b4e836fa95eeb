#include "ppc/Planning/Files/PlanPreset.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>
#include <set>

using namespace mlir::ppc;

PresetModel mlir::ppc::presetModel(const ModelShape &model, const TrainingJob &job) {
  PresetModel result{model.kvHeads, model.kvHeads ? model.heads / model.kvHeads : 0, model.layers, job.globalBatch,
                     model.moe.experts};
  if (model.latent) // each head has keys of its own
    result.kvHeads = model.heads, result.headGroup = 0;
  return result;
}

//===-- Expanding ---------------------------------------------------------===//

/// The axes that cut widths, heads and the vocabulary; and how they cut heads.
static PlanSections::Axes addTensorAxes(const ParallelLayout &layout, const PresetModel &model, PlanSections &plan,
                                        std::vector<PlanSections::DimensionCut> &heads) {
  auto addAxis = [&](llvm::StringRef name, int64_t size) {
    plan.grid.push_back({name.str(), size, defaultAxisRole(name)});
  };
  int64_t depth = layout.tpDepth;
  if (depth > 1)
    addAxis("depth", depth);
  if (layout.tpRows > 1)
    addAxis("rows", layout.tpRows);
  HeadCut cut = cutHeads(model.kvHeads, model.headGroup, layout.tensorColumns());
  PlanSections::Axes all, byHead, byGroup;
  bool splits = model.kvHeads && cut.heads > 1 && cut.group > 1, ofHeads = cut.heads % depth == 0;
  if (depth > 1) {
    all.push_back("depth");
    (!splits || ofHeads ? byHead : byGroup).push_back("depth");
  }
  if (!splits) {
    addAxis("tp", layout.tensorColumns() / depth);
    all.push_back("tp");
    heads = {{model.kvHeads && cut.group > 1 ? "head_group" : "kv_heads", all}};
    return all;
  }
  addAxis("tp0", ofHeads ? cut.heads / depth : cut.heads);
  addAxis("tp1", ofHeads ? cut.group : cut.group / depth);
  all.insert(all.end(), {"tp0", "tp1"});
  byHead.push_back("tp0");
  byGroup.push_back("tp1");
  heads = {{"kv_heads", byHead}, {"head_group", byGroup}};
  return all;
}

/// The axes that cut sequences; the last one is that of experts, if they are cut over ranks that share sequences.
static PlanSections::Axes addContextAxes(const ParallelLayout &layout, PlanSections &plan) {
  if (layout.cp == 1)
    return {};
  const int64_t inner = layout.expertSequences();
  if (inner == 1 || inner == layout.cp) {
    plan.grid.push_back({"cp", layout.cp, AxisRole::Context});
    return {"cp"};
  }
  plan.grid.push_back({"cp0", layout.cp / inner, AxisRole::Context});
  plan.grid.push_back({"cp1", inner, AxisRole::Context});
  return {"cp0", "cp1"};
}

/// The layers of a stage, first and last; none where it is larger.
static std::pair<int64_t, int64_t> layersOf(llvm::ArrayRef<int64_t> firstLayers, size_t stage, int64_t layers) {
  int64_t end = stage + 1 < firstLayers.size() ? firstLayers[stage + 1] : layers + 1;
  return {std::max<int64_t>(firstLayers[stage], 1), std::min(end, layers + 1) - 1};
}

/// Layers that backward computes again, from the first layer of each stage on.
static void expandRecompute(const ParallelLayout &layout, const PresetModel &model, PlanSections &plan) {
  if (layout.recompute == Recompute::None)
    return;
  std::vector<std::pair<int64_t, int64_t>> ranges;
  for (size_t stage = 0; stage < plan.stages.size(); ++stage) {
    auto [first, last] = layersOf(plan.stages, stage, model.layers);
    if (layout.recompute == Recompute::Full)
      last = std::min(last, first + layout.recomputedOf(stage, last - first + 1) - 1);
    if (first > last)
      continue;
    if (!ranges.empty() && ranges.back().second + 1 == first)
      ranges.back().second = last;
    else
      ranges.emplace_back(first, last);
  }
  for (auto [first, last] : ranges)
    plan.recompute.push_back({llvm::formatv("{0}-{1}", first, last).str(), toString(layout.recompute).str()});
}

PlanSections mlir::ppc::expandLayout(const ParallelLayout &asked, const PresetModel &model,
                                     llvm::ArrayRef<int64_t> firstLayers) {
  PlanSections plan;
  ParallelLayout layout = asked;
  if (layout.tpDepth > 1 && layout.tpDepth == layout.tensorColumns()) // all of them, as sequence parallelism has it
    layout.tpDepth = 1, layout.sequenceParallel = true;
  plan.stages = firstLayers.vec();
  plan.vp = layout.vp;
  plan.schedule = layout.schedule;
  plan.microBatches = model.globalBatch / (layout.dp * layout.microBatch);
  const int64_t sharing = layout.expertBatches(), sequences = layout.expertSequences();
  PlanSections::Axes batch{"dp"}, experts, data;
  int64_t copies = layout.zero ? layout.dataRanks() / layout.shardRanks() : 1; // of the cut state
  if (copies > 1) {
    plan.grid.push_back({"copies", copies, AxisRole::Data});
    batch.insert(batch.begin(), "copies");
  }
  const int64_t inner = layout.zero ? layout.innerRanks() : layout.dataRanks(),
                outer = layout.zero ? layout.shardRanks() / inner : 1; // of those that share a copy of the state
  if (outer > 1) {
    plan.grid.push_back({"outer", outer, AxisRole::Data});
    batch.insert(batch.end() - 1, "outer");
  }
  plan.grid.push_back({"dp", layout.dp / sharing / copies / outer, AxisRole::Data});
  if (sharing > 1) {
    plan.grid.push_back({"ep", sharing, AxisRole::Data});
    batch.push_back("ep");
    experts.push_back("ep");
  }
  data.assign(batch.begin() + (copies > 1) + (outer > 1), batch.end());
  PlanSections::Axes context = addContextAxes(layout, plan);
  data.insert(data.end(), context.begin(), context.end());
  if (sequences > 1)
    experts.push_back(context.back());
  std::vector<PlanSections::DimensionCut> heads;
  PlanSections::Axes tensor = addTensorAxes(layout, model, plan, heads);
  if (layout.tp > 1)
    experts.insert(experts.end(), tensor.begin(), tensor.end());
  plan.dimensions = {{"batch", batch}, {"ffn", tensor}};
  if (layout.ep > 1)
    plan.dimensions.push_back({"experts", experts});
  else if (model.experts)
    plan.dimensions.push_back({"expert_ffn", tensor});
  plan.dimensions.insert(plan.dimensions.end(), heads.begin(), heads.end());
  if (layout.cp > 1)
    plan.dimensions.push_back({"sequence", context});
  plan.dimensions.push_back({"vocab", tensor});
  if (layout.tpRows > 1)
    plan.dimensions.push_back({"hidden", {"rows"}});
  expandRecompute(layout, model, plan);
  if (layout.sequenceParallel && layout.tensorColumns() > 1)
    plan.activations.push_back({"sequence", tensor});
  else if (layout.tpDepth > 1)
    plan.activations.push_back({"sequence", {"depth"}});
  if (layout.cp > 1 && layout.contextKind == ContextKind::Ulysses) {
    HeadCut inner = cutHeads(model.kvHeads, model.headGroup, layout.tensorColumns());
    std::optional<HeadCut> cut = exchangedHeads(model.kvHeads, model.headGroup, inner, layout.cp);
    plan.activations.push_back({cut && cut->group > 1 ? "head_group" : "kv_heads", context});
  }
  plan.offload = layout.offload;
  if (layout.dataRanks() > 1) {
    PlanSections::Axes all = data; // the inner ones first
    if (outer > 1)
      all.push_back("outer");
    auto cutOver = [&](int64_t ranks) { return ranks == 1 ? PlanSections::Axes() : ranks == inner ? data : all; };
    if (layout.zero >= 1)
      plan.update = all;
    if (layout.zero >= 2)
      plan.gradients = cutOver(layout.gradientRanks());
    if (layout.zero >= 3)
      plan.storage = cutOver(layout.parameterRanks());
  }
  return plan;
}

//===-- The other way -----------------------------------------------------===//

static int64_t partsOf(const PlanSections &plan, const PlanSections::Axes &axes) {
  int64_t parts = 1;
  for (const PlanSections::Axis &axis : plan.grid)
    if (llvm::is_contained(axes, axis.name))
      parts *= axis.size;
  return parts;
}

/// Into how many parts each thing is cut, by what people call it. Heads count as one: key-value heads and those of a
/// group are cut alike by whoever says so, and each expansion has one way.
static std::map<std::string, int64_t> allParts(const PlanSections &plan) {
  std::map<std::string, int64_t> parts;
  auto add = [&](const std::string &what, int64_t count) {
    if (count > 1)
      parts.try_emplace(what, 1).first->second *= count;
  };
  for (const PlanSections::DimensionCut &cut : plan.dimensions)
    add(isHeads(cut.dimension) ? "heads" : cut.dimension, partsOf(plan, cut.axes));
  for (const PlanSections::DimensionCut &cut : plan.activations)
    add(isHeads(cut.dimension) ? "heads inside attention" : "activations along '" + cut.dimension + "'",
        partsOf(plan, cut.axes));
  add("optimizer state", partsOf(plan, plan.update));
  add("gradients", partsOf(plan, plan.gradients));
  add("parameters", partsOf(plan, plan.storage));
  for (const PlanSections::Axis &axis : plan.grid)
    add("the ranks of a stage", axis.size);
  return parts;
}

/// The recomputation of a plan that treats all layers alike, or of each stage some first ones.
static llvm::Error readRecompute(const PlanSections &plan, int64_t layers, ParallelLayout &layout) {
  std::vector<Recompute> choices(size_t(layers) + 1, Recompute::None);
  for (const PlanSections::RecomputedLayers &rule : plan.recompute) {
    std::optional<Recompute> mode = parseRecompute(rule.what);
    if (!mode)
      return llvm::createStringError("the plan names the ops to recompute of layers " + rule.layers + " one by one");
    auto [first, last] = llvm::StringRef(rule.layers).split('-');
    int64_t from = 0, to = 0;
    if (first.getAsInteger(10, from))
      continue;
    if (last.empty() || last.getAsInteger(10, to))
      to = from;
    for (int64_t layer = std::max<int64_t>(from, 1); layer <= std::min(to, layers); ++layer)
      choices[size_t(layer)] = *mode;
  }
  llvm::SmallVector<int64_t> counts;
  std::optional<int64_t> fewest; // of stages that keep some
  for (size_t stage = 0; stage < plan.stages.size(); ++stage) {
    auto [first, last] = layersOf(plan.stages, stage, layers);
    int64_t count = 0;
    while (first + count <= last && choices[size_t(first + count)] != Recompute::None)
      ++count;
    for (int64_t layer = first; layer <= last; ++layer) {
      if ((layer < first + count) != (choices[size_t(layer)] != Recompute::None))
        return llvm::createStringError(
            llvm::formatv("the plan recomputes layer {0} and not those before it on its stage", layer).str());
      if (choices[size_t(layer)] != Recompute::None)
        layout.recompute = choices[size_t(layer)];
    }
    counts.push_back(count);
    if (first + count <= last)
      fewest = std::min(fewest.value_or(count), count);
  }
  if (!fewest) // no stage keeps anything
    return llvm::Error::success();
  if (layout.recompute == Recompute::Selective)
    return llvm::createStringError("the plan recomputes attention of some layers and not of others");
  if (int64_t most = *llvm::max_element(counts); *fewest == most)
    layout.recomputedLayers = most;
  else
    layout.stageRecomputedLayers.assign(counts.begin(), counts.end());
  return llvm::Error::success();
}

llvm::Expected<ParallelLayout> mlir::ppc::layoutOfPlan(const PlanSections &plan, const PresetModel &model,
                                                       const ParallelLayout &base) {
  if (!plan.parameters.empty())
    return llvm::createStringError("the plan shards parameter '" + plan.parameters.front().parameter + "' on its own");
  std::map<std::string, int64_t> said = allParts(plan);
  auto parts = [&](const std::string &what) {
    auto it = said.find(what);
    return it == said.end() ? int64_t(1) : it->second;
  };
  ParallelLayout layout = base;
  layout.dp = parts("batch");
  layout.tpRows = parts("hidden");
  layout.tp = parts("ffn") * layout.tpRows;
  layout.cp = parts("sequence");
  layout.ep = parts("experts");
  layout.contextKind = parts("heads inside attention") > 1 ? ContextKind::Ulysses : ContextKind::AllGather;
  layout.vp = plan.vp;
  layout.pp = int64_t(plan.stages.size()) / plan.vp;
  int64_t sequences = parts("activations along 'sequence'");
  layout.sequenceParallel = sequences > 1 && sequences == layout.tensorColumns();
  layout.tpDepth = layout.sequenceParallel || layout.tensorColumns() % sequences ? 1 : sequences;
  const int64_t optimizer = parts("optimizer state"), gradients = parts("gradients"), parameters = parts("parameters");
  layout.zero = parameters > 1 ? 3 : gradients > 1 ? 2 : optimizer > 1;
  layout.gradientGroup = layout.zero >= 2 && gradients < optimizer ? gradients : 0;
  layout.parameterGroup = layout.zero >= 3 && parameters < optimizer ? parameters : 0;
  layout.schedule = plan.schedule;
  layout.offload = plan.offload;
  layout.shardGroup = layout.zero && parts("optimizer state") < layout.dataRanks() ? parts("optimizer state") : 0;
  for (auto [what, ranks] :
       {std::pair("optimizer state", layout.shardGroup), std::pair("gradients", layout.gradientGroup),
        std::pair("parameters", layout.parameterGroup)})
    if (ranks > 1 && ranks % layout.ranksTogether())
      return llvm::createStringError("the plan shards " + llvm::Twine(what) +
                                     " over a part of the context- or expert-parallel ranks only");
  if (layout.gradientGroup > 1 && layout.parameterGroup > 1 && layout.gradientGroup != layout.parameterGroup)
    return llvm::createStringError("the plan shards gradients and parameters over two groups of some ranks");
  if (model.globalBatch % (layout.dp * plan.microBatches))
    return llvm::createStringError(llvm::formatv("a batch of {0} is not a multiple of {1} micro-batches on dp {2}",
                                                 model.globalBatch, plan.microBatches, layout.dp)
                                       .str());
  layout.microBatch = model.globalBatch / (layout.dp * plan.microBatches);
  if (llvm::Error error = readRecompute(plan, model.layers, layout))
    return std::move(error);
  for (size_t stage = 0; plan.stages.size() > 1 && stage < plan.stages.size(); ++stage) {
    auto [first, last] = layersOf(plan.stages, stage, model.layers);
    layout.stageLayers.push_back(std::max<int64_t>(0, last - first + 1));
  }
  if (layout.ep > 1 && (layout.ep % layout.tp || layout.dp % layout.expertBatches()))
    return llvm::createStringError(
        llvm::formatv("the plan shards experts into {0} parts, which no expert-parallel degree "
                      "does on dp {1}, cp {2}, tp {3}",
                      layout.ep, layout.dp, layout.cp, layout.tp)
            .str());
  std::map<std::string, int64_t> expanded = allParts(expandLayout(layout, model, plan.stages));
  std::set<std::string> all;
  for (const auto &side : {said, expanded})
    for (const auto &[what, count] : side)
      all.insert(what);
  for (const std::string &what : all)
    if (int64_t other = expanded.count(what) ? expanded[what] : 1; parts(what) != other)
      return llvm::createStringError(
          llvm::formatv("the plan shards {0} into {1} parts, but dp {2}, tp {3}{4}, cp {5}, ep {6} would shard it into "
                        "{7}",
                        what, parts(what), layout.dp, layout.tp,
                        layout.tpRows > 1 ? " (rows " + std::to_string(layout.tpRows) + ")" : "", layout.cp, layout.ep,
                        other)
              .str());
  return layout;
}
