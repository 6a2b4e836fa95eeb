// What is exported is parsed back and compared: the text means the layout, not only mentions it.
#include "ppc/Reporting/FrameworkArguments.h"
#include "../Model/LlamaShape.h"

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

/// "--name value" and "--flag" per line.
static std::map<std::string, std::string> parseArguments(llvm::StringRef text) {
  std::map<std::string, std::string> arguments;
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n', -1, false);
  for (llvm::StringRef line : lines) {
    line.consume_back(" \\");
    EXPECT_TRUE(line.consume_front("--")) << line.str();
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

TEST(FrameworkArguments, MegatronMeansTheLayout) {
  std::mt19937 random(11);
  for (int i = 0; i < 300; ++i) {
    bool experts = i % 3 == 0;
    ParallelLayout layout = randomLayout(random, experts);
    TrainingJob job{4096, 64};
    FrameworkArguments exported = megatronArguments(model(experts), job, layout);
    std::map<std::string, std::string> arguments = parseArguments(exported.text);
    SCOPED_TRACE(toString(layout) + "\n" + exported.text);
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
      EXPECT_EQ(arguments["cp-comm-type"], layout.contextKind == ContextKind::Ring ? "p2p" : layout.contextKind == ContextKind::Ulysses ? "a2a" : "allgather");
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
      EXPECT_EQ(arguments["recompute-method"] == "block" ? number(arguments, "recompute-num-layers", 0) : -1, layout.recomputedLayers);
  }
}

/// `name = value` by section: "parallelism.tensor_parallel_degree".
static std::map<std::string, std::string> parseToml(llvm::StringRef text) {
  std::map<std::string, std::string> values;
  std::string section;
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n', -1, false);
  for (llvm::StringRef line : lines) {
    if (line.consume_front("[") && line.consume_back("]")) {
      section = line.str();
      continue;
    }
    auto [name, value] = line.split(" = ");
    EXPECT_TRUE(values.emplace(section + "." + name.str(), value.trim('"').str()).second) << name.str() << " twice";
  }
  return values;
}

TEST(FrameworkArguments, TorchtitanMeansTheLayout) {
  std::mt19937 random(12);
  for (int i = 0; i < 300; ++i) {
    bool experts = i % 3 == 0;
    ParallelLayout layout = randomLayout(random, experts);
    TrainingJob job{4096, 64};
    FrameworkArguments exported = torchtitanConfig(model(experts), job, layout);
    std::map<std::string, std::string> values = parseToml(exported.text);
    SCOPED_TRACE(toString(layout) + "\n" + exported.text);
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
      bool listed = values.count("parallelism.module_fqns_per_model_part");
      if (listed)
        EXPECT_EQ(size_t(std::count(values["parallelism.module_fqns_per_model_part"].begin(), values["parallelism.module_fqns_per_model_part"].end(), '[')),
                  layout.stageLayers.size() + 1);
      else
        EXPECT_EQ(number(values, "parallelism.pipeline_parallel_layers_per_stage", 0), layout.stageLayers[0]);
    } else {
      EXPECT_EQ(number(values, "training.local_batch_size", 0), layout.microBatch);
    }
  }
}

TEST(FrameworkArguments, WhatCannotBeSaidIsNoted) {
  ParallelLayout layout;
  layout.pp = 2;
  layout.schedule = "zb1p";
  layout.stageLayers = {12, 12};
  layout.offload = Offload::Activations;
  auto mentions = [](const FrameworkArguments &exported, llvm::StringRef text) {
    for (const std::string &note : exported.notes)
      if (llvm::StringRef(note).contains(text))
        return true;
    return false;
  };
  FrameworkArguments megatron = megatronArguments(model(false), {4096, 64}, layout);
  EXPECT_TRUE(mentions(megatron, "zb1p") && mentions(megatron, "offload of activations"));
  FrameworkArguments torchtitan = torchtitanConfig(model(false), {4096, 64}, layout);
  EXPECT_TRUE(mentions(torchtitan, "zb1p") && mentions(torchtitan, "offload of activations"));
  layout.schedule = "1f1b";
  layout.offload = Offload::None;
  EXPECT_FALSE(mentions(megatronArguments(model(false), {4096, 64}, layout), "schedule"));
  layout.zero = 1;
  EXPECT_TRUE(mentions(torchtitanConfig(model(false), {4096, 64}, layout), "ZeRO-1"));
}

TEST(FrameworkArguments, DefaultsOfTheFrameworkDoNotChangeTheModel) {
  ModelShape shape = model(false);
  shape.position = PositionKind::Rotary;
  shape.rotaryFraction = 0.25;
  shape.slidingWindow = 1024;
  auto exported = [&](int64_t sequence) { return megatronArguments(shape, {sequence, 64}, ParallelLayout()); };
  std::map<std::string, std::string> arguments = parseArguments(exported(4096).text);
  EXPECT_EQ(std::stod(arguments["hidden-dropout"]), 0);
  EXPECT_EQ(std::stod(arguments["attention-dropout"]), 0);
  EXPECT_EQ(std::stod(arguments["rotary-percent"]), 0.25);
  auto count = [](const FrameworkArguments &exported, llvm::StringRef text) {
    return llvm::count_if(exported.notes, [&](const std::string &note) { return llvm::StringRef(note).contains(text); });
  };
  EXPECT_EQ(count(exported(4096), "--rotary-base"), 1);
  EXPECT_EQ(count(exported(4096), "last 1024 tokens"), 1);
  EXPECT_EQ(count(exported(1024), "last 1024 tokens"), 0); // all of the sequence
  shape.dropout = 0.1;
  EXPECT_EQ(std::stod(parseArguments(exported(4096).text)["hidden-dropout"]), 0.1);
}
