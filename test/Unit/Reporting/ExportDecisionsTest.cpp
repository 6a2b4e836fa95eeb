// Every decision of a plan is in the file, or the file has a comment about it, or the plan is refused: random plans of
// random models for every target, read back from the text of the file.
#include "../Model/LlamaShape.h"
#include "ppc/Planning/TrainingSoftware.h"
#include "ppc/Reporting/PlanExport.h"
#include "ppc/Scheduling/PipelineSchedule.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Regex.h"

#include "gtest/gtest.h"

#include <map>
#include <random>
#include <set>

using namespace mlir::ppc;

namespace {
/// Decisions by name, as texts: "tp" -> "4", "schedule" -> "1f1b".
using Said = std::map<std::string, std::string>;
/// Assignments of a file, by the last part of each name: "tensor_parallel_degree" -> "4".
using Values = std::map<std::string, std::string>;

struct Case {
  ModelConfig config;
  TrainingJob job{4096, 512};
  ParallelLayout layout;
  FineTuning tuning;
};
} // namespace

//===-- Random plans ------------------------------------------------------===//

static ModelShape llama() {
  ModelShape model = llamaShape(32);
  model.family = "llama";
  return model;
}

/// The 16B flavor of DeepSeek-V3 in torchtitan.
static ModelShape deepseek() {
  ModelShape model = llamaShape(27);
  model.family = "deepseek_v3";
  model.hidden = 2048;
  model.heads = model.kvHeads = 16;
  model.latent = {0, 512, 128, 64, 128};
  model.moe = {64, 6, 1408, 2816};
  model.moe.firstLayer = 1;
  model.moe.groups = 8, model.moe.groupsPerToken = 4;
  model.moe.scoreBias = true;
  model.predictionLayers = 1;
  return model;
}

static ModelConfig randomModel(std::mt19937 &random) {
  auto pick = [&](int64_t last) { return std::uniform_int_distribution<int64_t>(0, last)(random); };
  ModelConfig config;
  config.shape = llama();
  switch (pick(4)) {
  case 0:
    config.shape = deepseek();
    config.shape.moe.normalizesTopK = pick(3) > 0;
    config.routing = {true, 2.5, 0};
    break;
  case 1: // Mixtral
    config.shape.moe = {8, 2, 14336};
    config.shape.moe.normalizesTopK = true;
    config.routing.balanceLossFactor = 0.001;
    break;
  case 2: // as Megatron-LM's own GPT
    config.shape.gated = false;
    config.shape.activation = ActivationKind::Relu;
    config.shape.family = "gpt2";
    config.embeddingScale = 64;
    config.shape.scalesEmbedding = true;
    break;
  default:
    if (pick(1))
      config.ropeScaling = {pick(1) ? RopeScaling::Kind::Yarn : RopeScaling::Kind::Linear, 4};
  }
  return config;
}

template <typename T> static T oneOf(std::mt19937 &random, llvm::ArrayRef<T> offered, T otherwise) {
  if (offered.empty())
    return otherwise;
  return offered[std::uniform_int_distribution<size_t>(0, offered.size() - 1)(random)];
}

