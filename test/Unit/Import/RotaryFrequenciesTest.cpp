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
  std::vector<double> frequencies = rotaryFrequencies(read(R"("rope_theta": 10000)"), 16); // head_dim 8
  ASSERT_EQ(frequencies.size(), 4u);
  for (size_t i = 0; i < 4; ++i)
    EXPECT_FLOAT_EQ(frequencies[i], std::pow(10.0, -double(i)));
}

TEST(RotaryFrequencies, Linear) {
  std::vector<double> frequencies = rotaryFrequencies(read(R"("rope_scaling": {"type": "linear", "factor": 4})"), 16);
  ASSERT_EQ(frequencies.size(), 4u);
  EXPECT_FLOAT_EQ(frequencies[0], 0.25);
  EXPECT_FLOAT_EQ(frequencies[1], 0.025);
}

TEST(RotaryFrequencies, Llama3) {
  std::vector<double> frequencies = rotaryFrequencies(read(R"("head_dim": 16, "rope_theta": 100.0, "rope_scaling":
    {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
     "original_max_position_embeddings": 64})"),
                                                      16);
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

TEST(RotaryFrequencies, EqualFactorsOfLlama3AreAStep) {
  std::vector<double> frequencies = rotaryFrequencies(read(R"("head_dim": 16, "rope_theta": 100.0, "rope_scaling":
    {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 1.0,
     "original_max_position_embeddings": 64})"),
                                                      16);
  // From LlamaRotaryEmbedding of transformers 5.23.
  const double expected[] = {1.0,
                             0.5623413324356079,
                             0.3162277638912201,
                             0.17782793939113617,
                             0.10000000149011612,
                             0.007029266096651554,
                             0.0039528473280370235,
                             0.002222849288955331};
  ASSERT_EQ(frequencies.size(), 8u);
  for (size_t i = 0; i < 8; ++i)
    EXPECT_FLOAT_EQ(frequencies[i], expected[i]) << i;
}

/// A small Phi-3 for 128 positions, trained on 32 of them.
static std::string longRope(llvm::StringRef outer, llvm::StringRef inner) {
  return (R"({"model_type": "phi3", "hidden_size": 64, "intermediate_size": 160, "num_hidden_layers": 2,
    "num_attention_heads": 8, "vocab_size": 256, "pad_token_id": 0, "max_position_embeddings": 128, )" +
          outer + R"("rope_scaling": {)" + inner + "}}")
      .str();
}

static const char
    *lengthKey = R"("original_max_position_embeddings": 32, )",
    *longKeys = R"("type": "longrope", "short_factor": [1.0, 1.25, 1.5, 2.0], "long_factor": [1.5, 3.0, 6.0, 12.0])";

TEST(RotaryFrequencies, LongRopeGoesByTheLength) {
  ModelConfig config = llvm::cantFail(parseModelConfig("config.json", longRope(lengthKey, longKeys)));
  // From Phi3RotaryEmbedding of transformers 5.23.
  const double shorter[] = {1.0, 0.07999999821186066, 0.006666666828095913, 0.0005000000237487257},
               longer[] = {0.6666666865348816, 0.03333333507180214, 0.0016666667070239782, 8.333333244081587e-05};
  for (int64_t length : {1, 32, 33, 128}) {
    std::vector<double> frequencies = rotaryFrequencies(config, length);
    ASSERT_EQ(frequencies.size(), 4u);
    for (size_t i = 0; i < 4; ++i)
      EXPECT_FLOAT_EQ(frequencies[i], (length > 32 ? longer : shorter)[i]) << length << ", " << i;
  }
  EXPECT_FLOAT_EQ(rotaryTableFactor(config), 1.1832159566199232);
  EXPECT_FLOAT_EQ(rotaryScoreFactor(config), 1.4);
  auto factorOf = [](llvm::StringRef outer, llvm::StringRef inner) {
    return rotaryTableFactor(
        llvm::cantFail(parseModelConfig("config.json", longRope(outer, (longKeys + inner).str()))));
  };
  EXPECT_EQ(factorOf(lengthKey, R"(, "attention_factor": 1.25)"), 1.25);
  EXPECT_FLOAT_EQ(factorOf(lengthKey, R"(, "factor": 4.0, "original_max_position_embeddings": 32)"),
                  1.1832159566199232);
  EXPECT_EQ(factorOf("", ""), 1) << "the class's length is 4096";
  EXPECT_TRUE(config.keys.count("max_position_embeddings")) << "which the factor depends on";
}

TEST(RotaryFrequencies, LongRopeThatVersionsReadDifferentlyIsRefused) {
  auto messageOf = [](llvm::StringRef inner) {
    llvm::Expected<ModelConfig> config = parseModelConfig("config.json", longRope(lengthKey, inner));
    return config ? "" : llvm::toString(config.takeError());
  };
  EXPECT_EQ(messageOf((longKeys + llvm::Twine(R"(, "original_max_position_embeddings": 64)")).str()),
            "config.json: key \"rope_scaling.original_max_position_embeddings\": expected what the outer key says, 32, "
            "which counts, found 64");
  EXPECT_EQ(messageOf((longKeys + llvm::Twine(R"(, "factor": 2)")).str()),
            "config.json: key \"rope_scaling.factor\": expected max_position_embeddings / "
            "original_max_position_embeddings, 4.00; it may be left out, found 2");
  EXPECT_EQ(messageOf(R"("type": "su", "short_factor": [1, 2, 3, 4], "long_factor": [1, 2, 3])"),
            "config.json: key \"rope_scaling.long_factor\": expected a list of 4 numbers > 0, one for each pair of a "
            "head, found [1,2,3]");
  EXPECT_EQ(messageOf(R"("type": "yarn", "factor": 4.0)"),
            "config.json: key \"rope_scaling.short_factor\": expected a list of 4 numbers > 0, one for each pair of a "
            "head, found nothing");
  EXPECT_EQ(messageOf(R"("type": "longrope", "short_factor": ["a"], "long_factor": [1])"),
            "config.json: key \"rope_scaling.short_factor\": expected a list of numbers, found [\"a\"]");
  EXPECT_EQ(messageOf(R"("type": "linear", "factor": 4.0)"),
            "config.json: key \"rope_scaling.type\": expected one of the supported \"default\", \"longrope\", found "
            "\"linear\"");
}
