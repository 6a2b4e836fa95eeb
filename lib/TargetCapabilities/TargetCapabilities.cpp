#include "ppc/TargetCapabilities/TargetCapabilities.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir::ppc;

llvm::ArrayRef<const TargetCapabilities *> mlir::ppc::targetCapabilities() {
  static const TargetCapabilities *const targets[] = {&hostCapabilities(), &cudaCapabilities()};
  return targets;
}

llvm::Expected<const TargetCapabilities *> mlir::ppc::findTargetCapabilities(llvm::StringRef name) {
  for (const TargetCapabilities *target : targetCapabilities())
    if (target->name == name)
      return target;
  std::string known =
      llvm::join(llvm::map_range(targetCapabilities(), [](const auto *target) { return target->name.str(); }), ", ");
  return llvm::createStringError("--target=" + name + ": this build has the target" +
                                 (targetCapabilities().size() > 1 ? "s " : " ") + known);
}

llvm::StringRef mlir::ppc::lackedBy(const TargetCapabilities &target, const PipelineScheduleKind &kind) {
  if (kind.replicas > target.modelCopies)
    return "two copies of the model";
  if (kind.slicesSequence && !target.sequenceSlices)
    return "sequences in slices";
  return kind.minChunks > 1 && !target.virtualStages ? "several stages per pipeline device" : "";
}

/// Whether programs run this value of the key at all, whatever the others are, and what it is called.
static std::string lackedValue(const TargetCapabilities &target, const ParallelLayout &layout) {
  auto with = [](llvm::StringRef what, llvm::StringRef key, const llvm::Twine &value) {
    return (what + " (" + key + " " + value + ")").str();
  };
  if (layout.cp > 1 && target.contexts.empty())
    return with("context parallelism", "cp", llvm::Twine(layout.cp));
  if (layout.cp > 1 && !llvm::is_contained(target.contexts, layout.contextKind))
    return with("context parallelism of that kind", "context", toString(layout.contextKind));
  if (layout.ep > 1 && !target.experts)
    return with("expert parallelism", "ep", llvm::Twine(layout.ep));
  if (layout.ep > 1 && layout.ep % layout.tp)
    return with("experts over ranks that are no multiple of the tensor-parallel ones", "ep",
                llvm::Twine(layout.ep) + ", tp " + llvm::Twine(layout.tp));
  if (layout.etp > 1 && !target.expertTensor)
    return with("tensor parallelism inside experts", "etp", llvm::Twine(layout.etp));
  if (!llvm::is_contained(target.offloads, layout.offload))
    return with("offload", "offload", toString(layout.offload));
  if (!llvm::is_contained(target.recomputes, layout.recompute))
    return with("recomputation", "recompute", toString(layout.recompute));
  if (!target.deviceGroups && !llvm::all_equal(layout.stageGroups))
    return "stages on several groups of devices (stage_groups)";
  if (!llvm::is_contained(target.zero, layout.zero))
    return with("gradients or parameters cut over data-parallel ranks", "zero", llvm::Twine(layout.zero));
  if (layout.zero && layout.shardGroup && layout.shardGroup != layout.dataRanks() && !target.shardGroups)
    return with("state cut over some of the data-parallel ranks", "shard_group", llvm::Twine(layout.shardGroup));
  if (layout.zero && layout.shardGroup % layout.ranksTogether())
    return with("state cut over some of the ranks that share a sequence or experts", "shard_group",
                llvm::Twine(layout.shardGroup));
  for (auto [key, group] :
       {std::pair("gradient_group", layout.gradientGroup), std::pair("parameter_group", layout.parameterGroup)})
    if (layout.zero >= 2 && group > 1 && group != layout.shardRanks() && group % layout.ranksTogether())
      return with("gradients or parameters cut over some of the ranks that share a sequence or experts", key,
                  llvm::Twine(group));
  return "";
}

std::string mlir::ppc::lackedBy(const TargetCapabilities &target, const ParallelLayout &layout) {
  if (std::string part = lackedValue(target, layout); !part.empty())
    return part;
  if (layout.vp > 1 && !target.virtualStages)
    return "several stages per pipeline device (vp " + std::to_string(layout.vp) + ")";
  if (layout.pp > 1) {
    llvm::Expected<const PipelineScheduleKind *> kind = findPipelineSchedule(layout.schedule);
    if (!kind)
      return llvm::toString(kind.takeError());
    if (!lackedBy(target, **kind).empty())
      return "pipeline schedule " + layout.schedule;
    if (defaultSlices(**kind, layout.pp) > 1 && layout.cp > 1)
      return "pipeline schedule " + layout.schedule + " with context parallelism (cp " + std::to_string(layout.cp) +
             ")";
  }
  if (!llvm::is_contained(target.precisions, layout.precision))
    return "products in " + toString(layout.precision).str();
  return "";
}

std::string mlir::ppc::lackedBy(const TargetCapabilities &target, const ModelShape &model, const ParallelLayout &layout,
                                int64_t sequence) {
  if (std::string part = lackedBy(target, layout); !part.empty())
    return part;
  if (layout.dp % layout.expertBatches())
    return llvm::formatv("experts over {0} of the data-parallel ranks of dp {1} x cp {2}", layout.expertRanks(),
                         layout.dp, layout.cp);
  if (int64_t slices = defaultSlices(layout.schedule, layout.pp); sequence % slices)
    return llvm::formatv("pipeline schedule {0} with sequences of {1} tokens, which {2} slices do not divide",
                         layout.schedule, sequence, slices);
  if (layout.cp > 1 && model.moe && !target.expertsOfCutSequences)
    return "experts with context parallelism (cp " + std::to_string(layout.cp) + ")";
  if (layout.cp > 1 && layout.contextKind == ContextKind::Ulysses) {
    bool ownKeys = model.latent || !model.kvHeads; // each head
    int64_t heads = ownKeys ? model.heads : model.kvHeads, each = ownKeys ? 1 : model.heads / model.kvHeads;
    if (!exchangedHeads(heads, each, cutHeads(heads, each, layout.tensorColumns()), layout.cp))
      return llvm::formatv("{0} key-value heads of {1} query heads each exchanged over cp {2} beside tp {3}", heads,
                           each, layout.cp, layout.tp);
  }
  // Key-value heads are cut as they are, by query heads within their groups, by both, or padded.
  const int64_t tp = layout.tensorColumns();
  std::string ranks = (layout.tpRows > 1 ? "the columns of tp " : "tp ") + std::to_string(tp);
  int64_t group = model.heads / model.kvHeads, byHead = tp;
  while (byHead > 1 && (tp % byHead || model.kvHeads % byHead || group % (tp / byHead)))
    --byHead;
  bool divides = byHead > 1 || group % tp == 0;
  if (!divides && tp > model.kvHeads)
    return llvm::formatv("{0} key-value heads of {1} query heads each on {2}", model.kvHeads, group, ranks);
  if (!isDividedBy(cutHeads(model.kvHeads, group, tp), layout.tpDepth))
    return llvm::formatv("{0} key-value heads of {1} query heads each on {2} with tp_depth {3}", model.kvHeads, group,
                         ranks, layout.tpDepth);
  if (tp > model.ffn || tp > model.vocab)
    return llvm::formatv("a feed-forward width of {0} or a vocabulary of {1} on {2}", model.ffn, model.vocab, ranks);
  return "";
}

std::string mlir::ppc::precisionsText(const TargetCapabilities &target) {
  return llvm::join(llvm::map_range(target.precisions, [](Precision precision) { return toString(precision).str(); }),
                    " and ");
}
