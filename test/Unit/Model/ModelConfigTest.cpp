// config.json of every family: values that are read, and errors.
#include "ppc/Model/ModelConfig.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mlir::ppc;

static ModelConfig configOf(llvm::StringRef name) {
  llvm::Expected<ModelConfig> config =
      readModelConfig((llvm::Twine(PPC_TEST_INPUTS "/Models/") + name + ".json").str());
  if (config)
    return *config;
  ADD_FAILURE() << llvm::toString(config.takeError());
  return {};
}

static std::string messageOf(llvm::StringRef text) {
  llvm::Expected<ModelConfig> config = parseModelConfig("config.json", text);
  return config ? "" : llvm::toString(config.takeError());
}

TEST(ModelConfig, Gpt2) {
  ModelConfig config = configOf("gpt2");
  EXPECT_EQ(config.shape.name, "gpt2");
  EXPECT_EQ(config.shape.family, "gpt2");
  EXPECT_EQ(config.shape.ffn, 4 * 768);
  EXPECT_EQ(config.shape.norm, NormKind::LayerNorm);
  EXPECT_EQ(config.shape.position, PositionKind::Learned);
  EXPECT_TRUE(config.shape.tiedEmbeddings && config.shape.ffnBias && !config.shape.gated && config.tanhGelu);
  EXPECT_EQ(config.shape.dropout, 0.1);
  EXPECT_EQ(config.attentionDropout, 0.1);
}

TEST(ModelConfig, GptNeoXReadsOldAndNewSpellings) {
  ModelConfig config = configOf("gpt-neox-20b");
  EXPECT_TRUE(config.shape.parallelResidual);
  EXPECT_EQ(config.shape.rotaryFraction, 0.25);
  EXPECT_EQ(config.shape.dropout, 0);
  EXPECT_FALSE(config.shape.tiedEmbeddings);
  std::string text = R"({"model_type": "gpt_neox", "hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 1,
    "num_attention_heads": 4, "vocab_size": 32, "attention_dropout": 0.2, "hidden_dropout": 0.1})";
  ModelConfig newer = llvm::cantFail(parseModelConfig("config.json", text));
  EXPECT_EQ(newer.attentionDropout, 0.2);
  EXPECT_EQ(newer.shape.dropout, 0.1);
}

TEST(ModelConfig, Bloom) {
  ModelConfig config = configOf("bloom-176b");
  EXPECT_EQ(config.shape.position, PositionKind::Alibi);
  EXPECT_TRUE(config.shape.embeddingNorm && config.shape.tiedEmbeddings);
  EXPECT_EQ(config.shape.maxPositions, 0);
  EXPECT_EQ(config.shape.headDim, 128);
}

TEST(ModelConfig, SlidingWindows) {
  EXPECT_EQ(configOf("mistral-7b").shape.slidingWindow, 4096);
  EXPECT_EQ(configOf("mixtral-8x7b").shape.slidingWindow, 0);
  EXPECT_EQ(configOf("qwen2-7b").shape.slidingWindow, 0); // use_sliding_window is false
}

TEST(ModelConfig, Gemma) {
  ModelConfig config = configOf("gemma-7b");
  EXPECT_EQ(config.normWeightOffset, 1);
  EXPECT_DOUBLE_EQ(config.embeddingScale, std::sqrt(3072.0));
  EXPECT_TRUE(config.tanhGelu && config.shape.gated && config.shape.tiedEmbeddings); // the file says "gelu"
  EXPECT_EQ(config.shape.headDim, 256);
}

TEST(ModelConfig, Biases) {
  EXPECT_TRUE(configOf("qwen2-7b").shape.attentionBias);
  EXPECT_FALSE(configOf("qwen2-7b").shape.outputBias);
  EXPECT_FALSE(configOf("qwen3-8b").shape.attentionBias);
  EXPECT_TRUE(configOf("qwen3-8b").shape.queryKeyNorm);
  EXPECT_EQ(configOf("qwen3-8b").shape.headDim, 128);
}

TEST(ModelConfig, Experts) {
  ModelConfig mixtral = configOf("mixtral-8x7b");
  EXPECT_EQ(mixtral.shape.moe.experts, 8);
  EXPECT_EQ(mixtral.shape.moe.topK, 2);
  EXPECT_EQ(mixtral.shape.moe.ffn, 14336);
  EXPECT_TRUE(mixtral.shape.moe.normalizesTopK);
  ModelConfig qwen = configOf("qwen2-moe-57b");
  EXPECT_EQ(qwen.shape.moe.sharedFfn, 20480);
  EXPECT_TRUE(qwen.shape.moe.sharedGate);
  EXPECT_FALSE(qwen.shape.moe.normalizesTopK);
}

