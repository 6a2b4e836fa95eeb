#include "ppc/CostModel/ParallelLayout.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <numeric>

using namespace mlir::ppc;

llvm::ArrayRef<llvm::StringLiteral> mlir::ppc::recomputeNames() {
  static constexpr llvm::StringLiteral names[] = {"none", "selective", "full"};
  return names;
}

llvm::ArrayRef<llvm::StringLiteral> mlir::ppc::offloadNames() {
  static constexpr llvm::StringLiteral names[] = {"none",
                                                  "optimizer",
                                                  "activations",
                                                  "optimizer+activations",
                                                  "parameters",
                                                  "optimizer+parameters",
                                                  "activations+parameters",
                                                  "optimizer+activations+parameters"};
  return names;
}

llvm::ArrayRef<llvm::StringLiteral> mlir::ppc::contextNames() {
  static constexpr llvm::StringLiteral names[] = {"ring", "ulysses", "all-gather"};
  return names;
}

template <typename Enum>
static std::optional<Enum> parseName(llvm::StringRef text, llvm::ArrayRef<llvm::StringLiteral> names) {
  for (size_t i = 0; i < names.size(); ++i)
    if (text == names[i])
      return static_cast<Enum>(i);
  return std::nullopt;
}

llvm::StringRef mlir::ppc::toString(Recompute recompute) { return recomputeNames()[static_cast<int>(recompute)]; }
std::optional<Recompute> mlir::ppc::parseRecompute(llvm::StringRef text) {
  return parseName<Recompute>(text, recomputeNames());
}
llvm::StringRef mlir::ppc::toString(Offload offload) { return offloadNames()[static_cast<int>(offload)]; }
std::optional<Offload> mlir::ppc::parseOffload(llvm::StringRef text) {
  int kinds = 0;
  for (llvm::StringRef word : llvm::split(text, text.contains(',') ? ',' : '+')) {
    std::optional<Offload> kind = parseName<Offload>(word, offloadNames());
    bool isAlone = word == text;
    if (!kind || (!isAlone && (*kind == Offload::None || (kinds & int(*kind)))))
      return std::nullopt;
    kinds |= int(*kind);
  }
  return Offload(kinds);
}
llvm::StringRef mlir::ppc::toString(ContextKind kind) { return contextNames()[static_cast<int>(kind)]; }
std::optional<ContextKind> mlir::ppc::parseContextKind(llvm::StringRef text) {
  return parseName<ContextKind>(text, contextNames());
}

template <typename... Values> static llvm::Error refuseLayout(const char *format, Values &&...values) {
  return llvm::createStringError(llvm::formatv(format, std::forward<Values>(values)...).str());
}

llvm::Error mlir::ppc::verifyTensorAxes(const ParallelLayout &layout, int64_t hidden, int64_t sequence) {
  if (layout.tpRows < 1 || layout.tpDepth < 1)
    return refuseLayout("tp_rows and tp_depth must be at least 1, found {0} and {1}", layout.tpRows, layout.tpDepth);
  const int64_t parts = layout.tpRows * layout.tpDepth;
  const bool areBoth = layout.tpRows > 1 && layout.tpDepth > 1;
  std::string named = layout.tpRows > 1 ? llvm::formatv("tp_rows {0}", layout.tpRows).str() : "";
  if (layout.tpDepth > 1)
    named += llvm::formatv("{0}tp_depth {1}", areBoth ? " x " : "", layout.tpDepth).str();
  if (layout.tp == 1 && parts > 1)
    return refuseLayout("{0} {1} of the ranks of tp, and tp is 1: give --tp, a multiple of {2}", named,
                        areBoth ? "are parts" : "is a part", parts);
  if (layout.tp % layout.tpRows || layout.tensorColumns() % layout.tpDepth)
    return refuseLayout("{0} {1} not divide tp {2}, of which {3}: use {4} of tp", named, areBoth ? "do" : "does",
                        layout.tp, areBoth ? "they are parts" : "it is a part", areBoth ? "divisors" : "a divisor");
  if (hidden % layout.tpRows)
    return refuseLayout("tp_rows {0} does not divide the {1} hidden features that it shards: use a divisor of tp that "
                        "does, or leave it out",
                        layout.tpRows, hidden);
  if (layout.tpDepth > 1 && (!sequence || sequence / layout.cp % layout.tpDepth))
    return refuseLayout("tp_depth {0} does not divide the {1} tokens of a sequence on a rank, which it shards: use a "
                        "divisor of tp that does, or leave it out",
                        layout.tpDepth, sequence / layout.cp);
  if (parts > 1 && layout.ep > 1)
    return refuseLayout("ep {0} with {1}: experts are sharded by their width there; leave ep out", layout.ep, named);
  return llvm::Error::success();
}

