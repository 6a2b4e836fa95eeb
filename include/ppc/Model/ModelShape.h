// The sizes of a language model, as plain data: what a Hugging Face config.json or a row of numbers says, before there is
// any IR. The cost model, the planner and the importers all start from it.
#ifndef PPC_MODEL_MODELSHAPE_H
#define PPC_MODEL_MODELSHAPE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

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

/// Mixture of experts; `experts` 0: every feed-forward layer is dense.
struct ExpertShape {
  int64_t experts = 0;       // routed experts per layer
  int64_t topK = 0;          // experts per token
  int64_t ffn = 0;           // inner width of one expert
  int64_t sharedFfn = 0;     // inner width of all shared experts together (shared_experts x moe_ffn); 0: none
  int64_t firstLayer = 0;    // layers before it are dense
  int64_t every = 1;         // each `every`-th layer from firstLayer on has experts
  explicit operator bool() const { return experts > 0; }
};

/// A decoder-only transformer. Sizes are in elements. `verifyModelShape` states what holds for a checked one.
struct ModelShape {
  std::string name;    // for people: "Llama-3-8B", or the file
  std::string family;  // model_type: "llama", "gpt2", "gpt_neox", "bloom", "mistral", "qwen2", "qwen3", "mixtral", "qwen2_moe", "deepseek_v3", ...
  int64_t layers = 0, hidden = 0, heads = 0, kvHeads = 0, headDim = 0;
  int64_t ffn = 0;     // inner width of a dense feed-forward
  bool gated = false;  // SwiGLU and its like: a second input projection
  ActivationKind activation = ActivationKind::Silu;
  int64_t vocab = 0;
  bool tiedEmbeddings = false;
  NormKind norm = NormKind::RmsNorm;
  bool normBias = false, attentionBias = false, outputBias = false, ffnBias = false, queryKeyNorm = false;
  PositionKind position = PositionKind::Rotary;
  int64_t maxPositions = 0;    // rows of learned positions, limit of the sequence length; 0: unlimited
  int64_t slidingWindow = 0;   // keys each query sees; 0: all before it
  int64_t slidingWindowEvery = 1; // each n-th layer uses the window (GPT-OSS: 2)
  bool parallelResidual = false; // attention and feed-forward read the same norm (GPT-NeoX)
  double dropout = 0;          // probability behind attention and feed-forward; 0 in modern models
  LatentAttention latent;
  ExpertShape moe;
  int64_t predictionLayers = 0; // extra multi-token prediction layers (DeepSeek-V3: 1)

  bool hasExperts(int64_t layer) const {
    return moe && layer >= moe.firstLayer && (layer - moe.firstLayer) % moe.every == 0;
  }
  int64_t queryHeadDim() const { return latent ? latent.nopeHeadDim + latent.ropeHeadDim : headDim; }
  int64_t valueHeadDim() const { return latent ? latent.valueHeadDim : headDim; }
};

/// Errors name the field and the value: sizes < 1, kvHeads not dividing heads, topK > experts, ...
llvm::Error verifyModelShape(const ModelShape &model);

/// Reads a config.json, or the one in a folder: LlamaForCausalLM, GPT2LMHeadModel, GPTNeoXForCausalLM, BloomForCausalLM,
/// MistralForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM, MixtralForCausalLM, Qwen2MoeForCausalLM, Qwen3MoeForCausalLM,
/// DeepseekV3ForCausalLM. Errors: `FILE: key "K": what is expected, what was found`.
llvm::Expected<ModelShape> readModelShape(llvm::StringRef path);

/// Trained values by part. Tied embeddings count once, in `embedding`.
struct ParameterCounts {
  int64_t embedding = 0, head = 0; // of which positions are part of embedding
  int64_t attention = 0;           // all layers, with biases
  int64_t denseFfn = 0, experts = 0, sharedExperts = 0, router = 0;
  int64_t norms = 0;
  int64_t total = 0;  // all of it
  int64_t active = 0; // used by one token: experts count topK of `experts`
};
ParameterCounts countParameters(const ModelShape &model);

/// FLOPs of forward and backward per token as PaLM counts them (arXiv 2204.02311, appendix B): 6 N + 12 L H Q T, with N
/// the active parameters (embeddings included once per use as a product: a tied embedding counts once) and full
/// (not causal-halved) attention over `sequence` keys.
double modelFlopsPerToken(const ModelShape &model, int64_t sequence);

} // namespace mlir::ppc

#endif // PPC_MODEL_MODELSHAPE_H