TEST(ModelConfig, DeepseekV3) {
  ModelConfig config = configOf("deepseek-v3");
  const ModelShape &shape = config.shape;
  EXPECT_EQ(shape.latent.queryRank, 1536);
  EXPECT_EQ(shape.latent.keyValueRank, 512);
  EXPECT_EQ(shape.queryHeadDim(), 192);
  EXPECT_EQ(shape.valueHeadDim(), 128);
  EXPECT_EQ(shape.moe.firstLayer, 3);
  EXPECT_EQ(shape.moe.groups, 8);
  EXPECT_EQ(shape.moe.groupsPerToken, 4);
  EXPECT_EQ(config.routing.scale, 2.5);
  EXPECT_TRUE(config.routing.sigmoid);
  EXPECT_EQ(config.ropeScaling.kind, RopeScaling::Kind::Yarn);
  EXPECT_EQ(config.ropeScaling.originalMaxPositions, 4096);
}

TEST(ModelConfig, NameIsTheFolderOfAConfig) {
  std::string text = R"({"model_type": "gpt2"})";
  EXPECT_EQ(llvm::cantFail(parseModelConfig("models/tiny/config.json", text)).shape.name, "tiny");
  EXPECT_EQ(llvm::cantFail(parseModelConfig("models/tiny.json", text)).shape.name, "tiny");
  EXPECT_EQ(llvm::cantFail(parseModelConfig("config.json", text)).shape.name, "config");
}

TEST(ModelConfig, UnknownArchitectureListsTheKnown) {
  std::string known =
      "\"BloomForCausalLM\", \"DeepseekV32ForCausalLM\", \"DeepseekV3ForCausalLM\", \"GPT2LMHeadModel\", "
      "\"GPTNeoXForCausalLM\", \"GemmaForCausalLM\", \"GlmMoeDsaForCausalLM\", \"LlamaForCausalLM\", "
      "\"MistralForCausalLM\", \"MixtralForCausalLM\", \"Phi3ForCausalLM\", \"Qwen2ForCausalLM\", "
      "\"Qwen2MoeForCausalLM\", \"Qwen3ForCausalLM\", \"Qwen3MoeForCausalLM\", \"SeedOssForCausalLM\"";
  EXPECT_EQ(messageOf(R"({"architectures": ["BertModel"]})"),
            "config.json: key \"architectures\": expected a list of one of the supported " + known +
                ", found [\"BertModel\"]");
  EXPECT_EQ(messageOf(R"({"model_type": "bert"})"),
            "config.json: key \"model_type\": expected that of one of the supported architectures " + known +
                ", found \"bert\"");
  EXPECT_EQ(messageOf("{}"),
            "config.json: key \"architectures\": missing; expected a list of one of the supported " + known);
  EXPECT_EQ(messageOf(R"({"architectures": ["GPT2LMHeadModel"], "model_type": "bert"})"),
            "config.json: key \"model_type\": expected \"gpt2\", which goes with GPT2LMHeadModel, found \"bert\"");
}

TEST(ModelConfig, RefusesUnknownKeysAndValues) {
  EXPECT_EQ(
      messageOf(R"({"model_type": "gpt2", "mlp_factor": 3})"),
      "config.json: key \"mlp_factor\": is not supported for GPT2LMHeadModel; remove it if it does not change what "
      "the model computes");
  EXPECT_EQ(
      messageOf(R"({"model_type": "gpt2", "scale_attn_by_inverse_layer_idx": true})"),
      "config.json: key \"scale_attn_by_inverse_layer_idx\": expected the only supported value false, found true");
  EXPECT_EQ(messageOf(R"({"model_type": "gpt2", "activation_function": "tanh"})"),
            "config.json: key \"activation_function\": expected one of the supported \"silu\", \"gelu\", \"gelu_new\", "
            "\"gelu_fast\", \"gelu_pytorch_tanh\", \"relu\", \"relu2\", found \"tanh\"");
  EXPECT_EQ(messageOf(R"({"model_type": "gpt2", "n_embd": 770})"),
            "config.json: key \"n_embd\": 770 is not divisible by n_head 12");
  EXPECT_EQ(messageOf(R"({"model_type": "gpt2", "resid_pdrop": 0.1, "embd_pdrop": 0.2})"),
            "config.json: key \"embd_pdrop\": expected the value of resid_pdrop, 0.10, found 0.2");
  EXPECT_EQ(messageOf(R"({"model_type": "gpt2", "attn_pdrop": 1})"),
            "config.json: key \"attn_pdrop\": expected a probability below 1, found 1");
  EXPECT_EQ(messageOf(R"({"model_type": "mixtral", "hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 1,
              "num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 32, "num_local_experts": 4,
              "num_experts_per_tok": 5})"),
            "config.json: key \"num_experts_per_tok\": 5 experts of a token; num_local_experts is only 4");
}

/// `text` with the keys of a small Llama in place of "$".
static std::string withSizes(llvm::StringRef text) {
  auto [before, after] = text.split('$');
  return (before + R"("hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4,
    "num_key_value_heads": 4, "vocab_size": 32, "max_position_embeddings": 64, "rope_theta": 100.0)" +
          after)
      .str();
}

