// Hugging Face models: config.json -> a checked struct (ppc/Model/ModelConfig.h) -> the model in the ppc dialect.
// Every architecture that `modelArchitectures` lists. What is not supported is refused by file, key and value, never
// ignored.
#ifndef PPC_IMPORT_HUGGINGFACE_H
#define PPC_IMPORT_HUGGINGFACE_H

#include "ppc/Model/ModelConfig.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::ppc {

/// What the config does not say.
struct HuggingFaceOptions {
  int64_t sequenceLength = 0;
  int64_t globalBatch = 0; // sequences per step
  /// Each expert takes this many times its even share of a sequence's tokens, sequence x topK / experts, rounded up,
  /// and drops the others. 0: as many as there are tokens, so that none is dropped, which is what the reference
  /// computes.
  double expertCapacityFactor = 0;
};

/// Whether a MODEL argument is for this importer: a folder, or a file called *.json.
bool isHuggingFaceModel(llvm::StringRef path);

/// Radians per position of each of the pairs that carry the position, in sequences of the given length, as float32 like
/// the reference implementation has them.
std::vector<double> rotaryFrequencies(const ModelConfig &config, int64_t sequenceLength);
/// Factor on sines and cosines that goes with a stretch of the frequencies. By YaRN: m(mscale) / m(mscale_all_dim), or
/// m(1) when these are not both given, with m(a) = 0.1 a ln(factor) + 1. LongRope has its own; 1 without one.
double rotaryTableFactor(const ModelConfig &config);
/// The square of it, which is what it does to the product of a query and a key that rotate as a whole; for latent
/// attention times m(mscale_all_dim)^2.
double rotaryScoreFactor(const ModelConfig &config);

/// `module @FAMILY` with one `func.func @loss`: inputs `ids` and `targets` [batch, seq], parameters under their Hugging
/// Face names with head structure as dimensions (q_proj is [kv_heads, head_group, head_dim, hidden]: the same elements
/// in the same order), experts as the stacked tensors of transformers 5; result the mean negative log-likelihood. Loads
/// the dialects it needs. Multi-token prediction layers are left out, as the reference does. Errors: sequence longer
/// than the model's positions, options < 1, dropout, activations without an op.
llvm::Expected<OwningOpRef<ModuleOp>> buildModel(const ModelConfig &config, const HuggingFaceOptions &options,
                                                 MLIRContext &context);

/// readModelConfig, then buildModel.
llvm::Expected<OwningOpRef<ModuleOp>> importHuggingFace(llvm::StringRef path, const HuggingFaceOptions &options,
                                                        MLIRContext &context);

} // namespace mlir::ppc

#endif // PPC_IMPORT_HUGGINGFACE_H