static Case randomCase(std::mt19937 &random, const TrainingSoftware &software) {
  auto pick = [&](int64_t last) { return std::uniform_int_distribution<int64_t>(0, last)(random); };
  Case result;
  result.config = randomModel(random);
  const ModelShape &model = result.config.shape;
  ParallelLayout &layout = result.layout;
  layout.dp = int64_t(1) << pick(3);
  layout.tp = int64_t(1) << pick(3);
  layout.pp = software.schedules.empty() ? 1 : int64_t(1) << pick(2);
  layout.cp = software.contexts.empty() || pick(1) ? 1 : int64_t(1) << (1 + pick(1));
  layout.microBatch = 1 + pick(1);
  layout.sequenceParallel = layout.tp > 1 && software.sequence != TrainingSoftware::Sequence::Never &&
                            (software.sequence == TrainingSoftware::Sequence::Always || pick(3) > 0);
  layout.schedule = oneOf<llvm::StringLiteral>(random, software.schedules, "1f1b").str();
  if (layout.pp == 1)
    layout.schedule = "1f1b";
  layout.vp = layout.schedule == "1f1b" || layout.schedule == "gpipe" ? 1 : 2;
  layout.zero = oneOf<int64_t>(random, layout.pp > 1 ? software.zeroInPipelines : software.zero, 0);
  layout.recompute = oneOf<Recompute>(random, software.recomputes, Recompute::None);
  if (layout.recompute == Recompute::Full && software.partialRecompute && pick(1))
    layout.recomputedLayers = 1 + pick(2);
  layout.offload = oneOf<Offload>(random, software.offloads, Offload::None);
  layout.precision = oneOf<Precision>(random, software.precisions, Precision::Bf16);
  layout.contextKind = oneOf<ContextKind>(random, software.contexts, ContextKind::Ring);
  layout.attention = AttentionKernel(pick(5));
  if (model.moe && software.experts)
    layout.ep = std::min<int64_t>(8, layout.dp * layout.cp);
  if (layout.zero && layout.dp > 1 && pick(1))
    layout.shardGroup = layout.dataRanks() / 2;
  int64_t chunks = layout.pp * layout.vp;
  for (int64_t chunk = 0; chunks > 1 && chunk < chunks; ++chunk)
    layout.stageLayers.push_back(model.layers * (chunk + 1) / chunks - model.layers * chunk / chunks);
  if (chunks > 1 && pick(1))
    --layout.stageLayers.front(), ++layout.stageLayers.back();
  if (layout.pp > 1 && pick(3) == 0)
    for (int64_t stage = 0; stage < layout.pp; ++stage)
      layout.stageGroups.push_back(stage >= layout.pp / 2);
  if (pick(5) == 0)
    result.tuning.adapterRank = 8;
  if (result.tuning.adapterRank && pick(1))
    result.tuning.baseBits = 4;
  if (pick(5) == 0)
    result.tuning.packedLength = 1024;
  return result;
}

//===-- What is decided ---------------------------------------------------===//

static std::string text(int64_t number) { return std::to_string(number); }

static std::string stagesText(llvm::ArrayRef<int64_t> layers) { return llvm::join(llvm::map_range(layers, text), " "); }

static std::string kernelText(AttentionKernel kernel) {
  if (kernel == AttentionKernel::Unfused || kernel == AttentionKernel::FusedSoftmax)
    return "unfused";
  return kernel == AttentionKernel::Cudnn ? "fused" : "flash";
}

/// Decisions that mean something in the layout; 1 and none are decisions, too.
static Said decisions(const Case &plan) {
  const ParallelLayout &layout = plan.layout;
  const ModelShape &model = plan.config.shape;
  Said said{{"dp", text(layout.dp)},
            {"tp", text(layout.tp)},
            {"pp", text(layout.pp)},
            {"cp", text(layout.cp)},
            {"micro_batch", text(layout.microBatch)},
            {"global_batch", text(plan.job.globalBatch)},
            {"sequence", text(plan.job.sequence)},
            {"recompute", toString(layout.recompute).str()},
            {"offload", toString(layout.offload).str()},
            {"precision", toString(layout.precision).str()},
            {"attention", kernelText(layout.attention)}};
  if (layout.tp > 1)
    said["sp"] = layout.sequenceParallel ? "on" : "off";
  if (layout.cp > 1)
    said["context"] = toString(layout.contextKind);
  if (layout.dataRanks() > 1)
    said["zero"] = text(layout.zero);
  if (layout.zero && layout.dataRanks() > 1)
    said["shard_group"] = text(layout.shardGroup ? layout.shardGroup : layout.dataRanks());
  if (layout.recompute == Recompute::Full)
    said["recomputed_layers"] = text(layout.recomputedLayers);
  if (layout.pp > 1) {
    said["vp"] = text(layout.vp);
    said["schedule"] = layout.schedule;
    said["stages"] = stagesText(layout.stageLayers);
  }
  if (!llvm::all_equal(layout.stageGroups))
    said["groups"] = stagesText(layout.stageGroups);
  if (model.moe) {
    said["ep"] = text(layout.ep);
    said["etp"] = text(layout.etp);
    said["experts"] = text(model.moe.experts);
    said["top_k"] = text(model.moe.topK);
    said["router_groups"] = text(model.moe.groups);
    said["scores"] = plan.config.routing.sigmoid ? "sigmoid" : "softmax";
    said["score_bias"] = text(model.moe.scoreBias);
    said["balance"] = text(plan.config.routing.balanceLossFactor > 0);
  }
  if (model.predictionLayers)
    said["prediction_layers"] = text(model.predictionLayers);
  if (plan.tuning.adapterRank)
    said["adapters"] = text(plan.tuning.adapterRank);
  if (plan.tuning.packedLength)
    said["packed"] = text(plan.tuning.packedLength);
  return said;
}

