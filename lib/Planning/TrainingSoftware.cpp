#include "ppc/Planning/TrainingSoftware.h"

#include "ppc/Scheduling/PipelineSchedule.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir::ppc;

namespace {
using Sequence = TrainingSoftware::Sequence;
using ExpertTensor = TrainingSoftware::ExpertTensor;
using Heads = TrainingSoftware::Heads;

constexpr llvm::StringLiteral oneByOne[] = {"1f1b"}, interleaved[] = {"1f1b", "interleaved"},
                              withGpipe[] = {"1f1b", "gpipe"},
                              torchSchedules[] = {"gpipe", "1f1b", "interleaved", "breadth-first", "zbv", "dualpipev"};
constexpr int64_t zeroToOne[] = {0, 1}, zeroToThree[] = {0, 1, 2, 3}, zeroTwoThree[] = {0, 2, 3}, onlyOne[] = {1},
                  onlyThree[] = {3};
constexpr ContextKind allContexts[] = {ContextKind::Ring, ContextKind::Ulysses, ContextKind::AllGather},
                      onlyUlysses[] = {ContextKind::Ulysses}, onlyGather[] = {ContextKind::AllGather},
                      ringOrGather[] = {ContextKind::Ring, ContextKind::AllGather};
constexpr Recompute noneOrFull[] = {Recompute::None, Recompute::Full},
                    anyRecompute[] = {Recompute::None, Recompute::Selective, Recompute::Full};
constexpr Offload noOffload[] = {Offload::None}, offloadsState[] = {Offload::None, Offload::Optimizer};
constexpr Precision sixteen[] = {Precision::F32, Precision::Tf32, Precision::Bf16, Precision::Fp16},
                    only16[] = {Precision::Bf16, Precision::Fp16}, bfloat[] = {Precision::Bf16},
                    torchAo[] = {Precision::F32, Precision::Tf32,  Precision::Bf16,
                                 Precision::Fp8, Precision::Mxfp8, Precision::Fp4},
                    withFp8[] = {Precision::F32, Precision::Tf32, Precision::Bf16, Precision::Fp16, Precision::Fp8},
                    all[] = {Precision::F32, Precision::Tf32,  Precision::Bf16, Precision::Fp16,
                             Precision::Fp8, Precision::Mxfp8, Precision::Fp4};
} // namespace

