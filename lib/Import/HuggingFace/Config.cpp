// config.json of a LLaMA -> struct. Three tables say which keys are read, which must have the one supported value, and
// which say nothing about the computation; every other key is refused.
#include "ppc/Import/HuggingFace.h"
#include "ppc/Support/JsonReader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace mlir::ppc {

namespace {
constexpr const char *supportedArchitecture = "LlamaForCausalLM";

/// A key that changes what is computed, of which one value is supported (absent or null: that value).
struct FixedKey {
  llvm::StringRef key;
  llvm::json::Value value;
};

/// Keys that do not change training: bookkeeping, tokens, generation, export.
constexpr llvm::StringRef ignoredKeys[] = {"_attn_implementation",
                                           "_attn_implementation_autoset",
                                           "_commit_hash",
                                           "_name_or_path",
                                           "auto_map",
                                           "bad_words_ids",
                                           "begin_suppress_tokens",
                                           "bos_token_id",
                                           "chunk_size_feed_forward",
                                           "decoder_start_token_id",
                                           "diversity_penalty",
                                           "do_sample",
                                           "early_stopping",
                                           "encoder_no_repeat_ngram_size",
                                           "eos_token_id",
                                           "exponential_decay_length_penalty",
                                           "finetuning_task",
                                           "forced_bos_token_id",
                                           "forced_eos_token_id",
                                           "id2label",
                                           "label2id",
                                           "length_penalty",
                                           "max_length",
                                           "min_length",
                                           "name_or_path",
                                           "no_repeat_ngram_size",
                                           "num_beam_groups",
                                           "num_beams",
                                           "num_return_sequences",
                                           "output_attentions",
                                           "output_hidden_states",
                                           "output_scores",
                                           "pad_token_id",
                                           "prefix",
                                           "problem_type",
                                           "remove_invalid_values",
                                           "repetition_penalty",
                                           "return_dict",
                                           "return_dict_in_generate",
                                           "sep_token_id",
                                           "suppress_tokens",
                                           "task_specific_params",
                                           "temperature",
                                           "tf_legacy_loss",
                                           "tokenizer_class",
                                           "top_k",
                                           "top_p",
                                           "torchscript",
                                           "transformers_version",
                                           "typical_p",
                                           "use_bfloat16",
                                           "use_cache"};

class ConfigReader {
public:
  explicit ConfigReader(JsonReader reader) : reader(std::move(reader)) {}

  llvm::Expected<LlamaConfig> read(llvm::StringRef file) {
    config.file = file.str();
    readArchitecture();
    readSizes();
    readNumbers();
    readFixedKeys();
    reader.ignore(ignoredKeys);
    if (llvm::Error error = reader.takeError())
      return std::move(error);
    std::vector<std::string> unread = reader.unreadKeys();
    if (!unread.empty()) {
      reader.fail(unread.front(), llvm::Twine("is not supported for ") + supportedArchitecture +
                                      "; remove it if it does not change what the model computes");
      return reader.takeError();
    }
    return config;
  }

private:
  /// First of all: a message about a key of another architecture would lead astray.
  void readArchitecture() {
    if (!reader.has("architectures") && !reader.has("model_type"))
      reader.fail("architectures", llvm::Twine("missing; expected [\"") + supportedArchitecture + "\"]");
    std::vector<std::string> names = reader.strings("architectures");
    if (reader.has("architectures") && names != std::vector<std::string>{supportedArchitecture})
      reader.reject("architectures", llvm::Twine("the supported [\"") + supportedArchitecture + "\"]");
    if (reader.string("model_type", "llama") != "llama")
      reader.reject("model_type", "the supported \"llama\"");
  }

  int64_t size(llvm::StringRef key, std::optional<int64_t> fallback = std::nullopt) {
    constexpr int64_t largest = int64_t(1) << 31;
    int64_t value = reader.integer(key, 1, fallback);
    if (value > largest)
      reader.reject(key, "at most " + llvm::Twine(largest));
    return value;
  }

  void readSizes() {
    config.hidden = size("hidden_size");
    config.ffn = size("intermediate_size");
    config.layers = size("num_hidden_layers");
    config.heads = size("num_attention_heads");
    config.kvHeads = size("num_key_value_heads", config.heads);
    config.vocab = size("vocab_size");
    config.maxPositions = size("max_position_embeddings", 2048);
    if (config.heads % config.kvHeads)
      reader.fail("num_key_value_heads",
                  llvm::Twine(config.kvHeads) + " does not divide num_attention_heads " + llvm::Twine(config.heads));
    if (!reader.has("head_dim") && config.hidden % config.heads)
      reader.fail("hidden_size", llvm::Twine(config.hidden) + " is not divisible by num_attention_heads " +
                                     llvm::Twine(config.heads) + "; say head_dim");
    config.headDim = size("head_dim", std::max<int64_t>(1, config.hidden / config.heads));
    if (config.headDim % 2)
      reader.fail(reader.has("head_dim") ? "head_dim" : "hidden_size",
                  "head dimension " + llvm::Twine(config.headDim) + " is odd; rotary positions need pairs");
    // In doubles: the product may not fit 64 bits.
    double parameters =
        double(config.layers) * config.hidden * (3.0 * config.ffn + 4.0 * config.heads * config.headDim) +
        2.0 * config.vocab * config.hidden;
    if (parameters > 0x1p60)
      reader.fail("num_hidden_layers", "the model would have more than 2^60 parameters");
  }