/// The comments that stand for a decision.
static std::vector<Unsaid> standsFor(llvm::StringRef decision) {
  static const std::map<std::string, std::vector<Unsaid>> table = {
      {"dp", {Unsaid::DataParallelism}},
      {"micro_batch", {Unsaid::Batches}},
      {"global_batch", {Unsaid::Batches}},
      {"sequence", {Unsaid::Batches}},
      {"recompute", {Unsaid::Recompute}},
      {"precision", {Unsaid::WideProducts}},
      {"attention", {Unsaid::Attention}},
      {"context", {Unsaid::Context}},
      {"stages", {Unsaid::Stages}},
      {"groups", {Unsaid::Groups}},
      {"experts", {Unsaid::ModelFacts}},
      {"top_k", {Unsaid::ModelFacts}},
      {"router_groups", {Unsaid::ModelFacts}},
      {"scores", {Unsaid::ModelFacts, Unsaid::Router}},
      {"score_bias", {Unsaid::ModelFacts}},
      {"balance", {Unsaid::ModelFacts, Unsaid::Router}},
      {"prediction_layers", {Unsaid::PredictionLayers}},
      {"adapters", {Unsaid::Tuning}},
      {"packed", {Unsaid::Tuning}},
  };
  auto it = table.find(decision.str());
  return it == table.end() ? std::vector<Unsaid>{} : it->second;
}

/// Whether the program has nothing but this value, so that nothing needs to say it.
static bool isOnlyValue(const TrainingSoftware &software, llvm::StringRef decision, const Case &plan) {
  auto only = [&](PlanKey key, int64_t values) {
    int64_t offered = 0;
    for (int64_t value = 0; value < values; ++value)
      offered += offers(software, key, value);
    return offered == 1 && offers(software, key, planValue(plan.layout, key));
  };
  if (decision == "context")
    return only(PlanKey::Context, 3);
  if (decision == "offload")
    return only(PlanKey::Offload, 3);
  if (decision == "sp")
    return only(PlanKey::SequenceParallel, 2);
  if (decision == "pp")
    return software.schedules.empty() && plan.layout.pp == 1;
  if (decision == "vp")
    return plan.layout.vp == 1 && !offers(software, PlanKey::Vp, 2);
  if (decision == "ep")
    return plan.layout.ep == 1 && !offers(software, PlanKey::Ep, 2);
  if (decision == "etp")
    return plan.layout.etp == 1 && !offers(software, PlanKey::Etp, 2);
  if (decision == "recomputed_layers")
    return plan.layout.recomputedLayers == -1 && !software.partialRecompute;
  if (decision == "shard_group")
    return !llvm::is_contained(software.sharedGroup, plan.layout.zero);
  if (decision == "router_groups" || decision == "score_bias") // nanotron refuses those that have it
    return plan.config.shape.moe.groups == 1 && !plan.config.shape.moe.scoreBias;
  return false;
}

//===-- What the file says ------------------------------------------------===//

/// `name = value`, `name: value` or `--name value` in each line, by the last part of the name; values without quotes,
/// commas, comments.
static Values assignments(llvm::StringRef text) {
  Values values;
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n', -1, false);
  for (llvm::StringRef line : lines) {
    line = line.trim();
    if (line.starts_with("#"))
      continue;
    std::pair<llvm::StringRef, llvm::StringRef> parts;
    if (line.consume_front("--"))
      parts = line.split(' ');
    else if (line.contains('=') && !line.starts_with("from "))
      parts = line.split('=');
    else
      parts = line.split(": ");
    llvm::StringRef name = parts.first.trim();
    if (size_t dot = name.rfind('.'); dot != llvm::StringRef::npos)
      name = name.drop_front(dot + 1);
    values[name.str()] = parts.second.trim().rtrim(',').trim('"').str();
  }
  return values;
}

