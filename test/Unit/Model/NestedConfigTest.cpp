// Files of models of several parts: the text part alone is read, and what it lacks or says twice is refused by key.
#include "ConfigText.h"

#include <gtest/gtest.h>

using namespace mlir::ppc;
using namespace mlir::ppc::test;

TEST(NestedConfig, TextPartsAreReadAlone) {
  llvm::StringRef text = R"({"architectures": ["Qwen3VLForConditionalGeneration"], "model_type": "qwen3_vl",
    "tie_word_embeddings": true, "image_token_id": 7, "vision_config": {"depth": 2, "hidden_size": 5},
    "text_config": {"model_type": "qwen3_vl_text", $}})";
  ModelConfig config = llvm::cantFail(parseModelConfig("config.json", withSizes(text)));
  EXPECT_EQ(config.architecture, "Qwen3ForCausalLM");
  EXPECT_TRUE(config.shape.tiedEmbeddings);
  ASSERT_EQ(config.notes.size(), 1u);
  EXPECT_EQ(config.notes[0], "the text part alone is read, \"text_config\", as a Qwen3ForCausalLM; left out are "
                             "\"image_token_id\", \"vision_config\"");
  EXPECT_TRUE(config.keys.count("rms_norm_eps"));
  // The configuration written next to weights is that of the text part, and reads as the same model.
  ModelConfig alone = llvm::cantFail(parseModelConfig("config.json", config.text));
  EXPECT_TRUE(alone.notes.empty());
  EXPECT_EQ(alone.shape.layers, 3);
  EXPECT_TRUE(alone.shape.tiedEmbeddings);
}

TEST(NestedConfig, WhatTextPartsLackIsNamed) {
  EXPECT_EQ(messageOf(R"({"architectures": ["LlavaForConditionalGeneration"], "vision_config": {}})"),
            "config.json: key \"text_config\": missing; LlavaForConditionalGeneration has its text part there, which "
            "alone is read");
  EXPECT_EQ(messageOf(R"({"architectures": ["XForConditionalGeneration"], "text_config": {"model_type": "bart"}})")
                .substr(0, 58),
            "config.json: key \"text_config.model_type\": expected that o");
  EXPECT_EQ(
      messageOf(R"({"architectures": ["LlamaForCausalLM"], "text_config": {"model_type": "qwen3"}})"),
      "config.json: key \"text_config\": a LlamaForCausalLM has no parts: name the architecture of the whole model, "
      "or give the text part as a file of its own");
  std::string both = messageOf(withSizes(R"({"architectures": ["Qwen3VLForConditionalGeneration"], "depth": 3,
    "text_config": {"model_type": "qwen3_vl_text", "tie_word_embeddings": true, "hiden_act": "silu", $}})"));
  EXPECT_NE(both.find("key \"text_config.tie_word_embeddings\": true here and false beside text_config"),
            std::string::npos)
      << both;
  EXPECT_NE(both.find("key \"depth\": is not supported"), std::string::npos) << both;
  EXPECT_NE(both.find("key \"text_config.hiden_act\": is not supported"), std::string::npos) << both;
  EXPECT_NE(both.find("did you mean \"hidden_act\"?"), std::string::npos) << both;
}

TEST(NestedConfig, TextPartsThatAreNoneAreRefused) {
  for (llvm::StringRef text : {R"({"architectures": ["XForConditionalGeneration"], "text_config": null})",
                               R"({"architectures": ["XForConditionalGeneration"]})"})
    EXPECT_EQ(messageOf(text), "config.json: key \"text_config\": missing; XForConditionalGeneration has its text part "
                               "there, which alone is read");
  EXPECT_EQ(messageOf(R"({"architectures": ["XForConditionalGeneration"], "text_config": [1]})"),
            "config.json: key \"text_config\": expected an object, found [1]");
  EXPECT_EQ(messageOf(R"({"architectures": ["XForConditionalGeneration"], "text_config": {}})").substr(0, 66),
            "config.json: key \"text_config.architectures\": missing; expected a ");
  EXPECT_EQ(messageOf(withSizes(R"({"model_type": "llama", "text_config": null, $})")),
            "config.json: key \"text_config\": is not supported for LlamaForCausalLM; remove it if it does not change "
            "what the model computes");
  EXPECT_EQ(
      messageOf(withSizes(R"({"text_config": {"model_type": "llama", "text_config": {"model_type": "llama"}, $}})")),
      "config.json: key \"text_config.text_config\": is not supported for LlamaForCausalLM; remove it if it does "
      "not change what the model computes");
}