TEST(ModelConfig, OtherNamesOfAFamily) {
  for (auto [text, family] :
       {std::pair(R"({"architectures": ["YiForCausalLM"], "model_type": "Yi", $})", "llama"),
        {R"({"architectures": ["YiForCausalLM"], $})", "llama"},
        {R"({"model_type": "mimo", "attention_bias": true, "num_nextn_predict_layers": 1, $})", "qwen2"}}) {
    ModelConfig config = llvm::cantFail(parseModelConfig("config.json", withSizes(text)));
    EXPECT_EQ(config.shape.family, family);
    EXPECT_EQ(config.text, withSizes(text));
  }
  EXPECT_EQ(messageOf(withSizes(R"({"architectures": ["LlamaForCausalLM"], "model_type": "yi", $})")),
            "config.json: key \"model_type\": expected \"llama\", which goes with LlamaForCausalLM, found \"yi\"");
}

TEST(ModelConfig, TextPartsAreReadAlone) {
  llvm::StringRef text = R"({"architectures": ["Qwen3VLForConditionalGeneration"], "model_type": "qwen3_vl",
    "tie_word_embeddings": true, "image_token_id": 7, "vision_config": {"depth": 2, "hidden_size": 5},
    "text_config": {"model_type": "qwen3_vl_text", $}})";
  ModelConfig config = llvm::cantFail(parseModelConfig("config.json", withSizes(text)));
  EXPECT_EQ(config.architecture, "Qwen3ForCausalLM");
  EXPECT_TRUE(config.shape.tiedEmbeddings);
  ASSERT_EQ(config.notes.size(), 1u);
  EXPECT_EQ(config.notes[0], "the text part alone is read, \"text_config\", as a Qwen3ForCausalLM; left out are "
                             "\"image_token_id\", \"vision_config\"");
  EXPECT_TRUE(config.keys.count("rms_norm_eps"));
  // The file written next to weights describes the text part, which reads as the same model.
  ModelConfig alone = llvm::cantFail(parseModelConfig("config.json", config.text));
  EXPECT_TRUE(alone.notes.empty());
  EXPECT_EQ(alone.shape.layers, 3);
  EXPECT_TRUE(alone.shape.tiedEmbeddings);
}

TEST(ModelConfig, MissingKeysOfTextPartsAreNamed) {
  EXPECT_EQ(messageOf(R"({"architectures": ["LlavaForConditionalGeneration"], "vision_config": {}})"),
            "config.json: key \"text_config\": missing; LlavaForConditionalGeneration has its text part there, which "
            "alone is read");
  EXPECT_EQ(messageOf(R"({"architectures": ["XForConditionalGeneration"], "text_config": {"model_type": "bart"}})")
                .substr(0, 58),
            "config.json: key \"text_config.model_type\": expected that o");
  EXPECT_EQ(
      messageOf(R"({"architectures": ["LlamaForCausalLM"], "text_config": {"model_type": "qwen3"}})"),
      "config.json: key \"text_config\": a LlamaForCausalLM has no parts: name the architecture of the whole model, "
      "or give the text part as a file of its own");
  std::string both = messageOf(withSizes(R"({"architectures": ["Qwen3VLForConditionalGeneration"], "depth": 3,
    "text_config": {"model_type": "qwen3_vl_text", "tie_word_embeddings": true, "hiden_act": "silu", $}})"));
  EXPECT_NE(both.find("key \"text_config.tie_word_embeddings\": true here but false next to text_config"),
            std::string::npos)
      << both;
  EXPECT_NE(both.find("key \"depth\": is not supported"), std::string::npos) << both;
  EXPECT_NE(both.find("key \"text_config.hiden_act\": is not supported"), std::string::npos) << both;
  EXPECT_NE(both.find("did you mean \"hidden_act\"?"), std::string::npos) << both;
}

TEST(ModelConfig, IndexBranches) {
  llvm::StringRef text = R"({"model_type": "glm_moe_dsa", "q_lora_rank": 8, "kv_lora_rank": 8, "qk_nope_head_dim": 4,
    "qk_rope_head_dim": 4, "v_head_dim": 4, "head_dim": 192, "n_routed_experts": 4, "num_experts_per_tok": 2,
    "moe_intermediate_size": 8, "index_topk_freq": 4, "index_skip_topk_offset": 2, "index_head_dim": 8,
    "indexer_types": ["full", "full", "shared"], $})";
  ModelConfig config = llvm::cantFail(parseModelConfig("config.json", withSizes(text)));
  EXPECT_EQ(config.shape.index.topK, 2048);
  EXPECT_TRUE(config.shape.hasIndex(0) && config.shape.hasIndex(1) && !config.shape.hasIndex(2));
  ModelShape without = config.shape;
  without.index = {};
  EXPECT_EQ(countParameters(config.shape).total - countParameters(without).total,
            2 * (8 * 32 * 8 + 16 * (8 + 32) + 2 * 8));
  std::string other = text.str();
  other.replace(other.find("\"shared\""), 8, "\"full\"");
  EXPECT_EQ(messageOf(withSizes(other)), "config.json: key \"indexer_types\": \"full\" for layer 2; other keys say "
                                         "\"shared\"");
}
