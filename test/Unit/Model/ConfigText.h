// Small configurations as text, and what reading them says.
#ifndef PPC_TEST_UNIT_MODEL_CONFIGTEXT_H
#define PPC_TEST_UNIT_MODEL_CONFIGTEXT_H

#include "ppc/Model/ModelConfig.h"

#include "llvm/ADT/Twine.h"

namespace mlir::ppc::test {

/// The error of a config.json; empty when it is read.
inline std::string messageOf(llvm::StringRef text) {
  llvm::Expected<ModelConfig> config = parseModelConfig("config.json", text);
  return config ? "" : llvm::toString(config.takeError());
}

/// `text` with the keys of a small Llama in place of "$".
inline std::string withSizes(llvm::StringRef text) {
  auto [before, after] = text.split('$');
  return (before + R"("hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4,
    "num_key_value_heads": 4, "vocab_size": 32, "max_position_embeddings": 64, "rope_theta": 100.0)" +
          after)
      .str();
}

} // namespace mlir::ppc::test

#endif // PPC_TEST_UNIT_MODEL_CONFIGTEXT_H