/// Facts are read from the code of the version that is named.
static std::vector<TrainingSoftware> makeTable() {
  std::vector<TrainingSoftware> table;
  auto add = [&](llvm::StringLiteral name, llvm::StringLiteral title,
                 llvm::StringLiteral version) -> TrainingSoftware & {
    table.push_back({name, title, version});
    return table.back();
  };
  {
    TrainingSoftware &it = add("megatron-core", "Megatron-LM", "main at d98e8a64 (2026-08), megatron-core 0.16");
    it.schedules = interleaved;
    it.zero = zeroToThree;
    it.zeroInPipelines = zeroToOne; // Megatron-FSDP has no pipelines in its examples
    it.contexts = allContexts;
    it.recomputes = anyRecompute;
    it.offloads = offloadsState;
    it.precisions = all;
    it.experts = true;
    it.expertTensor = ExpertTensor::Any;
    it.expertsNeedSequence = true;
    it.heads = Heads::KeyValueOrCopied;
    it.sharedGroup = onlyOne;
    it.unevenStages = true;
    it.partialRecompute = true;
  }
  {
    TrainingSoftware &it = add("torchtitan", "torchtitan", "0.3.0; TOML: 0.2.2");
    it.schedules = torchSchedules;
    it.zero = zeroTwoThree;
    it.zeroInPipelines = zeroTwoThree;
    it.contexts = onlyGather;
    it.recomputes = anyRecompute;
    it.offloads = noOffload;
    it.precisions = torchAo;
    it.copiesAlone = true;
    it.sequence = Sequence::Always;
    it.experts = true;
    it.sharedGroup = onlyThree;
    it.unevenStages = true;
    it.tiedInPipelines = false;
  }
  {
    TrainingSoftware &it = add("deepspeed", "DeepSpeed", "0.19.8, configured by its JSON");
    it.zero = zeroToThree;
    it.contexts = onlyUlysses;
    it.recomputes = noneOrFull;
    it.offloads = offloadsState;
    it.precisions = sixteen;
    it.sequence = Sequence::Never;
    it.tensorWithFullShards = false; // AutoTP
    it.heads = Heads::Query;         // keys and values are copied where they are fewer
  }
  {
    TrainingSoftware &it = add("fsdp", "PyTorch FSDP2 under Accelerate", "accelerate 1.15.0");
    it.zero = zeroTwoThree;
    it.contexts = ringOrGather;
    it.recomputes = noneOrFull;
    it.offloads = noOffload;
    it.precisions = withFp8;
    it.copiesAlone = true;
    it.sequence = Sequence::Never;
    it.sharedGroup = onlyThree;
  }
  {
    TrainingSoftware &it = add("nanotron", "nanotron", "0.5 at 2411b022 (2026-04)");
    it.schedules = withGpipe;
    it.zero = zeroToOne;
    it.zeroInPipelines = zeroToOne;
    it.contexts = onlyGather;
    it.recomputes = noneOrFull;
    it.offloads = noOffload;
    it.precisions = bfloat;
    it.experts = true;
    it.unevenStages = true; // it cuts them itself
  }
  {
    TrainingSoftware &it = add("megatron-2021", "Megatron-LM of arXiv 2104.04473 and 2205.05198", "2021 to 2022");
    it.schedules = interleaved;
    it.heads = Heads::Query;
    it.zero = zeroToOne;
    it.zeroInPipelines = zeroToOne;
    it.recomputes = anyRecompute;
    it.offloads = noOffload;
    it.precisions = sixteen;
    it.partialRecompute = true;
  }
  {
    TrainingSoftware &it = add("megatron-deepspeed", "Megatron-DeepSpeed of BigScience", "2022");
    it.schedules = oneByOne;
    it.heads = Heads::Query;
    it.zero = zeroToOne;
    it.zeroInPipelines = zeroToOne;
    it.recomputes = noneOrFull;
    it.offloads = noOffload;
    it.precisions = only16;
    it.sequence = Sequence::Never;
    it.unevenStages = true;
  }
  {
    TrainingSoftware &it = add("aleph-scaling", "Aleph Alpha's scaling", "as released after arXiv 2311.05610");
    it.schedules = oneByOne;
    it.heads = Heads::Query;
    it.zero = zeroToOne;
    it.zeroInPipelines = zeroToOne;
    it.recomputes = noneOrFull;
    it.offloads = noOffload;
    it.precisions = only16;
    it.unevenStages = true;
  }
  return table;
}

llvm::ArrayRef<TrainingSoftware> mlir::ppc::trainingSoftware() {
  static const std::vector<TrainingSoftware> table = makeTable();
  return table;
}

const TrainingSoftware *mlir::ppc::softwareOf(const Stack &stack) {
  llvm::StringRef name = stack.software.empty() ? stack.name : stack.software;
  const auto *found =
      llvm::find_if(trainingSoftware(), [&](const TrainingSoftware &each) { return each.name == name; });
  return found == trainingSoftware().end() ? nullptr : found;
}

