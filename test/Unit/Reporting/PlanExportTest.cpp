// What is exported is parsed back and compared: the text means the layout, not only mentions it.
#include "ppc/Reporting/PlanExport.h"
#include "../Model/LlamaShape.h"
#include "ppc/Planning/TrainingSoftware.h"
#include "ppc/Scheduling/PipelineSchedule.h"

#include "gtest/gtest.h"

#include <map>
#include <random>

using namespace mlir::ppc;

static ModelShape model(bool experts) {
  ModelShape shape = llamaShape(24, 32000);
  if (experts)
    shape.moe = {8, 2, 14336};
  return shape;
}

static ParallelLayout randomLayout(std::mt19937 &random, bool experts) {
  auto pick = [&](int64_t last) { return std::uniform_int_distribution<int64_t>(0, last)(random); };
  ParallelLayout layout;
  layout.dp = int64_t(1) << pick(3);
  layout.tp = int64_t(1) << pick(3);
  layout.pp = int64_t(1) << pick(2);
  layout.cp = int64_t(1) << pick(2);
  layout.microBatch = 1 + pick(1);
  layout.vp = layout.pp > 1 ? 1 + pick(1) : 1;
  layout.schedule = layout.vp > 1 ? "interleaved" : "1f1b";
  layout.sequenceParallel = layout.tp > 1;
  layout.zero = pick(3);
  layout.recompute = Recompute(pick(2));
  if (layout.recompute == Recompute::Full && pick(1))
    layout.recomputedLayers = 1 + pick(2);
  layout.contextKind = ContextKind(pick(2));
  if (experts)
    layout.ep = std::min<int64_t>(8, layout.dp * layout.cp);
  if (layout.zero && layout.dp > 1 && pick(1))
    layout.shardGroup = layout.dataRanks() / 2;
  int64_t chunks = layout.pp * layout.vp;
  if (chunks > 1) {
    layout.stageLayers.assign(chunks, 24 / chunks);
    if (pick(1)) // uneven
      --layout.stageLayers.front(), ++layout.stageLayers.back();
  }
  return layout;
}

static llvm::Expected<std::string> exported(ExportTarget target, const ModelShape &model, const TrainingJob &job,
                                            const ParallelLayout &layout, const ModelConfig *config = nullptr) {
  llvm::Expected<ExportedPlan> plan = exportPlan(target, {model, config, job, layout, 8});
  if (!plan)
    return plan.takeError();
  return plan->text;
}

/// Why it is not exported; empty: it is.
static std::string refusal(ExportTarget target, const ModelShape &model, const ParallelLayout &layout) {
  llvm::Expected<std::string> text = exported(target, model, {4096, 64}, layout);
  return text ? "" : llvm::toString(text.takeError());
}

static const TrainingSoftware &softwareNamed(llvm::StringRef name) {
  return *llvm::find_if(trainingSoftware(), [&](const TrainingSoftware &each) { return each.name == name; });
}

/// "--name value" and "--flag" per line of the array.
static std::map<std::string, std::string> parseArguments(llvm::StringRef text) {
  std::map<std::string, std::string> arguments;
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n', -1, false);
  for (llvm::StringRef line : lines) {
    if (!line.consume_front("  --"))
      continue;
    auto [name, value] = line.split(' ');
    EXPECT_TRUE(arguments.emplace(name.str(), value.str()).second) << name.str() << " twice";
  }
  return arguments;
}

static int64_t number(const std::map<std::string, std::string> &arguments, const char *name, int64_t missing) {
  auto it = arguments.find(name);
  return it == arguments.end() ? missing : std::stoll(it->second);
}

/// "Et*7|t*8|t*9L" -> {7, 8, 9}.
static llvm::SmallVector<int64_t, 8> parsePipelineLayout(llvm::StringRef text) {
  llvm::SmallVector<int64_t, 8> counts;
  text = text.trim('"');
  EXPECT_TRUE(text.consume_front("E") && text.consume_back("L"));
  llvm::SmallVector<llvm::StringRef> stages;
  text.split(stages, '|');
  for (llvm::StringRef stage : stages) {
    int64_t count = stage.starts_with("t") ? 1 : 0;
    if (stage.consume_front("t*"))
      EXPECT_FALSE(stage.getAsInteger(10, count));
    counts.push_back(count);
  }
  return counts;
}

