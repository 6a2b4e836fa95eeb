// Hugging Face models: config.json -> a checked struct -> the model in the ppc dialect.
// Supported: LlamaForCausalLM (RMSNorm, SwiGLU, rotary positions with linear or Llama-3 scaling, grouped heads, tied or
// untied embeddings). What is not supported is refused by file, key and value, never ignored.
#ifndef PPC_IMPORT_HUGGINGFACE_H
#define PPC_IMPORT_HUGGINGFACE_H

#include "ppc/Model/ModelConfig.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mlir::ppc {

/// A LLaMA, checked: every size is at least 1, kvHeads divides heads, headDim is even.
struct LlamaConfig {
  std::string file; // for messages
  int64_t hidden = 0, ffn = 0, layers = 0, heads = 0, kvHeads = 0, headDim = 0, vocab = 0;
  int64_t maxPositions = 0;
  double normEpsilon = 0;
  double ropeTheta = 0;
  RopeScaling ropeScaling;
  bool tiedEmbeddings = false;
  double initializerRange = 0; // standard deviation
};

/// Shapes that the config does not say.
struct HuggingFaceOptions {
  int64_t sequenceLength = 0;
  int64_t globalBatch = 0; // sequences per step
};

/// Whether a MODEL argument is for this importer: a folder, or a file called *.json.
bool isHuggingFaceModel(llvm::StringRef path);

/// Reads a config.json, or the one in a folder. Errors: `FILE: key "K": what is expected, what was found`.
llvm::Expected<LlamaConfig> readLlamaConfig(llvm::StringRef path);
/// The same for text in memory; `name` is what messages call it.
llvm::Expected<LlamaConfig> parseLlamaConfig(llvm::StringRef name, llvm::StringRef text);

/// Radians per position of each of the headDim / 2 pairs, as float32 like the reference implementation has them.
std::vector<double> rotaryFrequencies(const LlamaConfig &config);

/// Number of trained values; tied embeddings count once.
int64_t parameterCount(const LlamaConfig &config);
/// FLOPs of forward and backward per token, as the PaLM paper counts them: 6 N + 12 layers x heads x headDim x
/// sequence.
double flopsPerToken(const LlamaConfig &config, int64_t sequenceLength);

/// `module @llama` with one `func.func @loss`: inputs `ids` and `targets` [batch, seq], parameters under their Hugging
/// Face names with head structure as dimensions (q_proj is [kv_heads, head_group, head_dim, hidden]: the same elements
/// in the same order), result the mean negative log-likelihood. Loads the dialects it needs. Errors: sequence longer
/// than max_position_embeddings, options < 1.
llvm::Expected<OwningOpRef<ModuleOp>> buildLlama(const LlamaConfig &config, const HuggingFaceOptions &options,
                                                 MLIRContext &context);

/// readLlamaConfig, then buildLlama.
llvm::Expected<OwningOpRef<ModuleOp>> importHuggingFace(llvm::StringRef path, const HuggingFaceOptions &options,
                                                        MLIRContext &context);

} // namespace mlir::ppc

#endif // PPC_IMPORT_HUGGINGFACE_H
