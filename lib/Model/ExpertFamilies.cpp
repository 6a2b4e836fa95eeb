// The keys of families with experts, with the defaults of the reference implementation's configuration classes.
#include "ConfigReader.h"

#include "llvm/ADT/Twine.h"

namespace mlir::ppc {

void ConfigReader::readTopK(llvm::StringRef expertsKey, int64_t fallback) {
  ExpertShape &moe = shape.moe;
  moe.topK = size("num_experts_per_tok", fallback);
  if (moe.topK > moe.experts)
    reader.fail("num_experts_per_tok",
                llvm::Twine(moe.topK) + " experts of a token; " + expertsKey + " is only " + llvm::Twine(moe.experts));
}

void ConfigReader::readMixtral() {
  readLlamaKeys({4096 * 32, 8, 1e-5, 1e6});
  readWindowOfEveryLayer(slidingWindow(std::nullopt));
  shape.moe.experts = size("num_local_experts", 8);
  readTopK("num_local_experts", 2);
  shape.moe.ffn = shape.ffn;
  shape.moe.normalizesTopK = true;
  config.routing.balanceLossFactor = reader.number("router_aux_loss_coef", 0.001);
  reader.only("router_jitter_noise", 0);
}

void ConfigReader::readQwenExperts() {
  ExpertShape &moe = shape.moe;
  moe.ffn = size("moe_intermediate_size");
  moe.every = size("decoder_sparse_step", 1);
  moe.firstLayer = moe.every - 1;
  reader.only("mlp_only_layers", llvm::json::Array{});
  mayBeNull({"mlp_only_layers"});
  shape.moe.normalizesTopK = reader.boolean("norm_topk_prob", false);
  config.routing.balanceLossFactor = reader.number("router_aux_loss_coef", 0.001);
}

void ConfigReader::readQwen2Moe() {
  readLlamaKeys({32768, 16});
  readQwen2MoeWindow();
  shape.attentionBias = reader.boolean("qkv_bias", true);
  shape.moe.experts = size("num_experts", 60);
  readTopK("num_experts", 4);
  shape.moe.sharedFfn = size("shared_expert_intermediate_size", 5632);
  shape.moe.sharedGate = true;
  readQwenExperts();
}

void ConfigReader::readQwen3Moe() {
  readLlamaKeys({32768, 4});
  bool isTextPart = alias == "qwen3_vl_moe_text";
  if (isTextPart) {
    requireOfTextPart({"max_position_embeddings", "num_key_value_heads", "num_experts", "num_experts_per_tok"});
    if (!reader.has("rope_parameters"))
      requireOfTextPart({"rope_theta"});
    reader.only("use_sliding_window", false);
  } else {
    readWindowOfEveryLayer(readQwenWindowSize());
  }
  shape.queryKeyNorm = true;
  shape.attentionBias = shape.outputBias = reader.boolean("attention_bias", false);
  if (reader.has("num_local_experts") && reader.has("num_experts") &&
      reader.integer("num_local_experts", 1) != reader.integer("num_experts", 1))
    reader.fail("num_local_experts", "is another name of num_experts; give one of the two");
  llvm::StringRef expertsKey = reader.has("num_local_experts") ? "num_local_experts" : "num_experts";
  shape.moe.experts = size(expertsKey, 128);
  readTopK(expertsKey, 8);
  readQwenExperts();
  if (isTextPart) { // that class always divides the weights by their sum
    reader.only("norm_topk_prob", true);
    shape.moe.normalizesTopK = true;
  }
}

void ConfigReader::readDeepseekV3() { readDeepseek({4096, 128}, 8, 4); }

/// Sparse attention reads the index_topk keys that an index branch chooses: all keys up to that number of positions.
void ConfigReader::readSparseDeepseek() {
  bool isGlm = shape.family == "glm_moe_dsa";
  readDeepseek(isGlm ? LlamaDefaults{202752, 64, 1e-5} : LlamaDefaults{163840, 128}, isGlm ? 1 : 8, isGlm ? 1 : 4);
  if (!shape.latent.queryRank)
    reader.refuseValue("q_lora_rank", "a rank: the index branch reads the compressed queries");
  SparseIndex &index = shape.index;
  index.topK = size("index_topk", 2048);
  index.headDim = size("index_head_dim", 128);
  index.heads = size("index_n_heads", isGlm ? 32 : 64);
  if (index.headDim < shape.latent.ropeHeadDim)
    reader.refuseValue("index_head_dim", "at least qk_rope_head_dim " + llvm::Twine(shape.latent.ropeHeadDim));
  if (isGlm)
    readIndexLayers();
  mayBeNull({"layer_types", "mlp_layer_types"});
  everyLayer("layer_types", [](int64_t) -> llvm::SmallVector<llvm::StringRef> {
    return {"indexed_attention", "deepseek_sparse_attention"};
  });
  everyLayer("mlp_layer_types", [&](int64_t layer) -> llvm::SmallVector<llvm::StringRef> {
    return {layer < shape.moe.firstLayer ? "dense" : "sparse"};
  });
}

/// Layers without an index branch use the keys that the last branch before them has chosen.
void ConfigReader::readIndexLayers() {
  SparseIndex &index = shape.index;
  mayBeNull({"indexer_types", "index_topk_pattern"});
  reader.only("index_topk_pattern", nullptr);
  reader.only("indexer_rope_interleave", true);
  reader.ignore({"index_share_for_mtp_iteration"});
  index.every = size("index_topk_freq", 1);
  index.first = size("index_skip_topk_offset", 2, 0);
  everyLayer("indexer_types", [&](int64_t layer) -> llvm::SmallVector<llvm::StringRef> {
    return {shape.hasIndex(layer) ? "full" : "shared"};
  });
}

/// Checks a list with one word for each layer against other keys; `words` gives the words that agree with them.
void ConfigReader::everyLayer(llvm::StringRef key,
                              llvm::function_ref<llvm::SmallVector<llvm::StringRef>(int64_t)> words) {
  if (!reader.has(key))
    return;
  std::vector<std::string> said = reader.strings(key);
  if (int64_t(said.size()) != shape.layers)
    return reader.refuse(key, "has " + llvm::Twine(said.size()) + " entries; num_hidden_layers is " +
                                  llvm::Twine(shape.layers));
  for (int64_t layer = 0; layer < shape.layers; ++layer)
    if (!llvm::is_contained(words(layer), said[layer]))
      return reader.refuse(key, "\"" + said[layer] + "\" for layer " + llvm::Twine(layer) + "; other keys say \"" +
                                    words(layer).front() + "\"");
}

void ConfigReader::readDeepseek(const LlamaDefaults &defaults, int64_t groups, int64_t groupsPerToken) {
  readLlamaSizes(defaults);
  readHeads("num_attention_heads", "hidden_size");
  if (shape.kvHeads != shape.heads)
    reader.fail("num_key_value_heads", llvm::Twine(shape.kvHeads) +
                                           "; latent attention has as many as num_attention_heads, " +
                                           llvm::Twine(shape.heads));
  shape.gated = true;
  readActivation("hidden_act", "silu");
  config.normEpsilon = reader.positive("rms_norm_eps", defaults.epsilon);
  shape.tiedEmbeddings = reader.boolean("tie_word_embeddings", false);
  config.attentionDropout = dropout("attention_dropout", 0);
  readPaddingToken();
  reader.only("attention_bias", false);
  readRopeKeys(10000);
  reader.only("rope_interleave", true);
  readLatentAttention();
  readDeepseekExperts(groups, groupsPerToken);
  shape.predictionLayers = size("num_nextn_predict_layers", 0, 0, limits::layers);
}

void ConfigReader::readLatentAttention() {
  LatentAttention &latent = shape.latent;
  mayBeNull({"q_lora_rank"});
  bool direct = isNull("q_lora_rank");
  latent.queryRank = direct ? 0 : size("q_lora_rank", shape.family == "glm_moe_dsa" ? 2048 : 1536);
  latent.keyValueRank = size("kv_lora_rank");
  latent.nopeHeadDim = size("qk_nope_head_dim");
  latent.ropeHeadDim = size("qk_rope_head_dim");
  latent.valueHeadDim = size("v_head_dim");
  if (latent.ropeHeadDim % 2)
    reader.reject("qk_rope_head_dim", "an even number: rotary positions need pairs");
  shape.headDim = latent.nopeHeadDim + latent.ropeHeadDim;
  // Other sizes say these too, and versions of the reference compute from them.
  auto says = [&](llvm::StringRef key, int64_t value, llvm::StringRef others) {
    if (reader.integer(key, 1, value) != value)
      reader.reject(key, llvm::Twine(value) + ", as " + others + " say; it may be left out");
  };
  says("qk_head_dim", shape.headDim, "qk_nope_head_dim and qk_rope_head_dim");
  if (shape.family == "deepseek_v3")
    return says("head_dim", latent.ropeHeadDim, "qk_rope_head_dim");
  reader.ignore({"head_dim"}); // the newer classes compute it, whatever files say
  mayBeNull({"head_dim"});
}

void ConfigReader::readDeepseekExperts(int64_t groups, int64_t groupsPerToken) {
  ExpertShape &moe = shape.moe;
  moe.experts = size("n_routed_experts", 256);
  for (llvm::StringRef other : {"num_experts", "num_local_experts"}) // names of the newer classes
    if (shape.family != "deepseek_v3" && reader.has(other) && reader.integer(other, 1) != moe.experts)
      reader.refuse(other,
                    "is another name of n_routed_experts, " + llvm::Twine(moe.experts) + "; give one of the two");
  readTopK("n_routed_experts", 8);
  moe.ffn = size("moe_intermediate_size", 2048);
  moe.sharedFfn = moe.ffn * size("n_shared_experts", 1, 0);
  moe.firstLayer = size("first_k_dense_replace", 3, 0);
  reader.only("moe_layer_freq", 1); // the reference has experts in each layer from first_k_dense_replace on
  moe.groups = size("n_group", groups);
  if (moe.experts % moe.groups || moe.experts < 2 * moe.groups)
    reader.reject("n_group", "a number that divides n_routed_experts " + llvm::Twine(moe.experts) +
                                 " into groups of two and more");
  moe.groupsPerToken = size("topk_group", groupsPerToken);
  if (moe.groupsPerToken > moe.groups)
    reader.fail("topk_group",
                llvm::Twine(moe.groupsPerToken) + " groups of a token; n_group is only " + llvm::Twine(moe.groups));
  else if (moe.topK > moe.groupsPerToken * (moe.experts / moe.groups))
    reader.fail("num_experts_per_tok", llvm::Twine(moe.topK) + " experts of a token; its " +
                                           llvm::Twine(moe.groupsPerToken) + " groups hold only " +
                                           llvm::Twine(moe.groupsPerToken * (moe.experts / moe.groups)));
  moe.scoreBias = true;
  reader.only("topk_method", "noaux_tc");
  reader.only("scoring_func", "sigmoid");
  config.routing.sigmoid = true;
  shape.moe.normalizesTopK = reader.boolean("norm_topk_prob", true);
  config.routing.scale = reader.positive("routed_scaling_factor", 2.5);
}

} // namespace mlir::ppc
