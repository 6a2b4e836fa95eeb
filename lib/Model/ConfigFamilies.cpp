// The keys of each family, with the defaults of the reference implementation's configuration classes.
#include "ConfigReader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <cmath>

namespace mlir::ppc {

static constexpr ModelFamily families[] = {
    {"BloomForCausalLM", "bloom", &ConfigReader::readBloom},
    {"DeepseekV3ForCausalLM", "deepseek_v3", &ConfigReader::readDeepseekV3},
    {"GPT2LMHeadModel", "gpt2", &ConfigReader::readGpt2},
    {"GPTNeoXForCausalLM", "gpt_neox", &ConfigReader::readGptNeoX},
    {"GemmaForCausalLM", "gemma", &ConfigReader::readGemma},
    {"LlamaForCausalLM", "llama", &ConfigReader::readLlama},
    {"MistralForCausalLM", "mistral", &ConfigReader::readMistral},
    {"MixtralForCausalLM", "mixtral", &ConfigReader::readMixtral},
    {"Qwen2ForCausalLM", "qwen2", &ConfigReader::readQwen2},
    {"Qwen2MoeForCausalLM", "qwen2_moe", &ConfigReader::readQwen2Moe},
    {"Qwen3ForCausalLM", "qwen3", &ConfigReader::readQwen3},
    {"Qwen3MoeForCausalLM", "qwen3_moe", &ConfigReader::readQwen3Moe},
};

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

void ConfigReader::readLlamaSizes(int64_t defaultPositions) {
  shape.hidden = size("hidden_size");
  shape.ffn = size("intermediate_size");
  shape.layers = size("num_hidden_layers");
  shape.heads = size("num_attention_heads");
  shape.kvHeads = size("num_key_value_heads", shape.heads);
  shape.vocab = size("vocab_size");
  shape.maxPositions = size("max_position_embeddings", defaultPositions);
  if (shape.heads % shape.kvHeads)
    reader.fail("num_key_value_heads",
                llvm::Twine(shape.kvHeads) + " does not divide num_attention_heads " + llvm::Twine(shape.heads));
}

void ConfigReader::readLlamaNumbers() {
  readHeads("num_attention_heads", "hidden_size");
  shape.headDim = size("head_dim", shape.headDim);
  requireEvenHead(shape.headDim);
  shape.gated = true;
  readActivation("hidden_act", "silu");
  config.normEpsilon = reader.positive("rms_norm_eps", 1e-6);
  shape.tiedEmbeddings = reader.boolean("tie_word_embeddings", false);
  config.attentionDropout = probability("attention_dropout", 0);
  readRopeKeys();
}

void ConfigReader::readLlama() {
  readLlamaSizes(2048);
  readLlamaNumbers();
  shape.attentionBias = shape.outputBias = reader.boolean("attention_bias", false);
  shape.ffnBias = reader.boolean("mlp_bias", false);
  reader.ignore({"pretraining_tp"}); // how products are cut at inference
}

void ConfigReader::readGemma() {
  readLlamaSizes(8192);
  shape.headDim = size("head_dim", 256);
  requireEvenHead(shape.headDim);
  shape.gated = true;
  // "gelu" was never meant: the reference computes the tanh approximation for it, and so did what wrote such files.
  readActivation(reader.has("hidden_activation") ? "hidden_activation" : "hidden_act", "gelu_pytorch_tanh");
  reader.ignore({"hidden_act", "hidden_activation"});
  if (shape.activation == ActivationKind::Gelu)
    config.tanhGelu = true;
  config.normEpsilon = reader.positive("rms_norm_eps", 1e-6);
  config.normWeightOffset = 1;
  config.embeddingScale = std::sqrt(double(shape.hidden));
  shape.tiedEmbeddings = reader.boolean("tie_word_embeddings", true);
  shape.attentionBias = shape.outputBias = reader.boolean("attention_bias", false);
  config.attentionDropout = probability("attention_dropout", 0);
  if (reader.has("use_bidirectional_attention"))
    reader.only("use_bidirectional_attention", false);
  reader.ignore({"use_bidirectional_attention"});
  readRopeKeys();
}

/// `optional`: use_sliding_window says whether it holds at all, max_window_layers from which layer on.
void ConfigReader::readSlidingWindow(bool optional) {
  bool used = !optional || reader.boolean("use_sliding_window", false);
  int64_t window = used && reader.has("sliding_window") ? size("sliding_window") : 0;
  reader.ignore({"sliding_window", "max_window_layers", "layer_types"});
  if (!used)
    return;
  shape.slidingWindow = window;
  if (!optional)
    return;
  if (int64_t first = reader.integer("max_window_layers", 0, shape.layers); first > 0 && first < shape.layers)
    reader.reject("max_window_layers", "0 or num_hidden_layers: layers of one model with and without a window are "
                                       "supported in a regular pattern only");
  else if (first > 0)
    shape.slidingWindow = 0;
}

void ConfigReader::readMistral() {
  readLlamaSizes(4096 * 32);
  readLlamaNumbers();
  readSlidingWindow(/*optional=*/false);
}

void ConfigReader::readQwen2() {
  readLlamaSizes(32768);
  readLlamaNumbers();
  readSlidingWindow(/*optional=*/true);
  shape.attentionBias = true;
}

void ConfigReader::readQwen3() {
  readLlamaSizes(32768);
  readLlamaNumbers();
  readSlidingWindow(/*optional=*/true);
  shape.headDim = size("head_dim", 128);
  shape.queryKeyNorm = true;
  shape.attentionBias = shape.outputBias = reader.boolean("attention_bias", false);
}

//===---- Mixtures of experts ----===//

void ConfigReader::readMixtral() {
  readLlamaSizes(4096 * 32);
  readLlamaNumbers();
  readSlidingWindow(/*optional=*/false);
  shape.moe.experts = size("num_local_experts", 8);
  shape.moe.topK = size("num_experts_per_tok", 2);
  shape.moe.ffn = shape.ffn;
  config.routing.normalizeTopK = true;
  config.routing.balanceLossFactor = reader.number("router_aux_loss_coef", 0.001);
  reader.only("router_jitter_noise", 0);
}

void ConfigReader::readQwenExperts() {
  shape.moe.topK = size("num_experts_per_tok");
  shape.moe.ffn = size("moe_intermediate_size");
  shape.moe.every = size("decoder_sparse_step", 1);
  shape.moe.firstLayer = shape.moe.every - 1;
  reader.only("mlp_only_layers", llvm::json::Array{});
  config.routing.normalizeTopK = reader.boolean("norm_topk_prob", false);
  config.routing.balanceLossFactor = reader.number("router_aux_loss_coef", 0.001);
}

void ConfigReader::readQwen2Moe() {
  readLlamaSizes(32768);
  readLlamaNumbers();
  readSlidingWindow(/*optional=*/true);
  shape.attentionBias = reader.boolean("qkv_bias", true);
  shape.moe.experts = size("num_experts");
  shape.moe.sharedFfn = size("shared_expert_intermediate_size");
  shape.moe.sharedGate = true;
  readQwenExperts();
}

void ConfigReader::readQwen3Moe() {
  readLlamaSizes(32768);
  readLlamaNumbers();
  readSlidingWindow(/*optional=*/true);
  shape.queryKeyNorm = true;
  shape.attentionBias = shape.outputBias = reader.boolean("attention_bias", false);
  shape.moe.experts = size(reader.has("num_local_experts") ? "num_local_experts" : "num_experts", 128);
  readQwenExperts();
}

void ConfigReader::readDeepseekV3() {
  readLlamaSizes(4096);
  readHeads("num_attention_heads", "hidden_size");
  shape.gated = true;
  readActivation("hidden_act", "silu");
  config.normEpsilon = reader.positive("rms_norm_eps", 1e-6);
  shape.tiedEmbeddings = reader.boolean("tie_word_embeddings", false);
  config.attentionDropout = probability("attention_dropout", 0);
  reader.only("attention_bias", false);
  readRopeKeys();
  reader.only("rope_interleave", true);
  reader.ignore({"pretraining_tp", "head_dim", "qk_head_dim", "aux_loss_alpha", "seq_aux", "quantization_config"});

  LatentAttention &latent = shape.latent;
  latent.queryRank = reader.has("q_lora_rank") ? size("q_lora_rank") : 0;
  reader.ignore({"q_lora_rank"});
  latent.keyValueRank = size("kv_lora_rank");
  latent.nopeHeadDim = size("qk_nope_head_dim");
  latent.ropeHeadDim = size("qk_rope_head_dim");
  latent.valueHeadDim = size("v_head_dim");
  if (latent.ropeHeadDim % 2)
    reader.reject("qk_rope_head_dim", "an even number: rotary positions need pairs");
  shape.headDim = latent.nopeHeadDim + latent.ropeHeadDim;

  ExpertShape &moe = shape.moe;
  moe.experts = size("n_routed_experts");
  moe.topK = size("num_experts_per_tok");
  moe.ffn = size("moe_intermediate_size");
  moe.sharedFfn = moe.ffn * size("n_shared_experts", 0, 0);
  moe.firstLayer = size("first_k_dense_replace", 0, 0);
  moe.every = size("moe_layer_freq", 1);
  moe.groups = size("n_group", 1);
  moe.groupsPerToken = size("topk_group", moe.groups);
  moe.scoreBias = true;
  reader.only("topk_method", "noaux_tc");
  reader.only("scoring_func", "sigmoid");
  config.routing.sigmoid = true;
  config.routing.normalizeTopK = reader.boolean("norm_topk_prob", true);
  config.routing.scale = reader.positive("routed_scaling_factor", 1.0);
  shape.predictionLayers = size("num_nextn_predict_layers", 0, 0);
}

//===---- GPT and its relatives ----===//

void ConfigReader::readGpt2() {
  shape.hidden = size("n_embd", 768);
  shape.layers = size("n_layer", 12);
  shape.heads = shape.kvHeads = size("n_head", 12);
  shape.vocab = size("vocab_size", 50257);
  shape.maxPositions = size("n_positions", 1024);
  readHeads("n_head", "n_embd");
  shape.ffn = reader.has("n_inner") ? size("n_inner") : 4 * shape.hidden;
  reader.ignore({"n_inner", "n_ctx"});
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
  shape.layers = size("num_hidden_layers");
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
  config.ropeTheta = reader.positive("rotary_emb_base", 10000.0);
  shape.rotaryFraction = reader.positive("rotary_pct", 0.25);
  readRopeKeys();
  if (shape.rotaryFraction > 1) {
    reader.reject("rotary_pct", "at most 1");
    shape.rotaryFraction = 1;
  }
  int64_t rotated = int64_t(shape.headDim * shape.rotaryFraction);
  if (!rotated)
    reader.reject("rotary_pct", "at least two elements of a head of " + llvm::Twine(shape.headDim));
  requireEvenHead(rotated);
  bool older = reader.has("hidden_dropout_prob") || reader.has("attention_probs_dropout_prob");
  readDropouts(older ? "attention_probs_dropout_prob" : "attention_dropout",
               {older ? "hidden_dropout_prob" : "hidden_dropout"}, 0);
}

void ConfigReader::readBloom() {
  auto oneOf = [&](llvm::StringRef key, llvm::StringRef other) { return reader.has(other) ? other : key; };
  llvm::StringRef hiddenKey = oneOf("hidden_size", "n_embed"), headsKey = oneOf("n_head", "num_attention_heads");
  shape.hidden = size(hiddenKey);
  shape.layers = size(oneOf("n_layer", "num_hidden_layers"));
  shape.heads = shape.kvHeads = size(headsKey);
  shape.vocab = size("vocab_size", 250880);
  readHeads(headsKey, hiddenKey);
  reader.only("n_inner", nullptr);
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
  // How the reference computes, not what.
  reader.ignore({"pretraining_tp", "slow_but_exact", "attention_softmax_in_fp32", "bias_dropout_fusion",
                 "masked_softmax_fusion", "skip_bias_add", "skip_bias_add_qkv", "offset_alibi"});
}

} // namespace mlir::ppc