TEST(PlanExport, MegatronMeansTheLayout) {
  std::mt19937 random(11);
  int seen = 0;
  for (int i = 0; i < 300; ++i) {
    bool experts = i % 3 == 0;
    ParallelLayout layout = randomLayout(random, experts);
    TrainingJob job{4096, 64};
    if (std::string part = lackingPart(softwareNamed("megatron-core"), model(experts), layout); !part.empty()) {
      EXPECT_NE(refusal(ExportTarget::Megatron, model(experts), layout).find(part), std::string::npos);
      continue;
    }
    ++seen;
    std::string text = llvm::cantFail(exported(ExportTarget::Megatron, model(experts), job, layout));
    std::map<std::string, std::string> arguments = parseArguments(text);
    SCOPED_TRACE(text);
    // Collectives must start in order where ranks share a device's connections; Megatron-FSDP refuses that.
    bool inOrder = llvm::StringRef(text).contains("\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\n");
    EXPECT_EQ(inOrder, layout.zero < 2 && (layout.tp > 1 || layout.cp > 1));
    EXPECT_EQ(number(arguments, "tensor-model-parallel-size", 1), layout.tp);
    EXPECT_EQ(number(arguments, "pipeline-model-parallel-size", 1), layout.pp);
    EXPECT_EQ(number(arguments, "context-parallel-size", 1), layout.cp);
    EXPECT_EQ(number(arguments, "micro-batch-size", 0), layout.microBatch);
    EXPECT_EQ(number(arguments, "global-batch-size", 0), job.globalBatch);
    EXPECT_EQ(number(arguments, "seq-length", 0), job.sequence);
    EXPECT_EQ(number(arguments, "num-layers", 0), 24);
    EXPECT_EQ(arguments.count("sequence-parallel"), size_t(layout.sequenceParallel));
    EXPECT_EQ(arguments.count("use-distributed-optimizer"), size_t(layout.zero > 0));
    int64_t zero = arguments.count("use-distributed-optimizer");
    if (arguments.count("data-parallel-sharding-strategy"))
      zero = arguments["data-parallel-sharding-strategy"] == "optim_grads" ? 2 : 3;
    EXPECT_EQ(zero, layout.zero);
    int64_t copies = number(arguments, "num-distributed-optimizer-instances", 1);
    if (layout.zero)
      EXPECT_EQ(layout.dataRanks() / copies, layout.shardGroup ? layout.shardGroup : layout.dataRanks());
    if (layout.cp > 1)
      EXPECT_EQ(arguments["cp-comm-type"], layout.contextKind == ContextKind::Ring      ? "p2p"
                                           : layout.contextKind == ContextKind::Ulysses ? "a2a"
                                                                                        : "all_gather");
    EXPECT_EQ(number(arguments, "expert-model-parallel-size", 1), layout.ep);
    // Stages: named one by one, or equal ones.
    llvm::SmallVector<int64_t, 8> counts;
    if (arguments.count("pipeline-model-parallel-layout"))
      counts = parsePipelineLayout(arguments["pipeline-model-parallel-layout"]);
    else if (layout.pp > 1)
      counts.assign(layout.pp * number(arguments, "num-virtual-stages-per-pipeline-rank", 1),
                    24 / (layout.pp * number(arguments, "num-virtual-stages-per-pipeline-rank", 1)));
    EXPECT_EQ(llvm::ArrayRef<int64_t>(counts), llvm::ArrayRef<int64_t>(layout.stageLayers));
    std::string recompute = arguments.count("recompute-granularity") ? arguments["recompute-granularity"] : "none";
    EXPECT_EQ(recompute, toString(layout.recompute).str());
    if (layout.recompute == Recompute::Full)
      EXPECT_EQ(arguments["recompute-method"] == "block" ? number(arguments, "recompute-num-layers", 0) : -1,
                layout.recomputedLayers);
  }
  EXPECT_GT(seen, 100);
}

/// `name = value` by section: "parallelism.tensor_parallel_degree".
static std::map<std::string, std::string> parseToml(llvm::StringRef text) {
  std::map<std::string, std::string> values;
  std::string section;
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n', -1, false);
  for (llvm::StringRef line : lines) {
    if (line.starts_with("#"))
      continue;
    if (line.consume_front("[") && line.consume_back("]")) {
      section = line.str();
      continue;
    }
    auto [name, value] = line.split(" = ");
    EXPECT_TRUE(values.emplace(section + "." + name.str(), value.trim('"').str()).second) << name.str() << " twice";
  }
  return values;
}

