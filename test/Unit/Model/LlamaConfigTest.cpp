// What is read from the config.json of a LLaMA, and what is refused, by message.
#include "ppc/Model/ModelConfig.h"

#include <gtest/gtest.h>

using namespace mlir::ppc;

/// A small valid config with `changes` in place of the keys that they give.
static std::string configWith(llvm::StringRef changes) {
  std::string text = "{" + changes.str();
  for (llvm::StringRef member : {R"("architectures": ["LlamaForCausalLM"])", R"("model_type": "llama")",
                                 R"("hidden_size": 64)", R"("intermediate_size": 160)", R"("num_hidden_layers": 2)",
                                 R"("num_attention_heads": 8)", R"("vocab_size": 256)"})
    if (!changes.contains(member.split(':').first))
      text += (text.size() > 1 ? ", " : "") + member.str();
  return text + "}";
}

static ModelConfig read(llvm::StringRef changes) {
  return llvm::cantFail(parseModelConfig("config.json", configWith(changes)));
}

static std::string messageOfLlama(llvm::StringRef changes) {
  llvm::Expected<ModelConfig> config = parseModelConfig("config.json", configWith(changes));
  return config ? "" : llvm::toString(config.takeError());
}

TEST(LlamaConfig, Defaults) {
  ModelConfig config = read("");
  EXPECT_EQ(config.shape.kvHeads, 8);
  EXPECT_EQ(config.shape.headDim, 8);
  EXPECT_EQ(config.shape.maxPositions, 2048);
  EXPECT_EQ(config.normEpsilon, 1e-6);
  EXPECT_EQ(config.ropeTheta, 10000);
  EXPECT_EQ(config.initializerRange, 0.02);
  EXPECT_FALSE(config.shape.tiedEmbeddings);
}

TEST(LlamaConfig, ReadsEveryKey) {
  ModelConfig config = read(R"("num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 512,
    "rms_norm_eps": 1e-5, "rope_theta": 500000.0, "initializer_range": 0.1, "tie_word_embeddings": true,
    "hidden_act": "silu", "attention_bias": false, "mlp_bias": false, "attention_dropout": 0.0, "pretraining_tp": 1,
    "torch_dtype": "bfloat16", "bos_token_id": 1, "eos_token_id": [1, 2], "use_cache": true,
    "transformers_version": "4.44.0", "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
    "high_freq_factor": 4.0, "original_max_position_embeddings": 64})");
  EXPECT_EQ(config.shape.kvHeads, 2);
  EXPECT_EQ(config.shape.headDim, 16);
  EXPECT_EQ(config.shape.maxPositions, 512);
  EXPECT_EQ(config.ropeTheta, 500000);
  EXPECT_TRUE(config.shape.tiedEmbeddings);
  EXPECT_EQ(config.ropeScaling.kind, RopeScaling::Kind::Llama3);
  EXPECT_EQ(config.ropeScaling.originalMaxPositions, 64);
}

TEST(LlamaConfig, BothSpellingsOfRope) {
  EXPECT_EQ(read(R"("rope_scaling": null)").ropeScaling.kind, RopeScaling::Kind::None);
  EXPECT_EQ(read(R"("rope_scaling": {"rope_type": "default"})").ropeScaling.kind, RopeScaling::Kind::None);
  EXPECT_EQ(read(R"("rope_scaling": {"type": "linear", "factor": 2.0})").ropeScaling.factor, 2);
  ModelConfig config = read(R"("rope_parameters": {"rope_type": "linear", "factor": 4, "rope_theta": 500.0})");
  EXPECT_EQ(config.ropeTheta, 500);
  EXPECT_EQ(config.ropeScaling.factor, 4);
}