std::string mlir::ppc::unpricedPart(const ModelShape &model, const ParallelLayout &layout) {
  if (layout.tpRows * layout.tpDepth == 1)
    return "";
  std::string rows = "tp_rows " + std::to_string(layout.tpRows), depth = "tp_depth " + std::to_string(layout.tpDepth);
  if (layout.tpRows > 1 && layout.tpDepth > 1)
    return rows + " with " + depth;
  if (layout.tpDepth > 1 && layout.sequenceParallel)
    return depth + " with sp, which shards sequences over all columns";
  if (layout.tpRows > 1 && (!layout.sequenceParallel || layout.tensorColumns() == 1))
    return rows + " without sp over columns";
  if (layout.tpDepth > 1) {
    if (layout.cp > 1)
      return depth + " with cp " + std::to_string(layout.cp);
    if (model.latent || model.moe || model.parallelResidual || model.queryKeyNorm || model.norm != NormKind::RmsNorm ||
        model.scalesEmbedding || model.position == PositionKind::Learned)
      return depth + " of models with latent attention, experts, parallel branches, norms of queries and keys, layer "
                     "norms, scaled embeddings or learned positions";
    if (model.kvHeads % layout.tensorColumns())
      return llvm::formatv("{0}: the {1} columns of tp do not divide the {2} key-value heads", depth,
                           layout.tensorColumns(), model.kvHeads);
    return "";
  }
  if (layout.cp > 1)
    return rows + " with cp " + std::to_string(layout.cp);
  if (model.latent || model.moe || model.parallelResidual || model.norm != NormKind::RmsNorm ||
      model.position == PositionKind::Learned)
    return rows + " of models with latent attention, experts, parallel branches, layer norms or learned positions";
  if (model.kvHeads % layout.tensorColumns())
    return llvm::formatv("{0}: the other {1} ranks of tp do not divide the {2} key-value heads", rows,
                         layout.tensorColumns(), model.kvHeads);
  return "";
}

llvm::Error mlir::ppc::verifyStateGroups(const ParallelLayout &layout) {
  const int64_t all = layout.shardRanks();
  struct {
    const char *key;
    int64_t ranks, least, zero;
  } groups[] = {{"gradient_group", layout.gradientGroup, layout.zero == 3 ? 1 : 2, 2},
                {"parameter_group", layout.parameterGroup, 2, 3}};
  for (auto &group : groups) {
    if (!group.ranks || (group.ranks == all && layout.zero >= group.zero))
      continue;
    if (layout.zero < group.zero && group.ranks != 1)
      return refuseLayout("{0} {1} is for zero {2}{3}, found zero {4}", group.key, group.ranks, group.zero,
                          group.zero == 2 ? " and 3" : "", layout.zero);
    if (layout.zero >= group.zero && group.ranks < group.least)
      return refuseLayout("{0} {1} shards nothing: that is zero {2}", group.key, group.ranks, group.zero - 1);
    if (layout.zero >= group.zero && all % group.ranks)
      return refuseLayout("{0} {1} does not divide the {2} ranks of the shard group", group.key, group.ranks, all);
  }
  const int64_t gradients = layout.gradientRanks(), parameters = layout.parameterRanks();
  if (gradients > 1 && gradients < all && parameters > 1 && parameters < all && gradients != parameters)
    return refuseLayout("gradient_group {0} and parameter_group {1} differ, and neither is one rank or all {2} that "
                        "share a copy of the state",
                        gradients, parameters, all);
  return llvm::Error::success();
}

