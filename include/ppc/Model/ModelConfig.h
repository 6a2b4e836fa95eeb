// A Hugging Face config.json as a checked struct: the sizes (ModelShape), and the numbers that change values but not
// costs. What is not understood is refused by file, key and value, never ignored.
#ifndef PPC_MODEL_MODELCONFIG_H
#define PPC_MODEL_MODELCONFIG_H

#include "ppc/Model/ModelShape.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/JSON.h"

#include <map>
#include <optional>
#include <string>

namespace mlir::ppc {

/// How rotary frequencies are stretched for sequences longer than those trained on.
struct RopeScaling {
  enum class Kind { None, Linear, Llama3, Yarn, LongRope } kind = Kind::None;
  double factor = 1;
  // Llama3 only: wavelengths (in positions) above original / lowFrequency are divided by `factor`, those below
  // original / highFrequency are kept, the ones between are interpolated.
  double lowFrequencyFactor = 1;
  double highFrequencyFactor = 4;
  // Yarn only (arXiv 2309.00071): pairs that turn more than betaFast times within the original length keep their
  // frequency, those that turn less than betaSlow times are divided by `factor`; the ones between are interpolated.
  double betaFast = 32, betaSlow = 1;
  double magnitude = 1, magnitudeAllDims = 0; // mscale, mscale_all_dim
  // LongRope only (arXiv 2402.13753): what the frequency of each pair is divided by, in sequences up to the original
  // length and in longer ones, and the factor on sines and cosines of both.
  std::vector<double> shortFactors, longFactors;
  double tableFactor = 1;
  int64_t originalMaxPositions = 0;
};

/// How a router turns scores into expert weights.
struct RoutingNumbers {
  bool sigmoid = false;         // else softmax over all experts
  double scale = 1;             // factor on the weights
  double balanceLossFactor = 0; // router_aux_loss_coef
};

struct ModelConfig {
  std::string file;         // for messages
  std::string text;         // of the file, as it was read
  std::string architecture; // "LlamaForCausalLM"
  std::string modelType;    // that of the file, "yi": files of weights may differ from those of the family, "llama"
  bool isTextPart = false;  // of a file of several parts
  ModelShape shape;
  double normEpsilon = 1e-6;
  double normWeightOffset = 0;    // norms multiply by their weight plus this, and start where the sum is 1 (Gemma: 1)
  double embeddingScale = 1;      // factor on the embedding's rows (Gemma: the square root of the hidden size)
  double initializerRange = 0.02; // standard deviation
  double ropeTheta = 10000;
  RopeScaling ropeScaling;
  bool tanhGelu = false;       // Gelu by its tanh approximation
  double attentionDropout = 0; // probability on the attention weights
  // The token whose row of the embedding gets no gradient from lookups (a tied head's still counts); none in most
  // models.
  std::optional<int64_t> paddingToken;
  // For messages of who cannot build a part: the key that asks for it; empty when none does.
  std::string dropoutKey, activationKey, ropeKey;
  RoutingNumbers routing;
  // Keys that decide what given weights compute, by path ("rope_scaling.factor"), with the JSON text of the default:
  // "null" where the key must be given.
  std::map<std::string, std::string> keys;
  std::vector<std::string> notes; // for the user: which parts of the file the program will not have
};

/// The architectures that are read, as "LlamaForCausalLM", sorted.
llvm::ArrayRef<llvm::StringRef> modelArchitectures();

/// A key of a config.json that changes nothing that is trained in families that have no such part.
struct KeyWithoutEffect {
  llvm::StringRef key;
  std::vector<llvm::json::Value> values; // with one of these; empty: whatever it says
};
/// Sorted by key.
llvm::ArrayRef<KeyWithoutEffect> keysWithoutEffect();

/// The file of a model that is given by its config.json or by the folder that holds it.
std::string modelConfigPath(llvm::StringRef path);

/// Reads a config.json, or the one in a folder. Errors: `FILE: key "K": what is expected, what was found`; an unknown
/// architecture lists the known ones.
llvm::Expected<ModelConfig> readModelConfig(llvm::StringRef path);
/// The same for text in memory; `name` is what messages call it.
llvm::Expected<ModelConfig> parseModelConfig(llvm::StringRef name, llvm::StringRef text);

} // namespace mlir::ppc

#endif // PPC_MODEL_MODELCONFIG_H