/// The classes of text parts have defaults of their own, so each key that the family's files may leave out is asked
/// for.
TEST(NestedConfig, KeysWithOtherDefaultsAreAskedFor) {
  std::string dense = messageOf(R"({"architectures": ["Qwen3VLForConditionalGeneration"], "text_config": {
    "model_type": "qwen3_vl_text", "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1,
    "num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 32}})");
  for (const char *key : {"max_position_embeddings", "rope_theta"})
    EXPECT_NE(dense.find((llvm::Twine("key \"text_config.") + key +
                          "\": missing; the text part of a Qwen3VLForConditionalGeneration has another default than "
                          "Qwen3ForCausalLM: say the value")
                             .str()),
              std::string::npos)
        << key << ": " << dense;
  std::string experts = messageOf(R"({"architectures": ["Qwen3VLMoeForConditionalGeneration"], "text_config": {
    "model_type": "qwen3_vl_moe_text", "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1,
    "num_attention_heads": 4, "vocab_size": 32, "moe_intermediate_size": 8, "norm_topk_prob": false,
    "use_sliding_window": true}})");
  for (const char *key :
       {"max_position_embeddings", "num_key_value_heads", "num_experts", "num_experts_per_tok", "rope_theta"})
    EXPECT_NE(experts.find((llvm::Twine("key \"text_config.") + key + "\": missing; the text part").str()),
              std::string::npos)
        << key << ": " << experts;
  for (const char *text :
       {"key \"text_config.norm_topk_prob\": expected the only supported value true, found false",
        "key \"text_config.use_sliding_window\": expected the only supported value false, found true"})
    EXPECT_NE(experts.find(text), std::string::npos) << experts;
}

TEST(NestedConfig, TheHeadIsSaidOnce) {
  auto textOf = [](llvm::StringRef outer, llvm::StringRef inner) {
    return withSizes((R"({"architectures": ["KimiK25ForConditionalGeneration"], )" + outer +
                      R"("text_config": {"model_type": "llama", )" + inner + "$}}")
                         .str());
  };
  const char *yes = R"("tie_word_embeddings": true, )", *no = R"("tie_word_embeddings": false, )";
  for (auto [outer, inner, tied] : {std::tuple("", "", false), {no, no, false}, {yes, "", true}, {yes, yes, true}}) {
    ModelConfig config = llvm::cantFail(parseModelConfig("config.json", textOf(outer, inner)));
    EXPECT_EQ(config.shape.tiedEmbeddings, tied);
    EXPECT_EQ(llvm::cantFail(parseModelConfig("config.json", config.text)).shape.tiedEmbeddings, tied);
  }
  EXPECT_EQ(messageOf(textOf("", yes)), "config.json: key \"text_config.tie_word_embeddings\": true here and false "
                                        "beside text_config, which counts: say the same");
  EXPECT_EQ(messageOf(textOf(yes, no)), "config.json: key \"text_config.tie_word_embeddings\": false here and true "
                                        "beside text_config, which counts: say the same");
}

/// Version 5 of the reference writes the default of the text part's class, and names experts as it calls them now.
TEST(NestedConfig, FilesOfNewerVersions) {
  llvm::StringRef text = R"({"architectures": ["Qwen3VLMoeForConditionalGeneration"], "transformers_version": "5.23.0",
    "tie_word_embeddings": false, "text_config": {"model_type": "qwen3_vl_moe_text", "tie_word_embeddings": true,
    "num_local_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 8, $}})";
  ModelConfig config = llvm::cantFail(parseModelConfig("config.json", withSizes(text)));
  EXPECT_FALSE(config.shape.tiedEmbeddings);
  EXPECT_EQ(config.shape.moe.experts, 4);
  EXPECT_FALSE(llvm::cantFail(parseModelConfig("config.json", config.text)).shape.tiedEmbeddings);
  std::string older = withSizes(text);
  older.replace(older.find("5.23.0"), 6, "4.57.6");
  EXPECT_NE(messageOf(older).find("which counts: say the same"), std::string::npos) << messageOf(older);
  older.replace(older.find("\"4.57.6\""), 8, "5");
  EXPECT_NE(messageOf(older).find("key \"transformers_version\": expected a string, found 5"), std::string::npos)
      << messageOf(older);
}

TEST(NestedConfig, ASizeOutsideOfTheTextPartIsRefused) {
  std::string message = messageOf(withSizes(R"({"architectures": ["XForConditionalGeneration"], "hidden_size": 16,
    "media_placeholder_token_id": 3, "mm_hidden_size": 4, "projection_layer_norm_eps": 1e-5, "audio_config": {"anything": [1]}, "dtype": "bfloat16",
    "text_config": {"model_type": "llama", $}})"));
  EXPECT_EQ(message,
            "config.json: key \"hidden_size\": is not supported for LlamaForCausalLM; remove it if it does not "
            "change what the model computes");
}