  void readNumbers() {
    config.normEpsilon = reader.positive("rms_norm_eps", 1e-6);
    config.initializerRange = reader.number("initializer_range", 0.02);
    if (config.initializerRange < 0)
      reader.reject("initializer_range", "a number >= 0");
    config.tiedEmbeddings = reader.boolean("tie_word_embeddings", false);
    config.ropeTheta = reader.positive("rope_theta", 10000.0);
    // rope_parameters is the newer spelling; it holds rope_theta too.
    if (reader.has("rope_scaling") && reader.has("rope_parameters"))
      reader.fail("rope_parameters", "is the newer spelling of rope_scaling; give one of the two");
    for (llvm::StringRef key : {"rope_scaling", "rope_parameters"})
      if (std::optional<JsonReader> rope = reader.object(key))
        readRope(*rope);
  }

  void readRope(JsonReader &rope) {
    if (rope.has("rope_type") && rope.has("type") && rope.string("rope_type") != rope.string("type"))
      rope.reject("type", "the value of rope_type, \"" + rope.string("rope_type") + "\"");
    llvm::StringRef key = rope.has("rope_type") ? "rope_type" : "type";
    std::string kind = rope.string(key, "default");
    bool hasTheta = reader.has("rope_theta") && rope.has("rope_theta");
    double theta = rope.positive("rope_theta", config.ropeTheta);
    if (hasTheta && theta != config.ropeTheta)
      rope.reject("rope_theta", "what the outer rope_theta says");
    config.ropeTheta = theta;
    RopeScaling &scaling = config.ropeScaling;
    if (kind == "default")
      return;
    if (kind != "linear" && kind != "llama3")
      return rope.reject(key, "one of the supported \"default\", \"linear\", \"llama3\"");
    scaling.factor = rope.number("factor");
    if (scaling.factor < 1)
      rope.reject("factor", "a number >= 1");
    scaling.kind = kind == "linear" ? RopeScaling::Kind::Linear : RopeScaling::Kind::Llama3;
    if (kind == "linear")
      return;
    scaling.lowFrequencyFactor = rope.positive("low_freq_factor");
    scaling.highFrequencyFactor = rope.positive("high_freq_factor");
    scaling.originalMaxPositions = rope.integer("original_max_position_embeddings", 1);
    if (scaling.highFrequencyFactor <= scaling.lowFrequencyFactor)
      rope.reject("high_freq_factor", "more than low_freq_factor");
  }

  void readFixedKeys() {
    const FixedKey fixedKeys[] = {{"hidden_act", "silu"},
                                  {"attention_bias", false},
                                  {"mlp_bias", false},
                                  {"attention_dropout", 0},
                                  {"pretraining_tp", 1},
                                  {"tie_encoder_decoder", false},
                                  {"is_encoder_decoder", false},
                                  {"is_decoder", false},
                                  {"add_cross_attention", false},
                                  {"cross_attention_hidden_size", nullptr},
                                  {"pruned_heads", llvm::json::Object{}}};
    for (const FixedKey &fixed : fixedKeys)
      reader.only(fixed.key, fixed.value);
    // How the weights are stored, not how they are trained.
    for (llvm::StringRef key : {"torch_dtype", "dtype"})
      if (std::string type = reader.string(key, "float32");
          !llvm::is_contained({"float32", "bfloat16", "float16"}, type))
        reader.reject(key, "one of \"float32\", \"bfloat16\", \"float16\"");
  }

  JsonReader reader;
  LlamaConfig config;
};
} // namespace

bool isHuggingFaceModel(llvm::StringRef path) {
  return llvm::sys::fs::is_directory(path) || llvm::sys::path::extension(path) == ".json";
}

llvm::Expected<LlamaConfig> readLlamaConfig(llvm::StringRef path) {
  llvm::SmallString<128> file(path);
  if (llvm::sys::fs::is_directory(path))
    llvm::sys::path::append(file, "config.json");
  llvm::Expected<JsonReader> reader = JsonReader::fromFile(file);
  if (!reader)
    return reader.takeError();
  return ConfigReader(std::move(*reader)).read(file);
}

llvm::Expected<LlamaConfig> parseLlamaConfig(llvm::StringRef name, llvm::StringRef text) {
  llvm::Expected<JsonReader> reader = JsonReader::fromText(name, text);
  if (!reader)
    return reader.takeError();
  return ConfigReader(std::move(*reader)).read(name);
}

int64_t parameterCount(const LlamaConfig &config) {
  int64_t attention = config.hidden * config.headDim * 2 * (config.heads + config.kvHeads);
  int64_t layer = attention + 3 * config.hidden * config.ffn + 2 * config.hidden;
  int64_t embeddings = (config.tiedEmbeddings ? 1 : 2) * config.vocab * config.hidden;
  return config.layers * layer + embeddings + config.hidden;
}

double flopsPerToken(const LlamaConfig &config, int64_t sequenceLength) {
  return 6.0 * parameterCount(config) + 12.0 * config.layers * config.heads * config.headDim * sequenceLength;
}

} // namespace mlir::ppc
