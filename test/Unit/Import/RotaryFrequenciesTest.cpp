// Frequencies of rotary positions against transformers.
#include "ppc/Import/HuggingFace.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mlir::ppc;

/// A small LLaMA with `changes` spliced in.
static ModelConfig read(llvm::StringRef changes) {
  std::string text = R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 160, "num_hidden_layers": 2,
    "num_attention_heads": 8, "vocab_size": 256, )";
  return llvm::cantFail(parseModelConfig("config.json", text + changes.str() + "}"));
}

TEST(RotaryFrequencies, Plain) {
  std::vector<double> frequencies = rotaryFrequencies(read(R"("rope_theta": 10000)")); // head_dim 8
  ASSERT_EQ(frequencies.size(), 4u);
  for (size_t i = 0; i < 4; ++i)
    EXPECT_FLOAT_EQ(frequencies[i], std::pow(10.0, -double(i)));
}

TEST(RotaryFrequencies, Linear) {
  std::vector<double> frequencies = rotaryFrequencies(read(R"("rope_scaling": {"type": "linear", "factor": 4})"));
  ASSERT_EQ(frequencies.size(), 4u);
  EXPECT_FLOAT_EQ(frequencies[0], 0.25);
  EXPECT_FLOAT_EQ(frequencies[1], 0.025);
}

TEST(RotaryFrequencies, Llama3) {
  std::vector<double> frequencies = rotaryFrequencies(read(R"("head_dim": 16, "rope_theta": 100.0, "rope_scaling":
    {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
     "original_max_position_embeddings": 64})"));
  // From transformers 5.23, ROPE_INIT_FUNCTIONS["llama3"].
  const double expected[] = {1.0,
                             0.5623413324356079,
                             0.24438458681106567,
                             0.06430987268686295,
                             0.013042256236076355,
                             0.007029266096651554,
                             0.0039528473280370235,
                             0.002222849288955331};
  ASSERT_EQ(frequencies.size(), 8u);
  for (size_t i = 0; i < 8; ++i)
    EXPECT_FLOAT_EQ(frequencies[i], expected[i]) << i;
}
