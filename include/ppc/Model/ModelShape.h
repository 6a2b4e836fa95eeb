// Sizes of a language model, as plain data from a Hugging Face config.json or a row of numbers, before there is any IR.
// The cost model, the planner and the importers all start from it.
#ifndef PPC_MODEL_MODELSHAPE_H
#define PPC_MODEL_MODELSHAPE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace mlir::ppc {

enum class NormKind { LayerNorm, RmsNorm };
enum class ActivationKind { Gelu, Silu, Relu, SquaredRelu };
enum class PositionKind { Learned, Rotary, Alibi, None };

/// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434): queries and keys/values pass through low-rank
/// bottlenecks; a part of each head carries the rotary position. All zero: ordinary attention.
struct LatentAttention {
  int64_t queryRank = 0;    // q_lora_rank; 0: queries are projected directly
  int64_t keyValueRank = 0; // kv_lora_rank
  int64_t nopeHeadDim = 0;  // per head, without position
  int64_t ropeHeadDim = 0;  // per head, with position; keys share one head of it
  int64_t valueHeadDim = 0;
  explicit operator bool() const { return keyValueRank > 0; }
};

/// The index branch of sparse attention (DeepSeek-V3.2): small heads that choose `topK` keys for each query. Sequences
/// that are no longer read all keys. The branch is not trained, since no gradient reaches it.
struct SparseIndex {
  int64_t topK = 0; // 0: no such branch
  int64_t heads = 0, headDim = 0;
  int64_t first = 0, every = 1; // layers before `first` have a branch, and each `every`-th one from `first` - 1 on
  explicit operator bool() const { return topK > 0; }
};

/// Mixture of experts; `experts` 0: every feed-forward layer is dense.
struct ExpertShape {
  int64_t experts = 0;    // routed experts per layer
  int64_t topK = 0;       // experts per token
  int64_t ffn = 0;        // inner width of one expert
  int64_t sharedFfn = 0;  // inner width of all shared experts together (shared_experts x moe_ffn); 0: none
  int64_t firstLayer = 0; // layers before it are dense
  int64_t every = 1;      // each `every`-th layer from firstLayer on has experts
  // A token's experts come from at most groupsPerToken of `groups` equal groups of consecutive experts; 1: no such
  // limit.
  int64_t groups = 1, groupsPerToken = 1;
  bool normalizesTopK = false; // weights of a token's experts are divided by their sum
  bool sharedGate = false;     // the shared experts' output is scaled by a learned gate [hidden -> 1] (Qwen-MoE)
  bool scoreBias = false;      // one value per expert that balances the load (DeepSeek-V3); counted with the router
  explicit operator bool() const { return experts > 0; }
};

/// A decoder-only transformer. Sizes are in elements. `verifyModelShape` checks its invariants.
struct ModelShape {
  std::string name; // name in reports: "Llama-3-8B", or the file
  std::string
      family; // model_type: "llama", "gpt2", "gpt_neox", "bloom", "mistral", "gemma", "qwen2", "qwen3",
              // "mixtral", "qwen2_moe", "qwen3_moe", "deepseek_v3", "deepseek_v32", "glm_moe_dsa", "phi3", "seed_oss"
  int64_t layers = 0, hidden = 0, heads = 0, kvHeads = 0, headDim = 0;
  int64_t ffn = 0;    // inner width of a dense feed-forward
  bool gated = false; // SwiGLU and its like: a second input projection
  ActivationKind activation = ActivationKind::Silu;
  int64_t vocab = 0;
  bool tiedEmbeddings = false;
  NormKind norm = NormKind::RmsNorm;
  bool normBias = false;
  bool attentionBias = false; // biases of the query, key and value projections
  bool outputBias = false;    // bias of the attention's output projection
  bool ffnBias = false;
  bool queryKeyNorm = false;    // RMSNorm over each head of queries and keys; the weight has headDim values
  bool embeddingNorm = false;   // a norm right after the embedding (BLOOM)
  bool scalesEmbedding = false; // the embedding's rows are multiplied by a factor (Gemma)
  bool offsetNorms = false;     // norms scale by one more than their weight (Gemma)
  PositionKind position = PositionKind::Rotary;
  double rotaryFraction = 1;      // part of each head that carries the rotary position (GPT-NeoX: 0.25)
  int64_t maxPositions = 0;       // rows of learned positions, limit of the sequence length; 0: unlimited
  int64_t slidingWindow = 0;      // keys each query sees, itself included; 0: all before it
  int64_t slidingWindowEvery = 1; // each n-th layer uses the window (GPT-OSS: 2)
  bool parallelResidual = false;  // attention and feed-forward read the same norm (GPT-NeoX)
  double dropout = 0;             // dropout probability after attention and feed-forward; 0 in modern models
  LatentAttention latent;
  SparseIndex index;
  ExpertShape moe;
  int64_t predictionLayers = 0; // extra multi-token prediction layers (DeepSeek-V3: 1)

