// What the readers of all families share. A family reads its own keys; every key that nobody read is refused.
#ifndef PPC_LIB_MODEL_CONFIGREADER_H
#define PPC_LIB_MODEL_CONFIGREADER_H

#include "ppc/Model/ModelConfig.h"
#include "ppc/Support/JsonReader.h"

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

private:
  /// First of all: a message about a key of another architecture would lead astray.
  void readArchitecture();
  void readCommonKeys();

  // Parts that several families share.
  void readLlamaSizes(int64_t defaultPositions);
  void readLlamaNumbers();
  void readSlidingWindow(bool optional);
  void readQwenExperts();
  void readRopeKeys();
  void readRope(JsonReader &rope);
  void readYarn(JsonReader &rope);
  void readActivation(llvm::StringRef key, llvm::StringRef fallback);
  void readHeads(llvm::StringRef headsKey, llvm::StringRef hiddenKey);
  /// Dropout behind attention and behind the feed-forward are one probability here.
  void readDropouts(llvm::StringRef attention, llvm::ArrayRef<llvm::StringRef> hidden, double fallback);
  void useLayerNorm(llvm::StringRef epsilonKey);
  void requireEvenHead(int64_t rotated);

  /// An integer from 1 (or `least`) to 2^31.
  int64_t size(llvm::StringRef key, std::optional<int64_t> fallback = std::nullopt, int64_t least = 1);
  double probability(llvm::StringRef key, double fallback);

  JsonReader reader;
  ModelConfig config;
  ModelShape &shape;
  void (ConfigReader::*readFamily)() = nullptr;
};

/// A family of models: how config.json calls it, and who reads its keys.
struct ModelFamily {
  llvm::StringRef architecture; // "LlamaForCausalLM"
  llvm::StringRef modelType;    // "llama"
  void (ConfigReader::*read)();
};
llvm::ArrayRef<ModelFamily> modelFamilies();

} // namespace mlir::ppc

#endif // PPC_LIB_MODEL_CONFIGREADER_H