/// Copies what the file has of the names (second of each pair) to the decisions (first).
static Said taken(const Values &values, llvm::ArrayRef<std::pair<const char *, const char *>> names) {
  Said said;
  for (auto [decision, name] : names)
    if (auto it = values.find(name); it != values.end())
      said[decision] = it->second;
  return said;
}

static int64_t number(const Values &values, llvm::StringRef name, int64_t missing) {
  auto it = values.find(name.str());
  return it == values.end() ? missing : std::stoll(it->second);
}

static std::string valueOf(const Values &values, llvm::StringRef name) {
  auto it = values.find(name.str());
  return it == values.end() ? "" : it->second;
}

/// "Et*7|t*8|t*9mL" -> "7 8 9".
static std::string megatronStages(llvm::StringRef layout) {
  llvm::SmallVector<llvm::StringRef> stages;
  layout.split(stages, '|');
  std::vector<std::string> counts;
  for (llvm::StringRef stage : stages) {
    int64_t count = 0;
    size_t at = stage.find('t');
    if (at != llvm::StringRef::npos &&
        (!stage.drop_front(at + 1).starts_with("*") || stage.drop_front(at + 2).consumeInteger(10, count)))
      count = 1;
    counts.push_back(text(count));
  }
  return llvm::join(counts, " ");
}

static void readStages(const Values &values, llvm::StringRef layoutName, llvm::StringRef chunksName, const Case &plan,
                       Said &said) {
  int64_t pp = plan.layout.pp, vp = number(values, chunksName, 1);
  if (std::string layout = valueOf(values, layoutName); !layout.empty()) {
    said["stages"] = megatronStages(layout);
    vp = (llvm::StringRef(said["stages"]).count(' ') + 1) / pp;
  } else {
    said["stages"] = stagesText(std::vector<int64_t>(pp * vp, plan.config.shape.layers / (pp * vp)));
  }
  said["vp"] = text(vp);
  said["schedule"] = vp > 1 ? "interleaved" : "1f1b"; // the schedule that it runs with vp chunks
}

static std::string contextOf(llvm::StringRef name) {
  return name == "p2p" || name == "alltoall" ? "ring" : name == "a2a" ? "ulysses" : "all-gather";
}

static Said readMegatron(llvm::StringRef file, const Case &plan) {
  Values values = assignments(file);
  auto has = [&](llvm::StringRef name) { return values.count(name.str()) > 0; };
  Said said = taken(values, {{"tp", "tensor-model-parallel-size"},
                             {"pp", "pipeline-model-parallel-size"},
                             {"cp", "context-parallel-size"},
                             {"ep", "expert-model-parallel-size"},
                             {"etp", "expert-tensor-parallel-size"},
                             {"micro_batch", "micro-batch-size"},
                             {"global_batch", "global-batch-size"},
                             {"sequence", "seq-length"},
                             {"attention", "attention-backend"},
                             {"experts", "num-experts"},
                             {"top_k", "moe-router-topk"},
                             {"scores", "moe-router-score-function"},
                             {"prediction_layers", "mtp-num-layers"}});
  said["router_groups"] = text(number(values, "moe-router-num-groups", 1));
  said["score_bias"] = text(has("moe-router-enable-expert-bias"));
  said["balance"] = text(valueOf(values, "moe-router-load-balancing-type") == "aux_loss");
  said["sp"] = has("sequence-parallel") ? "on" : "off";
  std::string strategy = valueOf(values, "data-parallel-sharding-strategy");
  said["zero"] = strategy == "optim_grads_params" ? "3"
                 : strategy == "optim_grads"      ? "2"
                                                  : text(has("use-distributed-optimizer"));
  said["shard_group"] = text(plan.layout.dataRanks() / number(values, "num-distributed-optimizer-instances", 1));
  if (has("cp-comm-type"))
    said["context"] = contextOf(valueOf(values, "cp-comm-type"));
  readStages(values, "pipeline-model-parallel-layout", "num-virtual-stages-per-pipeline-rank", plan, said);
  said["recompute"] = has("recompute-granularity") ? valueOf(values, "recompute-granularity") : "none";
  said["recomputed_layers"] =
      valueOf(values, "recompute-method") == "block" ? valueOf(values, "recompute-num-layers") : "-1";
  said["offload"] = has("optimizer-cpu-offload") ? "optimizer" : "none";
  std::string recipe = valueOf(values, "fp8-recipe");
  if (has("fp16") || has("bf16"))
    said["precision"] = recipe == "tensorwise" ? "fp8"
                        : recipe == "mxfp8"    ? "mxfp8"
                        : has("fp4-format")    ? "fp4"
                        : has("fp16")          ? "fp16"
                                               : "bf16";
  return said;
}

