// What the readers of all families share. A family reads its own keys; every key that nobody read is refused.
#ifndef PPC_LIB_MODEL_CONFIGREADER_H
#define PPC_LIB_MODEL_CONFIGREADER_H

#include "ppc/Model/ModelConfig.h"
#include "ppc/Support/JsonReader.h"
#include "ppc/Support/Limits.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir::ppc {

class ConfigReader {
public:
  ConfigReader(JsonReader reader, llvm::StringRef file);
  llvm::Expected<ModelConfig> read();

  // Families, one for each entry of `families`; in ConfigFamilies.cpp.
  void readLlama();
  void readGpt2();
  void readGptNeoX();
  void readBloom();
  void readMistral();
  void readGemma();
  void readQwen2();
  void readQwen3();
  void readMixtral();
  void readQwen2Moe();
  void readQwen3Moe();
  void readDeepseekV3();
  void readSparseDeepseek();
  void readPhi3();
  void readSeedOss();

  /// What `read` gave, of a file of several parts, as a file of the text part alone.
  std::string textPartAlone(llvm::StringRef text) const;
  bool isNested() const { return outer.has_value(); }

private:
  // NestedConfig.cpp
  void openTextPart();
  void readOuterKeys();
  void requireOfTextPart(llvm::ArrayRef<llvm::StringRef> keys);
  /// First of all: a message about a key of another architecture would lead astray.
  void readArchitecture();
  void readCommonKeys();
  void refuseNulls();
  void refuseUnread();
  void rememberKeys();
  // KeysWithoutEffect.cpp: what nobody read and has no effect with its value counts as read; with another, it is
  // refused.
  void acceptKeysWithoutEffect();
  void acceptKeysWithoutEffect(JsonReader &object);
  void acceptRopeKeysWithoutEffect(JsonReader &rope);

  // Parts that several families share.
  /// What configuration classes of LLaMA's relatives have by default.
  struct LlamaDefaults {
    int64_t positions;
    int64_t kvHeads; // 0: as many as heads
    double epsilon = 1e-6, theta = 10000;
  };
  void readLlamaSizes(const LlamaDefaults &defaults);
  void readLlamaNumbers(const LlamaDefaults &defaults);
  void readGemmaActivation();
  /// Sizes and numbers.
  void readLlamaKeys(const LlamaDefaults &defaults);
  // SlidingWindow.cpp: sliding_window, and the keys that say in which layers it holds.
  void readWindowOfEveryLayer(std::optional<int64_t> window);
  void readQwenWindow();
  void readQwen2MoeWindow();
  std::optional<int64_t> readQwenWindowSize();
  /// sliding_window; null is no window.
  std::optional<int64_t> slidingWindow(std::optional<int64_t> fallback);
  bool readLayerTypes(std::optional<int64_t> window);
  // ExpertFamilies.cpp
  void readQwenExperts();
  void readDeepseek(const LlamaDefaults &defaults, int64_t groups, int64_t groupsPerToken);
  void readDeepseekExperts(int64_t groups, int64_t groupsPerToken);
  void readIndexLayers();
  void everyLayer(llvm::StringRef key, llvm::function_ref<llvm::SmallVector<llvm::StringRef>(int64_t)> words);
  void readLatentAttention();
  /// Experts of a token, which are at most what `expertsKey` says.
  void readTopK(llvm::StringRef expertsKey, int64_t fallback);
  // RopeKeys.cpp
  void readRopeKeys(double defaultTheta);
  void readNeoxRopeKeys();
  void readNestedRope();
  void readRope(JsonReader &rope);
  void readRopeScaling(llvm::StringRef key, llvm::StringRef kind, JsonReader &rope);
  void readYarn(JsonReader &rope);
  void readLongRope(llvm::StringRef key, llvm::StringRef kind, JsonReader &rope);
  void readActivation(llvm::StringRef key, llvm::StringRef fallback);
  void readHeads(llvm::StringRef headsKey, llvm::StringRef hiddenKey);
  /// Dropout behind attention and behind the feed-forward are one probability here.
  void readDropouts(llvm::StringRef attention, llvm::ArrayRef<llvm::StringRef> hidden, double fallback);
  void useLayerNorm(llvm::StringRef epsilonKey);
  void requireEvenHead(int64_t rotated);

  /// An integer from 1 (or `least`) to limits::modelSize (or `most`).
  int64_t size(llvm::StringRef key, std::optional<int64_t> fallback = std::nullopt, int64_t least = 1,
               int64_t most = limits::modelSize);
  double probability(llvm::StringRef key, double fallback);
  /// A probability; the first key with one above 0 is kept for the message of who cannot build it.
  double dropout(llvm::StringRef key, double fallback);
  /// pad_token_id, whose row of the embedding learns nothing from lookups.
  void readPaddingToken(std::optional<int64_t> fallback = std::nullopt);
  /// Keys for which null means something, or the same as their absence.
  void mayBeNull(llvm::ArrayRef<llvm::StringRef> keys);
  /// Whether the key is there, and null.
  bool isNull(llvm::StringRef key) const;

  JsonReader reader;
  std::optional<JsonReader> outer; // of a file of several parts: the whole file, `reader` being its text part
  std::string outerArchitecture;
  std::string alias; // the model_type of another name of the family, "yi"
  ModelConfig config;
  ModelShape &shape;
  void (ConfigReader::*readFamily)() = nullptr;
  std::vector<std::string> nullable;
};

/// A family of models: how config.json calls it, and who reads its keys.
struct ModelFamily {
  llvm::StringRef architecture; // "LlamaForCausalLM"
  llvm::StringRef modelType;    // "llama"
  void (ConfigReader::*read)();
};
llvm::ArrayRef<ModelFamily> modelFamilies();

/// Another name of a family: files of the same model by other classes, and text parts.
struct ModelAlias {
  llvm::StringRef architecture; // "YiForCausalLM"; empty: any that goes with the family
  llvm::StringRef modelType;    // "yi"
  llvm::StringRef family;       // "llama", whose model_type it stands for
};
llvm::ArrayRef<ModelAlias> modelAliases();

} // namespace mlir::ppc

#endif // PPC_LIB_MODEL_CONFIGREADER_H