TEST(PlanExport, TorchtitanTomlMeansTheLayout) {
  std::mt19937 random(12);
  int seen = 0;
  for (int i = 0; i < 300; ++i) {
    bool experts = i % 3 == 0;
    ParallelLayout layout = randomLayout(random, experts);
    TrainingJob job{4096, 64};
    if (!lackingPart(softwareNamed("torchtitan"), model(experts), layout).empty())
      continue;
    ++seen;
    std::string text = llvm::cantFail(exported(ExportTarget::TorchtitanToml, model(experts), job, layout));
    std::map<std::string, std::string> values = parseToml(text);
    SCOPED_TRACE(text);
    int64_t replicate = number(values, "parallelism.data_parallel_replicate_degree", 1);
    int64_t shard = number(values, "parallelism.data_parallel_shard_degree", 1);
    EXPECT_EQ(replicate * shard, layout.dp);
    EXPECT_EQ(number(values, "parallelism.tensor_parallel_degree", 1), layout.tp);
    EXPECT_EQ(number(values, "parallelism.pipeline_parallel_degree", 1), layout.pp);
    EXPECT_EQ(number(values, "parallelism.context_parallel_degree", 1), layout.cp);
    EXPECT_EQ(number(values, "parallelism.expert_parallel_degree", 1), layout.ep);
    EXPECT_EQ(number(values, "training.seq_len", 0), job.sequence);
    EXPECT_EQ(number(values, "training.global_batch_size", 0), job.globalBatch);
    EXPECT_EQ(values["activation_checkpoint.mode"], toString(layout.recompute).str());
    if (layout.zero == 3 && layout.dp > 1)
      EXPECT_EQ(values["parallelism.fsdp_reshard_after_forward"], "always");
    if (layout.pp > 1) {
      EXPECT_EQ(values["parallelism.pipeline_parallel_schedule"], layout.vp > 1 ? "Interleaved1F1B" : "1F1B");
      EXPECT_EQ(number(values, "parallelism.pipeline_parallel_microbatch_size", 0), layout.microBatch);
      const std::string &stages = values["parallelism.module_fqns_per_model_part"];
      EXPECT_EQ(size_t(std::count(stages.begin(), stages.end(), '[')), layout.stageLayers.size() + 1);
    } else {
      EXPECT_EQ(number(values, "training.local_batch_size", 0), layout.microBatch);
    }
  }
  EXPECT_GT(seen, 20);
}

TEST(PlanExport, WhatATargetLacksIsAnErrorThatNamesIt) {
  ParallelLayout layout;
  layout.pp = 2;
  layout.schedule = "zb1p";
  layout.stageLayers = {12, 12};
  EXPECT_EQ(refusal(ExportTarget::Megatron, model(false), layout),
            "Megatron-LM (main at d98e8a64 (2026-08), megatron-core 0.16) cannot be asked for schedule zb1p: --stack "
            "megatron-core plans only what it runs");
  EXPECT_NE(refusal(ExportTarget::TorchtitanToml, model(false), layout).find("schedule zb1p"), std::string::npos);
  EXPECT_NE(refusal(ExportTarget::DeepSpeed, model(false), layout).find("pp 2"), std::string::npos);
  layout.schedule = "1f1b";
  EXPECT_EQ(refusal(ExportTarget::Megatron, model(false), layout), "");
  layout.offload = Offload::Activations;
  EXPECT_NE(refusal(ExportTarget::Megatron, model(false), layout).find("offload activations"), std::string::npos);
  layout = {};
  layout.recompute = Recompute::Full;
  layout.stageRecomputedLayers = {3};
  EXPECT_NE(refusal(ExportTarget::Megatron, model(false), layout).find("recomputed_layers by-stage"),
            std::string::npos);
  layout = {};
  layout.dp = 8;
  layout.zero = 1;
  EXPECT_NE(refusal(ExportTarget::Torchtitan, model(false), layout).find("zero 1"), std::string::npos);
  EXPECT_NE(refusal(ExportTarget::Nanotron, model(true), {}).find("nanotron"), 0u);
  ModelShape alibi = model(false);
  alibi.position = PositionKind::Alibi;
  EXPECT_NE(refusal(ExportTarget::Megatron, alibi, {}).find("ALiBi"), std::string::npos);
}

static std::string refusalOfFile(ExportTarget target, const char *text) {
  ModelConfig config = llvm::cantFail(parseModelConfig("a/config.json", text));
  llvm::Expected<std::string> exported = ::exported(target, config.shape, {16, 64}, {}, &config);
  return exported ? "" : llvm::toString(exported.takeError());
}