static Said readBridge(llvm::StringRef file, const Case &plan) {
  Values values = assignments(file);
  auto is = [&](llvm::StringRef name) { return valueOf(values, name) == "True"; };
  Said said = taken(values, {{"tp", "tensor_model_parallel_size"},
                             {"pp", "pipeline_model_parallel_size"},
                             {"cp", "context_parallel_size"},
                             {"ep", "expert_model_parallel_size"},
                             {"etp", "expert_tensor_parallel_size"},
                             {"micro_batch", "micro_batch_size"},
                             {"global_batch", "global_batch_size"},
                             {"sequence", "seq_length"},
                             {"prediction_layers", "mtp_num_layers"}});
  said["attention"] = llvm::StringRef(valueOf(values, "attention_backend")).split('.').second.str();
  said["sp"] = is("sequence_parallel") ? "on" : "off";
  std::string strategy = valueOf(values, "data_parallel_sharding_strategy");
  said["zero"] = strategy == "optim_grads_params" ? "3"
                 : strategy == "optim_grads"      ? "2"
                                                  : text(is("use_distributed_optimizer"));
  said["shard_group"] = text(plan.layout.dataRanks() / number(values, "num_distributed_optimizer_instances", 1));
  if (values.count("cp_comm_type"))
    said["context"] = contextOf(valueOf(values, "cp_comm_type"));
  readStages(values, "pipeline_model_parallel_layout", "virtual_pipeline_model_parallel_size", plan, said);
  said["recompute"] = values.count("recompute_granularity") ? valueOf(values, "recompute_granularity") : "none";
  said["recomputed_layers"] =
      valueOf(values, "recompute_method") == "block" ? valueOf(values, "recompute_num_layers") : "-1";
  said["offload"] = is("optimizer_cpu_offload") ? "optimizer" : "none";
  static const Values precisions = {{"bf16_mixed", "bf16"},
                                    {"fp16_mixed", "fp16"},
                                    {"bf16_with_mxfp8_mixed", "mxfp8"},
                                    {"bf16_with_fp8_current_scaling_mixed", "fp8"},
                                    {"bf16_with_nvfp4_mixed", "fp4"}};
  said["precision"] = precisions.at(valueOf(values, "mixed_precision"));
  if (file.contains("cfg.peft = LoRA(dim=8,"))
    said["adapters"] = "8";
  return said;
}

/// [["tok_embeddings", "layers.0"], ["layers.1", "norm"]] -> "1 1".
static std::string torchStages(llvm::StringRef file) {
  llvm::StringRef list = file.substr(file.find("module_fqns_per_model_part")).split('\n').first;
  llvm::SmallVector<llvm::StringRef> stages;
  list.split(stages, "], [");
  std::vector<std::string> counts;
  for (llvm::StringRef stage : stages)
    counts.push_back(text(int64_t(stage.count("layers."))));
  return llvm::join(counts, " ");
}