llvm::Error mlir::ppc::verifyLayout(const ModelShape &model, const TrainingJob &job, const ParallelLayout &layout) {
  struct {
    const char *name;
    int64_t value;
  } degrees[] = {{"dp", layout.dp},          {"tp", layout.tp},
                 {"pp", layout.pp},          {"vp", layout.vp},
                 {"cp", layout.cp},          {"ep", layout.ep},
                 {"etp", layout.etp},        {"micro_batch", layout.microBatch},
                 {"tp_rows", layout.tpRows}, {"tp_depth", layout.tpDepth},
                 {"seq_len", job.sequence},  {"global_batch", job.globalBatch}};
  for (auto &degree : degrees)
    if (degree.value < 1 || degree.value > (int64_t(1) << 40))
      return refuseLayout("{0} must be between 1 and 2^40, found {1}", degree.name, degree.value);
  if (layout.zero < 0 || layout.zero > 3)
    return refuseLayout("zero must be 0, 1, 2 or 3, found {0}", layout.zero);
  if (layout.dp > (int64_t(1) << 31) / layout.tp / layout.pp / layout.cp)
    return refuseLayout("dp {0} x tp {1} x pp {2} x cp {3} is more devices than any cluster has", layout.dp, layout.tp,
                        layout.pp, layout.cp);
  if (job.globalBatch % (layout.dp * layout.microBatch))
    return refuseLayout("global_batch {0} is not a multiple of dp {1} x micro_batch {2}", job.globalBatch, layout.dp,
                        layout.microBatch);
  if (layout.tp > model.heads)
    return refuseLayout("tp {0} is more than the {1} heads", layout.tp, model.heads);
  if (llvm::Error error = verifyTensorAxes(layout, model.hidden, job.sequence))
    return error;
  if (layout.pp * layout.vp > model.layers + 2)
    return refuseLayout("pp {0} x vp {1} is more than the {2} layers, embedding and LM head", layout.pp, layout.vp,
                        model.layers);
  if (layout.cp > job.sequence)
    return refuseLayout("cp {0} is more than the {1} tokens of a sequence", layout.cp, job.sequence);
  if (layout.ep > 1 || layout.etp > 1) {
    if (!model.moe)
      return refuseLayout("ep {0} and etp {1}: the model has no experts", layout.ep, layout.etp);
    if (model.moe.experts % layout.ep)
      return refuseLayout("ep {0} does not divide the {1} experts", layout.ep, model.moe.experts);
    if ((layout.dp * layout.cp * layout.tp) % (layout.ep * layout.etp))
      return refuseLayout("ep {0} x etp {1} does not divide the {2} ranks of a stage", layout.ep, layout.etp,
                          layout.dp * layout.cp * layout.tp);
  }
  if (layout.shardGroup && (layout.shardGroup < 0 || layout.dataRanks() % layout.shardGroup))
    return refuseLayout("shard_group {0} does not divide the {1} data-parallel ranks", layout.shardGroup,
                        layout.dataRanks());
  if (llvm::Error error = verifyStateGroups(layout))
    return error;
  if (!layout.stageLayers.empty()) {
    int64_t total = 0;
    for (int64_t count : layout.stageLayers)
      total += count;
    if (int64_t(layout.stageLayers.size()) != layout.pp * layout.vp || total != model.layers)
      return refuseLayout("stage_layers lists {0} stages with {1} layers; pp {2} x vp {3} and {4} layers are asked for",
                          layout.stageLayers.size(), total, layout.pp, layout.vp, model.layers);
  }
  if (llvm::ArrayRef<int64_t> numbers = layout.stageRecomputedLayers; !numbers.empty()) {
    if (layout.recompute != Recompute::Full)
      return refuseLayout("stage_recomputed_layers is for recompute full, found {0}", toString(layout.recompute));
    if (int64_t(numbers.size()) != layout.pp * layout.vp)
      return refuseLayout("stage_recomputed_layers lists {0} stages; pp {1} x vp {2} are asked for", numbers.size(),
                          layout.pp, layout.vp);
    for (size_t i = 0; i < numbers.size(); ++i) {
      int64_t most = layout.stageLayers.empty() ? model.layers : layout.stageLayers[i];
      most += i + 1 == numbers.size() ? model.predictionLayers : 0;
      if (numbers[i] < 0 || numbers[i] > most)
        return refuseLayout("stage_recomputed_layers has {0} for stage {1}; expected 0 to {2}", numbers[i], i, most);
    }
  }
  return llvm::Error::success();
}

HeadCut mlir::ppc::cutHeads(int64_t kvHeads, int64_t groupSize, int64_t tp) {
  int64_t heads = tp;
  while (heads > 1 && (tp % heads || kvHeads % heads || groupSize % (tp / heads)))
    --heads;
  if (heads > 1)
    return {heads, tp / heads};
  return kvHeads % tp && groupSize % tp == 0 ? HeadCut{1, tp} : HeadCut{tp, 1};
}

bool mlir::ppc::isDividedBy(HeadCut cut, int64_t depth) {
  return cut.heads == 1 || cut.group == 1 || cut.heads % depth == 0 || cut.group % depth == 0;
}