bool mlir::ppc::offers(const TrainingSoftware &software, PlanKey key, int64_t value) {
  switch (key) {
  case PlanKey::Devices:
  case PlanKey::Dp:
  case PlanKey::MicroBatch:
  case PlanKey::Attention:
    return true;
  case PlanKey::Tp:
    return value == 1 || software.tensor;
  case PlanKey::Pp:
    return value == 1 || !software.schedules.empty();
  case PlanKey::Vp:
    return value == 1 ||
           llvm::any_of(software.schedules, [](llvm::StringRef name) { return name != "1f1b" && name != "gpipe"; });
  case PlanKey::Cp:
    return value == 1 || !software.contexts.empty();
  case PlanKey::Ep:
    return value == 1 || software.experts;
  case PlanKey::Etp:
    return value == 1 || (software.experts && software.expertTensor != ExpertTensor::One);
  case PlanKey::SequenceParallel:
    return software.sequence == Sequence::Optional || value == (software.sequence == Sequence::Always);
  case PlanKey::Zero:
    return llvm::is_contained(software.zero, value);
  case PlanKey::ShardGroup:
  case PlanKey::GradientGroup:
  case PlanKey::ParameterGroup:
    return true; // with ZeRO: lackingPart
  case PlanKey::Schedule:
    return software.schedules.empty() ? pipelineScheduleKinds()[value].name == "1f1b"
                                      : llvm::is_contained(software.schedules, pipelineScheduleKinds()[value].name);
  case PlanKey::Recompute:
    return llvm::is_contained(software.recomputes, Recompute(value));
  case PlanKey::RecomputedLayers:
    return value == -1 || (value >= 0 && software.partialRecompute);
  case PlanKey::Offload:
    return llvm::is_contained(software.offloads, Offload(value));
  case PlanKey::Precision:
    return llvm::is_contained(software.precisions, Precision(value));
  case PlanKey::TpRows:
  case PlanKey::TpDepth:
    return value == 1;
  case PlanKey::Context:
    return software.contexts.empty() ? ContextKind(value) == ContextKind::Ring
                                     : llvm::is_contained(software.contexts, ContextKind(value));
  }
  return true;
}

/// How many words a key has; 0: its values are numbers.
static int64_t wordsOf(PlanKey key) {
  switch (key) {
  case PlanKey::Zero:
    return 4;
  case PlanKey::Schedule:
    return int64_t(pipelineScheduleKinds().size());
  case PlanKey::Recompute:
  case PlanKey::Offload:
  case PlanKey::Context:
    return 3;
  case PlanKey::SequenceParallel:
    return 2;
  case PlanKey::Precision:
    return precisionCount;
  default:
    return 0;
  }
}

std::string mlir::ppc::offeredText(const TrainingSoftware &software, PlanKey key) {
  std::vector<std::string> texts;
  for (int64_t value = 0; value < wordsOf(key); ++value)
    if (offers(software, key, value))
      texts.push_back(planValueText(key, value));
  if (key == PlanKey::RecomputedLayers)
    texts.push_back(software.partialRecompute ? "a number or all" : "all");
  else if (wordsOf(key) == 0)
    texts.push_back("1");
  return llvm::join(texts, ", ");
}