static Said readTorchtitan(llvm::StringRef file, const Case &plan) {
  Values values = assignments(file);
  Said said =
      taken(values, {{"tp", "tensor_parallel_degree"},
                     {"pp", "pipeline_parallel_degree"},
                     {"cp", "context_parallel_degree"},
                     {"ep", "expert_parallel_degree"},
                     {"etp", "expert_tensor_parallel_degree"},
                     {"global_batch", "global_batch_size"},
                     {"sequence", "seq_len"},
                     {"micro_batch", plan.layout.pp > 1 ? "pipeline_parallel_microbatch_size" : "local_batch_size"}});
  int64_t replicate = number(values, "data_parallel_replicate_degree", 1),
          shard = number(values, "data_parallel_shard_degree", 1);
  said["dp"] = text(replicate * shard);
  std::string reshard = valueOf(values, "fsdp_reshard_after_forward");
  said["zero"] = reshard == "always" ? "3" : reshard == "never" ? "2" : "0";
  said["shard_group"] = text(shard * plan.layout.cp);
  if (plan.layout.pp > 1) {
    static const Values schedules = {{"GPipe", "gpipe"},
                                     {"1F1B", "1f1b"},
                                     {"Interleaved1F1B", "interleaved"},
                                     {"LoopedBFS", "breadth-first"},
                                     {"ZBVZeroBubble", "zbv"},
                                     {"DualPipeV", "dualpipev"}};
    said["schedule"] = schedules.at(valueOf(values, "pipeline_parallel_schedule"));
    said["stages"] = torchStages(file);
    said["vp"] = text((int64_t(llvm::StringRef(said["stages"]).count(' ')) + 1) / plan.layout.pp);
  }
  std::string checkpoints = valueOf(values, "activation_checkpoint") + valueOf(values, "mode");
  said["recompute"] = llvm::StringRef(checkpoints).contains_insensitive("full")        ? "full"
                      : llvm::StringRef(checkpoints).contains_insensitive("selective") ? "selective"
                                                                                       : "none";
  if (valueOf(values, "mixed_precision_param") == "bfloat16")
    said["precision"] = file.contains_insensitive("float8")                             ? "fp8"
                        : file.contains("MXFP8") || file.contains("quantize.linear.mx") ? "mxfp8"
                        : file.contains("NVFP4")                                        ? "fp4"
                                                                                        : "bf16";
  if (file.contains("num_mtp_layers=1"))
    said["prediction_layers"] = "1";
  if (file.contains("LoRAConverter.Config(rank=8,"))
    said["adapters"] = "8";
  return said;
}

static Said readDeepSpeed(llvm::StringRef file, const Case &) {
  llvm::json::Value parsed = llvm::cantFail(llvm::json::parse(file));
  const llvm::json::Object &root = *parsed.getAsObject();
  auto integer = [](const llvm::json::Object *object, llvm::StringRef key, int64_t missing) {
    return object ? object->getInteger(key).value_or(missing) : missing;
  };
  int64_t global = integer(&root, "train_batch_size", 0), micro = integer(&root, "train_micro_batch_size_per_gpu", 0);
  const llvm::json::Object *zero = root.getObject("zero_optimization");
  Said said{{"global_batch", text(global)},
            {"micro_batch", text(micro)},
            {"dp", text(global / (micro * integer(&root, "gradient_accumulation_steps", 1)))},
            {"tp", text(integer(root.getObject("tensor_parallel"), "autotp_size", 1))},
            {"cp", text(integer(&root, "sequence_parallel_size", 1))},
            {"zero", text(integer(zero, "stage", 0))},
            {"offload", zero->getObject("offload_optimizer") ? "optimizer" : "none"}};
  for (llvm::StringRef precision : {"bf16", "fp16"})
    if (root.getObject(precision))
      said["precision"] = precision;
  return said;
}

static Said readAccelerate(llvm::StringRef file, const Case &plan) {
  Values values = assignments(file);
  Said said;
  bool shards = valueOf(values, "distributed_type") == "FSDP";
  int64_t replicate = number(values, "parallelism_config_dp_replicate_size", number(values, "num_processes", 1));
  int64_t shard = number(values, "parallelism_config_dp_shard_size", 1);
  said["dp"] = text(replicate * shard);
  said["tp"] = text(number(values, "parallelism_config_tp_size", 1));
  said["cp"] = text(number(values, "parallelism_config_cp_size", 1));
  said["zero"] = !shards ? "0" : valueOf(values, "fsdp_reshard_after_forward") == "true" ? "3" : "2";
  said["shard_group"] = text(shard * plan.layout.cp);
  if (values.count("parallelism_config_cp_comm_strategy"))
    said["context"] = contextOf(valueOf(values, "parallelism_config_cp_comm_strategy"));
  if (std::string precision = valueOf(values, "mixed_precision"); precision != "no")
    said["precision"] = precision;
  if (shards)
    said["recompute"] = valueOf(values, "fsdp_activation_checkpointing") == "true" ? "full" : "none";
  return said;
}