/// Other classes than the families' own, and parts of models.
TEST(PlanExport, WhatFilesOfOtherNamesAreIsSaid) {
  std::string sizes = R"("hidden_size": 4096, "intermediate_size": 64, "num_attention_heads": 32, "vocab_size": 128,
    "num_key_value_heads": 8, "num_hidden_layers": 36, "max_position_embeddings": 64, )";
  auto with = [&](const char *text) { return "{" + sizes + text + "}"; };
  std::string yi = with(R"("model_type": "yi", "architectures": ["YiForCausalLM"])"),
              mimo = with(R"("model_type": "mimo", "num_nextn_predict_layers": 1)"),
              qwen = with(R"("model_type": "qwen3", "rope_theta": 5000000)"),
              part = R"({"architectures": ["Qwen3VLForConditionalGeneration"], "text_config": )" +
                     with(R"("model_type": "qwen3_vl_text", "rope_theta": 1000000)") + "}",
              longer = R"({"model_type": "phi3", "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1,
                "num_attention_heads": 2, "vocab_size": 8, "pad_token_id": 0, "rope_scaling": {"type": "longrope",
                "short_factor": [1, 1], "long_factor": [2, 2]}})";
  EXPECT_EQ(refusalOfFile(ExportTarget::MegatronBridge, yi.c_str()),
            "Megatron-Bridge has no bridge from models of type yi, which a is; --emit megatron writes all facts of it");
  EXPECT_NE(refusalOfFile(ExportTarget::MegatronBridge, mimo.c_str()).find("of type mimo"), std::string::npos);
  EXPECT_EQ(refusalOfFile(ExportTarget::MegatronBridge, part.c_str()),
            "Megatron-Bridge reads all parts of the model's config.json, and a is the text part alone: give that as a "
            "file of its own, as --save-weights writes it");
  for (const std::string &text : {yi, mimo, qwen, part})
    EXPECT_EQ(refusalOfFile(ExportTarget::Megatron, text.c_str()), "") << text;
  EXPECT_EQ(refusalOfFile(ExportTarget::MegatronBridge, qwen.c_str()), "");
  EXPECT_EQ(refusalOfFile(ExportTarget::Torchtitan, qwen.c_str()),
            "torchtitan 0.3.0 has rope_theta 1000000 in its flavor 8B of qwen3; a has 5000000");
  EXPECT_EQ(refusalOfFile(ExportTarget::Torchtitan, part.c_str()), "");
  EXPECT_EQ(refusalOfFile(ExportTarget::Megatron, longer.c_str()),
            "Megatron-LM has no argument for LongRope's factors, which a has");
  ModelShape index = model(false);
  index.index.topK = 2048;
  EXPECT_EQ(refusal(ExportTarget::Megatron, index, {}),
            "Megatron-LM has no argument for the index branch of sparse attention, which " + index.name + " has");
  EXPECT_NE(refusal(ExportTarget::Nanotron, index, {}).find("an index branch of sparse attention"), std::string::npos);
}

TEST(PlanExport, SchedulesHaveTheNamesOfTheirLibrary) {
  ParallelLayout layout;
  layout.pp = 2;
  layout.vp = 2;
  layout.schedule = "dualpipev";
  layout.stageLayers = {6, 6, 6, 6};
  std::string text = llvm::cantFail(exported(ExportTarget::TorchtitanToml, model(false), {4096, 64}, layout));
  EXPECT_NE(text.find("pipeline_parallel_schedule = \"DualPipeV\""), std::string::npos) << text;
}

/// Every value that a stack offers is one that a pin may have, and every other one is refused by a pin.
TEST(TrainingSoftware, PinsAndTheTableAgree) {
  for (const TrainingSoftware &software : trainingSoftware())
    for (PlanKey key : {PlanKey::Schedule, PlanKey::Zero, PlanKey::Recompute, PlanKey::Offload, PlanKey::Precision,
                        PlanKey::Context, PlanKey::SequenceParallel})
      for (int64_t value = 0; value < int64_t(key == PlanKey::Schedule ? pipelineScheduleKinds().size() : 8); ++value) {
        llvm::Expected<int64_t> parsed = parsePlanValue(key, planValueText(key, value));
        if (!parsed || *parsed != value) {
          llvm::consumeError(parsed.takeError());
          break;
        }
        PlanConstraints constraints;
        limitToSoftware(software, constraints);
        llvm::Error error = constraints.pin(toString(key), planValueText(key, value));
        EXPECT_EQ(!error, offers(software, key, value)) << software.name.str() << " " << planValueText(key, value);
        if (error)
          EXPECT_NE(llvm::toString(std::move(error)).find(software.title.str()), std::string::npos);
      }
}