std::string mlir::ppc::lackingPart(const TrainingSoftware &software, const ModelShape &model,
                                   const ParallelLayout &layout) {
  for (int i = 0; i < planKeyCount; ++i) {
    PlanKey key = PlanKey(i);
    bool idle = (key == PlanKey::Schedule && layout.pp == 1) || (key == PlanKey::Context && layout.cp == 1) ||
                (key == PlanKey::SequenceParallel && layout.tp == 1) ||
                (key == PlanKey::RecomputedLayers && layout.recompute != Recompute::Full);
    if (!idle && !offers(software, key, planValue(layout, key)))
      return (toString(key) + " " + planValueText(key, planValue(layout, key))).str();
  }
  auto with = [](llvm::StringRef what, int64_t value) { return (what + " " + llvm::Twine(value)).str(); };
  if (layout.pp > 1 && !llvm::is_contained(software.zeroInPipelines, layout.zero))
    return with("zero", layout.zero) + " beside " + with("pp", layout.pp);
  if (layout.pp > 1 && model.tiedEmbeddings && !software.tiedInPipelines)
    return "an LM head tied to the embedding with " + with("pp", layout.pp);
  if (layout.tp > 1 && layout.zero == 3 && !software.tensorWithFullShards)
    return "zero 3 with " + with("tp", layout.tp);
  int64_t ulysses = layout.cp > 1 && layout.contextKind == ContextKind::Ulysses ? layout.cp : 1,
          parts = layout.tp * ulysses;
  bool copies = software.heads == Heads::KeyValueOrCopied && ulysses == 1 && layout.tp % model.kvHeads == 0;
  if (model.heads % parts || (software.heads != Heads::Query && !model.latent && !copies && model.kvHeads % parts))
    return with("tp", layout.tp) + (ulysses > 1 ? " x ulysses " + std::to_string(ulysses) : "") + " of " +
           std::to_string(model.heads) + " heads, " + std::to_string(model.kvHeads) + " of keys and values";
  if (layout.etp > 1 && software.expertTensor == ExpertTensor::OneOrTensor && layout.etp != layout.tp)
    return with("etp", layout.etp) + " beside " + with("tp", layout.tp);
  if (software.expertsNeedSequence && model.moe && layout.tp > 1 && !layout.sequenceParallel)
    return "experts on " + with("tp", layout.tp) + " without sp";
  if (layout.zero && layout.shardGroup && layout.shardGroup != layout.dataRanks() &&
      !llvm::is_contained(software.sharedGroup, layout.zero))
    return with("shard_group", layout.shardGroup) + " of " + with("zero", layout.zero);
  if (layout.gradientRanks() != (layout.zero < 2 ? 1 : layout.shardRanks()))
    return with("gradient_group", layout.gradientRanks()) + " of " + with("zero", layout.zero);
  if (layout.parameterRanks() != (layout.zero < 3 ? 1 : layout.shardRanks()))
    return with("parameter_group", layout.parameterRanks()) + " of " + with("zero", layout.zero);
  if (software.copiesAlone && layout.zero == 0 && layout.dataRanks() > 1 && layout.devices() > layout.dp)
    return "zero 0 of " + with("dp", layout.dp) + " with other parallelism";
  if (software.copiesAlone && layout.zero && layout.shardGroup % layout.cp)
    return with("shard_group", layout.shardGroup) + " of " + with("cp", layout.cp);
  if (!software.unevenStages && (model.layers % (layout.pp * layout.vp) || !llvm::all_equal(layout.stageLayers)))
    return "stages of different numbers of layers";
  return "";
}

void mlir::ppc::limitToSoftware(const TrainingSoftware &software, PlanConstraints &constraints) {
  constraints.limit([&software](PlanKey key, int64_t value) { return offers(software, key, value); },
                    [&software](PlanKey key) {
                      return (software.title + " (" + software.version + ") has " + toString(key) + " " +
                              offeredText(software, key))
                          .str();
                    });
}

void mlir::ppc::printTrainingSoftware(llvm::raw_ostream &out) {
  out << "| `--stack` | software | version | schedules | ZeRO (with pp) | context | sp | ep, etp | recompute | "
         "offload | "
         "precision | uneven stages |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  auto none = [](std::string text) { return text.empty() ? std::string("none") : text; };
  for (const TrainingSoftware &each : trainingSoftware()) {
    std::vector<std::string> zero, beside;
    for (int64_t stage : each.zero)
      zero.push_back(std::to_string(stage));
    for (int64_t stage : each.zeroInPipelines)
      beside.push_back(std::to_string(stage));
    static constexpr llvm::StringLiteral sequences[] = {"never", "with tp", "optional"},
                                         grids[] = {"ep", "ep, etp 1 or tp", "ep, etp"};
    out << "| `" << each.name << "` | " << each.title << " | " << each.version << " | "
        << (each.schedules.empty() ? "none" : offeredText(each, PlanKey::Schedule)) << " | " << llvm::join(zero, ", ")
        << " (" << none(llvm::join(beside, ", ")) << ") | "
        << (each.contexts.empty() ? "none" : offeredText(each, PlanKey::Context)) << " | "
        << sequences[int(each.sequence)] << " | " << (each.experts ? grids[int(each.expertTensor)] : "none") << " | "
        << offeredText(each, PlanKey::Recompute) << (each.partialRecompute ? " (some layers)" : "") << " | "
        << offeredText(each, PlanKey::Offload) << " | " << offeredText(each, PlanKey::Precision) << " | "
        << (each.unevenStages ? "yes" : "no") << " |\n";
  }
}