static Said readNanotron(llvm::StringRef file, const Case &plan) {
  Values values = assignments(file);
  Said said = taken(values, {{"dp", "dp"},
                             {"tp", "tp"},
                             {"pp", "pp"},
                             {"cp", "context_parallel_size"},
                             {"ep", "expert_parallel_size"},
                             {"zero", "zero_stage"},
                             {"micro_batch", "micro_batch_size"},
                             {"sequence", "sequence_length"}});
  said["global_batch"] = text(number(values, "micro_batch_size", 0) *
                              number(values, "batch_accumulation_per_replica", 0) * number(values, "dp", 0));
  said["schedule"] = valueOf(values, "pp_engine") == "afab" ? "gpipe" : valueOf(values, "pp_engine");
  said["sp"] = valueOf(values, "tp_mode") == "REDUCE_SCATTER" ? "on" : "off";
  said["recompute"] = valueOf(values, "recompute_layer") == "true" ? "full" : "none";
  said["precision"] = valueOf(values, "dtype") == "bfloat16" ? "bf16" : "?";
  llvm::SmallVector<llvm::StringRef> found;
  if (llvm::Regex("num_experts: ([0-9]+), top_k: ([0-9]+)").match(file, &found))
    said["experts"] = found[1], said["top_k"] = found[2];
  said["scores"] = "softmax"; // the only one
  if (plan.layout.cp > 1 && valueOf(values, "_attn_implementation") != "llama3_ring_attention")
    said["context"] = "none";
  return said;
}

using Reader = Said (*)(llvm::StringRef file, const Case &plan);
static constexpr Reader readers[exportTargetCount] = {readMegatron,  readBridge,     readTorchtitan, readTorchtitan,
                                                      readDeepSpeed, readAccelerate, readNanotron};

//===-- The properties ----------------------------------------------------===//

class ExportDecisions : public testing::TestWithParam<int> {};

TEST_P(ExportDecisions, AreWrittenOrCommentedOrRefused) {
  auto target = ExportTarget(GetParam());
  const TrainingSoftware &software =
      *llvm::find_if(trainingSoftware(), [&](const TrainingSoftware &each) { return each.name == stackOf(target); });
  std::mt19937 random(2026);
  std::set<Unsaid> commented;
  int accepted = 0;
  for (int round = 0; round < 4000; ++round) {
    Case plan = randomCase(random, software);
    bool knowsConfig = round % 8 != 0;
    SCOPED_TRACE("seed 2026, round " + text(round) + ", " + toString(target).str() + ", " + toString(plan.layout));
    if (llvm::Error error = verifyLayout(plan.config.shape, plan.job, plan.layout)) {
      llvm::consumeError(std::move(error));
      continue;
    }
    llvm::Expected<ExportedPlan> exported = exportPlan(
        target, {plan.config.shape, knowsConfig ? &plan.config : nullptr, plan.job, plan.layout, 8, plan.tuning});
    if (!exported) {
      EXPECT_GT(llvm::toString(exported.takeError()).size(), 10u);
      continue;
    }
    ++accepted;
    SCOPED_TRACE(exported->text);
    for (Unsaid part : exported->comments)
      EXPECT_TRUE(commentsOn(target, part)) << int(part);
    commented.insert(exported->comments.begin(), exported->comments.end());
    Said said = readers[int(target)](exported->text, plan);
    for (const auto &[decision, value] : decisions(plan)) {
      bool hasComment =
          llvm::any_of(standsFor(decision), [&](Unsaid part) { return llvm::is_contained(exported->comments, part); });
      bool unknown = !knowsConfig && llvm::is_contained(exported->comments, Unsaid::UnknownFacts);
      if (auto it = said.find(decision);
          it != said.end() && !(unknown && (decision == "scores" || decision == "balance")))
        EXPECT_EQ(it->second, value) << decision;
      else
        EXPECT_TRUE(hasComment || unknown || isOnlyValue(software, decision, plan)) << decision << " is nowhere";
      if (testing::Test::HasFailure())
        return;
    }
  }
  EXPECT_GT(accepted, 100);
  // No row of the table is idle.
  for (int part = 0; part < unsaidCount; ++part)
    EXPECT_EQ(commentsOn(target, Unsaid(part)), commented.count(Unsaid(part)) > 0) << "row " << part;
}

INSTANTIATE_TEST_SUITE_P(Targets, ExportDecisions, testing::Range(0, exportTargetCount),
                         [](const testing::TestParamInfo<int> &info) {
                           std::string name = toString(ExportTarget(info.param)).str();
                           std::string letters;
                           for (char letter : name)
                             letters += llvm::isAlnum(letter) ? letter : '_';
                           return letters;
                         });