TEST(LlamaConfig, RefusesByFileKeyAndValue) {
  const std::pair<const char *, const char *> cases[] = {
      {R"("num_attention_heads": "8")", R"(key "num_attention_heads": expected an integer >= 1, found "8")"},
      {R"("hidden_size": 0)", R"(key "hidden_size": expected an integer >= 1, found 0)"},
      {R"("vocab_size": 1e12)", R"(key "vocab_size": expected at most 2147483648, found 1000000000000)"},
      {R"("num_hidden_layers": 4096, "hidden_size": 2147483648)",
       R"(key "num_hidden_layers": the model would have more than 2^60 parameters)"},
      {R"("num_hidden_layers": 1000000)", R"(key "num_hidden_layers": expected at most 4096, found 1000000)"},
      {R"("num_key_value_heads": 3)", R"(key "num_key_value_heads": 3 does not divide num_attention_heads 8)"},
      {R"("hidden_size": 65)", R"(key "hidden_size": 65 is not divisible by num_attention_heads 8; say head_dim)"},
      {R"("head_dim": 7)", R"(key "head_dim": head dimension 7 is odd; rotary positions need pairs)"},
      {R"("hidden_size": 72)", R"(key "hidden_size": head dimension 9 is odd; rotary positions need pairs)"},
      {R"("rms_norm_eps": 0)", R"(key "rms_norm_eps": expected a number > 0, found 0)"},
      {R"("initializer_range": -0.1)", R"(key "initializer_range": expected a number >= 0, found -0.1)"},
      {R"("architectures": ["MixtralForCausalLM"])",
       R"(key "model_type": expected "mixtral", which goes with MixtralForCausalLM, found "llama")"},
      {R"("model_type": "gemma")",
       R"(key "model_type": expected "llama", which goes with LlamaForCausalLM, found "gemma")"},
      {R"("hidden_act": "tanh")",
       R"(key "hidden_act": expected one of the supported "silu", "gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "relu", "relu2", found "tanh")"},
      {R"("attention_bias": 1)", R"(key "attention_bias": expected true or false, found 1)"},
      {R"("attention_dropout": -0.1)", R"(key "attention_dropout": expected a probability below 1, found -0.1)"},
      {R"("torch_dtype": "int8")",
       R"(key "torch_dtype": expected one of "float32", "bfloat16", "float16", found "int8")"},
      {R"("use_mrope": true)",
       R"(key "use_mrope": expected false, which changes nothing: other values are not supported for LlamaForCausalLM, found true)"},
      {R"("tie_word_embedding": true, "is_decoder": true, "rope_scaling": {"factor": null}, "no_rope_layers": [1, 0])",
       R"(key "rope_scaling.factor": null says nothing; remove it for its default; key "is_decoder": expected the only supported value false, found true; key "no_rope_layers": expected null, which changes nothing: other values are not supported for LlamaForCausalLM, found [1,0]; key "tie_word_embedding": is not supported for LlamaForCausalLM; remove it if it does not change what the model computes; did you mean "tie_word_embeddings"?)"},
      {R"("rope_scaling": {"rope_type": "dynamic", "factor": 2.0})",
       R"(key "rope_scaling.rope_type": expected one of the supported "default", "linear", "llama3", "yarn", found "dynamic")"},
      {R"("rope_scaling": {"rope_type": "yarn", "factor": 2.0})",
       R"(key "rope_scaling.original_max_position_embeddings": missing; expected an integer >= 1)"},
      {R"("rope_scaling": {"rope_type": "linear"})", R"(key "rope_scaling.factor": missing; expected a number)"},
      {R"("rope_scaling": {"rope_type": "linear", "factor": 0.5})",
       R"(key "rope_scaling.factor": expected a number >= 1, found 0.5)"},
      {R"("rope_scaling": {"rope_type": "linear", "factor": 2, "beta_fast": 32})",
       R"(key "rope_scaling.beta_fast": is not supported for LlamaForCausalLM; remove it if it does not change what the model computes)"},
      {R"("rope_scaling": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 4, "high_freq_factor": 2, "original_max_position_embeddings": 64})",
       R"(key "rope_scaling.high_freq_factor": expected at least low_freq_factor, found 2)"},
      {R"("rope_scaling": {"rope_type": "linear", "type": "llama3", "factor": 2})",
       R"(key "rope_scaling.type": expected the value of rope_type, "linear", found "llama3")"},
      {R"("rope_scaling": {"type": "linear", "factor": 2}, "rope_parameters": {"rope_type": "default"})",
       R"(key "rope_parameters": is the newer spelling of rope_scaling; give one of the two)"},
      {R"("rope_theta": 100, "rope_parameters": {"rope_theta": 200})",
       R"(key "rope_parameters.rope_theta": expected what the outer rope_theta says, found 200)"},
  };
  for (auto [changes, message] : cases)
    EXPECT_EQ(messageOfLlama(changes), std::string("config.json: ") + message) << changes;
}

TEST(LlamaConfig, RefusesOtherFiles) {
  auto message = [](llvm::StringRef text) { return llvm::toString(parseModelConfig("config.json", text).takeError()); };
  EXPECT_EQ(message(R"({"model_type": "llama"})"),
            R"(config.json: key "hidden_size": missing; expected an integer >= 1)");
  EXPECT_EQ(message(R"({"model_type": "llama",)"), "config.json:1:23: not JSON: Expected object key");
  EXPECT_EQ(llvm::toString(readModelConfig("/").takeError()), "/config.json: No such file or directory");
}