  bool hasExperts(int64_t layer) const {
    return moe && layer >= moe.firstLayer && (moe.every == 1 || (layer - moe.firstLayer) % moe.every == 0);
  }
  bool hasIndex(int64_t layer) const {
    return index && std::max<int64_t>(layer - index.first + 1, 0) % index.every == 0;
  }
  /// Whether hasExperts, hasIndex and hasWindow are equal for all layers.
  bool hasAlikeLayers() const { return !moe && !index && slidingWindow == 0; }
  bool hasWindow(int64_t layer) const { return slidingWindow > 0 && layer % slidingWindowEvery == 0; }
  int64_t queryHeadDim() const { return latent ? latent.nopeHeadDim + latent.ropeHeadDim : headDim; }
  int64_t valueHeadDim() const { return latent ? latent.valueHeadDim : headDim; }
};

/// Errors name the model, the field, the value and the expected values: sizes < 1, kvHeads not dividing heads, topK >
/// experts, a model of more than 2^60 parameters, ...
llvm::Error verifyModelShape(const ModelShape &model);

/// Reads a config.json, or the one in a folder, of one of `modelArchitectures` (ModelConfig.h); the result is verified.
/// Errors: `FILE: key "K": expected EXPECTED, found VALUE`.
llvm::Expected<ModelShape> readModelShape(llvm::StringRef path);

/// Trained values by part. Tied embeddings count once, in `embedding`. Prediction layers are not counted: they are
/// not part of the model that is published (countPredictionLayer).
struct ParameterCounts {
  int64_t embedding = 0, head = 0; // learned positions and the norm after the embedding are part of `embedding`
  int64_t attention = 0;           // all layers, with biases and the norms inside (query, key and latent norms)
  int64_t denseFfn = 0, experts = 0, sharedExperts = 0, router = 0; // gates of shared experts with these
  int64_t norms = 0;                                                // norms of the layers and the last norm
  int64_t total = 0;                                                // all of it
  int64_t active = 0; // used by one token: experts count topK / `experts` of theirs
};
ParameterCounts countParameters(const ModelShape &model);
/// Parameters of one layer; embedding and LM head have index 0.
ParameterCounts countLayerParameters(const ModelShape &model, int64_t layer);
/// One multi-token prediction layer (arXiv 2412.19437, section 2.2): the last layer's parts, the projection of two
/// hidden states into one (in `head`), three norms. Embedding and output head are the model's.
ParameterCounts countPredictionLayer(const ModelShape &model);

/// FLOPs of forward and backward per token as PaLM counts them (arXiv 2204.02311, appendix B): 6 N + 12 L H Q T, with N
/// the active parameters (all of them: both embeddings, norms and biases) and attention over the `sequence` keys, or
/// those of a layer's window, masked ones too. If keys and values differ in width, 12 Q is 6 (queryHeadDim +
/// valueHeadDim). If that exceeds the FLOPs of the matmuls of a token by more than a fifth (long sequences, of which a
/// mask leaves half; lookup tables), only the FLOPs of matmuls count: otherwise devices could exceed their peak.
double modelFlopsPerToken(const ModelShape &model, int64_t sequence);
/// Part of attention in modelFlopsPerToken.
double attentionFlopsPerToken(const ModelShape &model, int64_t sequence);
/// Whether modelFlopsPerToken counts all keys and all parameters, rather than only matmuls.
bool countsAllKeys(const ModelShape &model, int64_t sequence);

/// FLOPs that a device computes per token, by type of kernel. One multiply-add is 2.
struct TokenFlops {
  double layerProducts = 0; // projections and feed-forward of all layers
  double attention = 0;     // scores and weighted sums of all layers
  double head = 0;          // logits
  double total() const { return layerProducts + attention + head; }
};
/// Forward only; backward is twice as much. No lookup, norm or bias counts. `causal`: a query meets only the keys that
/// it sees, min(window, position + 1), averaged over the sequence; else all `sequence` of them.
TokenFlops forwardFlopsPerToken(const ModelShape &model, int64_t sequence, bool causal);

/// Keys a query of this layer meets on average under a causal mask: (T + 1) / 2 without a window.
double averageKeys(const ModelShape &model, int64_t layer, int64_t sequence);

} // namespace mlir::ppc

#endif // PPC_MODEL_MODELSHAPE_H