std::optional<HeadCut> mlir::ppc::exchangedHeads(int64_t kvHeads, int64_t groupSize, HeadCut tensor, int64_t cp) {
  if (kvHeads % (tensor.heads * cp) == 0)
    return HeadCut{cp, 1};
  if (groupSize > 1 && groupSize % (tensor.group * cp) == 0)
    return HeadCut{1, cp};
  return std::nullopt;
}

std::optional<unsigned> mlir::ppc::updateCut(llvm::ArrayRef<int64_t> extents, llvm::ArrayRef<int64_t> before,
                                             int64_t parts) {
  std::optional<unsigned> best;
  double bestShare = 1;
  auto block = [](int64_t extent, int64_t cuts) { return double((extent + cuts - 1) / cuts); };
  for (unsigned dim = 0; dim < extents.size(); ++dim) {
    int64_t after = before[dim] * parts;
    // A block of a block is a block of the whole only where the cut is even.
    if (after > extents[dim] || (before[dim] > 1 && extents[dim] % after))
      continue;
    double share = block(extents[dim], after) / block(extents[dim], before[dim]);
    if (share < bestShare) {
      bestShare = share;
      best = dim;
    }
  }
  return best;
}

int64_t ParallelLayout::expertSequences() const {
  const int64_t ranks = expertRanks();
  if (dp % ranks == 0)
    return 1;
  if (ranks % cp == 0)
    return cp;
  return cp % ranks == 0 ? ranks : 1;
}

int64_t ParallelLayout::recomputedOf(size_t stage, int64_t layers) const {
  if (recompute != Recompute::Full)
    return 0;
  int64_t number = stageRecomputedLayers.empty() ? recomputedLayers : stageRecomputedLayers[stage];
  return number < 0 ? layers : std::min(number, layers);
}

static std::string layersText(int64_t count) { return std::to_string(count) + (count == 1 ? " layer" : " layers"); }

std::string mlir::ppc::toString(const ParallelLayout &layout) {
  std::string text;
  auto degree = [&](const char *name, int64_t value) {
    if (value > 1)
      text += llvm::formatv("{0}{1} {2}", text.empty() ? "" : " x ", name, value);
  };
  degree("dp", layout.dp);
  degree("tp", layout.tp);
  if (layout.tpRows > 1)
    text += llvm::formatv(" (rows {0})", layout.tpRows);
  if (layout.tpDepth > 1)
    text += llvm::formatv(" (depth {0})", layout.tpDepth);
  degree("pp", layout.pp);
  degree("vp", layout.vp);
  degree("cp", layout.cp);
  degree("ep", layout.ep);
  degree("etp", layout.etp);
  if (text.empty())
    text = "one device";
  if (layout.sequenceParallel)
    text += ", sp";
  if (layout.cp > 1)
    text += ", " + toString(layout.contextKind).str();
  text += llvm::formatv(", micro-batch {0}", layout.microBatch);
  if (layout.pp > 1)
    text += ", " + layout.schedule;
  if (layout.zero)
    text += llvm::formatv(", zero {0}", layout.zero);
  if (layout.shardGroup)
    text += llvm::formatv(", shard group {0}", layout.shardGroup);
  if (layout.zero >= 2 && layout.gradientRanks() != layout.shardRanks())
    text += llvm::formatv(", gradient group {0}", layout.gradientRanks());
  if (layout.zero >= 3 && layout.parameterRanks() != layout.shardRanks())
    text += llvm::formatv(", parameter group {0}", layout.parameterRanks());
  text += ", recompute " + toString(layout.recompute).str();
  if (layout.recompute == Recompute::Full && !layout.stageRecomputedLayers.empty())
    text += " (" +
            layersText(
                std::accumulate(layout.stageRecomputedLayers.begin(), layout.stageRecomputedLayers.end(), int64_t(0))) +
            ", by stage)";
  else if (layout.recompute == Recompute::Full && layout.recomputedLayers >= 0)
    text += " (" + layersText(layout.recomputedLayers) + " per stage)";
  if (layout.offload != Offload::None)
    text += ", offload " + toString(layout.offload).str();
  for (size_t i = 0, end; i < layout.stageGroups.size(); i = end) {
    for (end = i; end < layout.stageGroups.size() && layout.stageGroups[end] == layout.stageGroups[i];)
      ++end;
    text += llvm::formatv("{0}{1} on group {2}", i ? " + " : ", stages: ", end - i, layout.stageGroups[i]);
  }
  return text;
}
