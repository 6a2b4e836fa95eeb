// The keys of each family, with the defaults of the reference implementation's configuration classes.
#include "ConfigReader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <cmath>

namespace mlir::ppc {

static constexpr ModelFamily families[] = {
    {"BloomForCausalLM", "bloom", &ConfigReader::readBloom},
    {"DeepseekV32ForCausalLM", "deepseek_v32", &ConfigReader::readSparseDeepseek},
    {"DeepseekV3ForCausalLM", "deepseek_v3", &ConfigReader::readDeepseekV3},
    {"GPT2LMHeadModel", "gpt2", &ConfigReader::readGpt2},
    {"GPTNeoXForCausalLM", "gpt_neox", &ConfigReader::readGptNeoX},
    {"GemmaForCausalLM", "gemma", &ConfigReader::readGemma},
    {"GlmMoeDsaForCausalLM", "glm_moe_dsa", &ConfigReader::readSparseDeepseek},
    {"LlamaForCausalLM", "llama", &ConfigReader::readLlama},
    {"MistralForCausalLM", "mistral", &ConfigReader::readMistral},
    {"MixtralForCausalLM", "mixtral", &ConfigReader::readMixtral},
    {"Phi3ForCausalLM", "phi3", &ConfigReader::readPhi3},
    {"Qwen2ForCausalLM", "qwen2", &ConfigReader::readQwen2},
    {"Qwen2MoeForCausalLM", "qwen2_moe", &ConfigReader::readQwen2Moe},
    {"Qwen3ForCausalLM", "qwen3", &ConfigReader::readQwen3},
    {"Qwen3MoeForCausalLM", "qwen3_moe", &ConfigReader::readQwen3Moe},
    {"SeedOssForCausalLM", "seed_oss", &ConfigReader::readSeedOss},
};

static constexpr ModelAlias aliases[] = {
    {"YiForCausalLM", "Yi", "llama"}, {"YiForCausalLM", "yi", "llama"}, {"MiMoForCausalLM", "mimo", "qwen2"},
    {"", "kimi_k2", "deepseek_v3"},   {"", "qwen3_vl_text", "qwen3"},   {"", "qwen3_vl_moe_text", "qwen3_moe"},
};

llvm::ArrayRef<ModelAlias> modelAliases() { return aliases; }

llvm::ArrayRef<ModelFamily> modelFamilies() { return families; }

llvm::ArrayRef<llvm::StringRef> modelArchitectures() {
  static const auto names = [] {
    std::vector<llvm::StringRef> result;
    for (const ModelFamily &family : families)
      result.push_back(family.architecture);
    return result;
  }();
  return names;
}

//===---- LLaMA and its relatives ----===//

void ConfigReader::readLlamaSizes(const LlamaDefaults &defaults) {
  shape.hidden = size("hidden_size");
  shape.ffn = size("intermediate_size");
  shape.layers = size("num_hidden_layers", std::nullopt, 1, limits::layers);
  shape.heads = size("num_attention_heads");
  mayBeNull({"num_key_value_heads"});
  bool all = !defaults.kvHeads || isNull("num_key_value_heads");
  shape.kvHeads = size("num_key_value_heads", all ? shape.heads : defaults.kvHeads);
  shape.vocab = size("vocab_size");
  shape.maxPositions = size("max_position_embeddings", defaults.positions);
  if (shape.heads % shape.kvHeads)
    reader.fail("num_key_value_heads",
                llvm::Twine(shape.kvHeads) + " does not divide num_attention_heads " + llvm::Twine(shape.heads));
}

void ConfigReader::readLlamaNumbers(const LlamaDefaults &defaults) {
  readHeads("num_attention_heads", "hidden_size");
  mayBeNull({"head_dim"});
  shape.headDim = size("head_dim", shape.headDim);
  requireEvenHead(shape.headDim);
  shape.gated = true;
  readActivation("hidden_act", "silu");
  config.normEpsilon = reader.positive("rms_norm_eps", defaults.epsilon);
  shape.tiedEmbeddings = reader.boolean("tie_word_embeddings", false);
  config.attentionDropout = dropout("attention_dropout", 0);
  readPaddingToken();
  readRopeKeys(defaults.theta);
}

void ConfigReader::readLlamaKeys(const LlamaDefaults &defaults) {
  readLlamaSizes(defaults);
  readLlamaNumbers(defaults);
}

void ConfigReader::readLlama() {
  readLlamaKeys({2048, 0});
  shape.attentionBias = shape.outputBias = reader.boolean("attention_bias", false);
  shape.ffnBias = reader.boolean("mlp_bias", false);
}

void ConfigReader::readGemma() {
  readLlamaSizes({8192, 16});
  shape.headDim = size("head_dim", 256);
  requireEvenHead(shape.headDim);
  shape.gated = true;
  readGemmaActivation();
  config.normEpsilon = reader.positive("rms_norm_eps", 1e-6);
  config.normWeightOffset = 1;
  shape.offsetNorms = true;
  config.embeddingScale = std::sqrt(double(shape.hidden));
  shape.scalesEmbedding = true;
  shape.tiedEmbeddings = reader.boolean("tie_word_embeddings", true);
  shape.attentionBias = shape.outputBias = reader.boolean("attention_bias", false);
  config.attentionDropout = dropout("attention_dropout", 0);
  reader.only("use_bidirectional_attention", false);
  mayBeNull({"use_bidirectional_attention"});
  readPaddingToken(0);
  readRopeKeys(10000);
}

/// The reference computes by hidden_act, where "gelu" stands for the tanh approximation that files with it were trained
/// with; hidden_activation is the name that other implementations read.
void ConfigReader::readGemmaActivation() {
  std::string name = reader.string("hidden_act", "gelu_pytorch_tanh");
  mayBeNull({"hidden_activation"});
  readActivation("hidden_act", "gelu_pytorch_tanh");
  if (shape.activation == ActivationKind::Gelu)
    config.tanhGelu = true;
  if (reader.has("hidden_activation") &&
      reader.string("hidden_activation") != (name == "gelu" ? "gelu_pytorch_tanh" : name))
    reader.reject("hidden_activation",
                  "null, or what hidden_act says: the reference computes by hidden_act, \"" + name + "\"");
}

void ConfigReader::readMistral() {
  readLlamaKeys({4096 * 32, 8});
  readWindowOfEveryLayer(slidingWindow(4096));
}

void ConfigReader::readQwen2() {
  readLlamaKeys({32768, 32});
  readQwenWindow();
  shape.attentionBias = true;
  if (alias == "mimo") {
    reader.only("attention_bias", true);
    shape.predictionLayers = size("num_nextn_predict_layers", 0, 0, limits::layers);
  }
}

void ConfigReader::readQwen3() {
  readLlamaKeys({32768, 32});
  if (alias == "qwen3_vl_text") {
    requireOfTextPart({"max_position_embeddings"});
    if (!reader.has("rope_parameters"))
      requireOfTextPart({"rope_theta"});
    reader.only("use_sliding_window", false);
  } else {
    readQwenWindow();
  }
  shape.headDim = size("head_dim", 128);
  shape.queryKeyNorm = true;
  shape.attentionBias = shape.outputBias = reader.boolean("attention_bias", false);
}

void ConfigReader::readPhi3() {
  readLlamaKeys({4096, 0, 1e-5});
  reader.only("head_dim", shape.headDim);
  config.dropoutKey = "";
  readWindowOfEveryLayer(slidingWindow(std::nullopt));
  readDropouts("attention_dropout", {"resid_pdrop"}, 0);
  dropout("embd_pdrop", 0); // a key of the class that it does not use
  reader.ignore({"original_max_position_embeddings"});
  reader.only("partial_rotary_factor", 1);
}

void ConfigReader::readSeedOss() {
  readLlamaKeys({524288, 8});
  shape.attentionBias = reader.boolean("attention_bias", true);
  shape.outputBias = reader.boolean("attention_out_bias", false);
  shape.ffnBias = reader.boolean("mlp_bias", false);
  if (!isNull("head_dim")) // null is hidden / heads
    shape.headDim = size("head_dim", 128);
  if (!reader.has("pad_token_id"))
    readPaddingToken(1);
  readDropouts("attention_dropout", {"residual_dropout"}, 0.1);
}

//===---- GPT and its relatives ----===//

void ConfigReader::readGpt2() {
  shape.hidden = size("n_embd", 768);
  shape.layers = size("n_layer", 12, 1, limits::layers);
  shape.heads = shape.kvHeads = size("n_head", 12);
  shape.vocab = size("vocab_size", 50257);
  shape.maxPositions = size("n_positions", 1024);
  readHeads("n_head", "n_embd");
  mayBeNull({"n_inner"});
  shape.ffn = size("n_inner", 4 * shape.hidden);
  readActivation("activation_function", "gelu_new");
  useLayerNorm("layer_norm_epsilon");
  shape.attentionBias = shape.outputBias = shape.ffnBias = true;
  shape.position = PositionKind::Learned;
  shape.tiedEmbeddings = reader.boolean("tie_word_embeddings", true);
  readDropouts("attn_pdrop", {"resid_pdrop", "embd_pdrop"}, 0.1);
  reader.only("scale_attn_weights", true);
  reader.only("scale_attn_by_inverse_layer_idx", false);
  reader.only("reorder_and_upcast_attn", false);
}

void ConfigReader::readGptNeoX() {
  shape.hidden = size("hidden_size");
  shape.ffn = size("intermediate_size");
  shape.layers = size("num_hidden_layers", std::nullopt, 1, limits::layers);
  shape.heads = shape.kvHeads = size("num_attention_heads");
  shape.vocab = size("vocab_size");
  shape.maxPositions = size("max_position_embeddings", 2048);
  readHeads("num_attention_heads", "hidden_size");
  readActivation("hidden_act", "gelu");
  useLayerNorm("layer_norm_eps");
  shape.attentionBias = shape.outputBias = reader.boolean("attention_bias", true);
  shape.ffnBias = true;
  shape.parallelResidual = reader.boolean("use_parallel_residual", true);
  shape.tiedEmbeddings = reader.boolean("tie_word_embeddings", false);
  readNeoxRopeKeys();
  readDropouts("attention_dropout", {"hidden_dropout"}, 0);
  // Names of the same in older files, which the reference reads no longer.
  reader.only("hidden_dropout_prob", 0);
  reader.only("attention_probs_dropout_prob", 0);
}

void ConfigReader::readBloom() {
  // The class has the first names; files may say the second, which it takes where both are there.
  auto oneOf = [&](llvm::StringRef key, llvm::StringRef other) {
    if (reader.has(key) && reader.has(other) && reader.integer(key, 1) != reader.integer(other, 1))
      reader.fail(other, "is another name of " + key + "; give one of the two");
    return reader.has(other) ? other : key;
  };
  llvm::StringRef hiddenKey = oneOf("hidden_size", "n_embed"), headsKey = oneOf("n_head", "num_attention_heads");
  mayBeNull({"n_embed"});
  shape.hidden = size(hiddenKey);
  shape.layers = size(oneOf("n_layer", "num_hidden_layers"), std::nullopt, 1, limits::layers);
  shape.heads = shape.kvHeads = size(headsKey);
  shape.vocab = size("vocab_size", 250880);
  readHeads(headsKey, hiddenKey);
  reader.only("n_inner", nullptr);
  mayBeNull({"n_inner"});
  shape.ffn = 4 * shape.hidden;
  shape.activation = ActivationKind::Gelu;
  config.tanhGelu = true;
  useLayerNorm("layer_norm_epsilon");
  shape.embeddingNorm = true;
  shape.attentionBias = shape.outputBias = shape.ffnBias = true;
  shape.position = PositionKind::Alibi;
  shape.tiedEmbeddings = reader.boolean("tie_word_embeddings", true);
  readDropouts("attention_dropout", {"hidden_dropout"}, 0);
  reader.only("apply_residual_connection_post_layernorm", false);
}

} // namespace mlir::ppc
