// config.json -> struct. Tables say which keys are read, which must have the one supported value, and which say nothing
// about the computation; every other key is refused.
#include "ConfigReader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

namespace mlir::ppc {

/// Keys that do not change training: bookkeeping, tokens, generation, export.
static constexpr llvm::StringRef ignoredKeys[] = {"_attn_implementation",
                                                  "_attn_implementation_autoset",
                                                  "_commit_hash",
                                                  "_name_or_path",
                                                  "_num_labels",
                                                  "auto_map",
                                                  "bad_words_ids",
                                                  "begin_suppress_tokens",
                                                  "bos_token_id",
                                                  "chunk_size_feed_forward",
                                                  "classifier_dropout",
                                                  "cls_token_id",
                                                  "decoder_start_token_id",
                                                  "diversity_penalty",
                                                  "do_sample",
                                                  "early_stopping",
                                                  "encoder_no_repeat_ngram_size",
                                                  "eos_token_id",
                                                  "ep_size",
                                                  "exponential_decay_length_penalty",
                                                  "finetuning_task",
                                                  "forced_bos_token_id",
                                                  "forced_eos_token_id",
                                                  "gradient_checkpointing",
                                                  "id2label",
                                                  "is_composition",
                                                  "label2id",
                                                  "length_penalty",
                                                  "mask_token_id",
                                                  "max_length",
                                                  "min_length",
                                                  "model_max_length",
                                                  "name_or_path",
                                                  "no_repeat_ngram_size",
                                                  "num_beam_groups",
                                                  "num_beams",
                                                  "num_labels",
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
                                                  "seq_length",
                                                  "summary_activation",
                                                  "summary_first_dropout",
                                                  "summary_proj_to_labels",
                                                  "summary_type",
                                                  "summary_use_proj",
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
                                                  "unk_token_id",
                                                  "use_bfloat16",
                                                  "use_cache",
                                                  "vocab_file"};

ConfigReader::ConfigReader(JsonReader reader, llvm::StringRef file) : reader(std::move(reader)), shape(config.shape) {
  config.file = file.str();
  llvm::StringRef name = llvm::sys::path::stem(file);
  if (name == "config" && llvm::sys::path::has_parent_path(file))
    name = llvm::sys::path::filename(llvm::sys::path::parent_path(file));
  shape.name = name.str();
}

llvm::Expected<ModelConfig> ConfigReader::read() {
  readArchitecture();
  if (llvm::Error error = reader.takeError())
    return std::move(error);
  (this->*readFamily)();
  readCommonKeys();
  if (llvm::Error error = reader.takeError())
    return std::move(error);
  std::vector<std::string> unread = reader.unreadKeys();
  if (!unread.empty()) {
    reader.fail(unread.front(), llvm::Twine("is not supported for ") + config.architecture +
                                    "; remove it if it does not change what the model computes");
    return reader.takeError();
  }
  if (llvm::Error error = verifyModelShape(shape))
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   config.file + ": " + llvm::toString(std::move(error)));
  return config;
}

static std::string quotedList(llvm::ArrayRef<llvm::StringRef> names) {
  return "\"" + llvm::join(names, "\", \"") + "\"";
}

void ConfigReader::readArchitecture() {
  std::string known = quotedList(modelArchitectures());
  std::vector<std::string> names = reader.strings("architectures");
  std::string type = reader.string("model_type", "");
  const ModelFamily *family = nullptr;
  if (reader.has("architectures")) {
    family = names.size() == 1 ? llvm::find_if(modelFamilies(), [&](auto &f) { return f.architecture == names[0]; })
                               : modelFamilies().end();
    if (family == modelFamilies().end())
      return reader.reject("architectures", "a list of one of the supported " + llvm::Twine(known));
    if (!type.empty() && type != family->modelType)
      return reader.reject("model_type", "\"" + family->modelType + "\", which goes with " + family->architecture);
  } else if (!type.empty()) {
    family = llvm::find_if(modelFamilies(), [&](auto &f) { return f.modelType == type; });
    if (family == modelFamilies().end())
      return reader.reject("model_type", "that of one of the supported architectures " + llvm::Twine(known));
  } else {
    return reader.fail("architectures", "missing; expected a list of one of the supported " + llvm::Twine(known));
  }
  config.architecture = family->architecture.str();
  shape.family = family->modelType.str();
  readFamily = family->read;
}

void ConfigReader::readCommonKeys() {
  reader.ignore(ignoredKeys);
  reader.only("output_router_logits", false); // adds a loss that balances the experts
  reader.only("tie_encoder_decoder", false);
  reader.only("is_encoder_decoder", false);
  reader.only("is_decoder", false);
  reader.only("add_cross_attention", false);
  reader.only("cross_attention_hidden_size", nullptr);
  reader.only("pruned_heads", llvm::json::Object{});
  config.initializerRange = reader.number("initializer_range", 0.02);
  if (config.initializerRange < 0)
    reader.reject("initializer_range", "a number >= 0");
  // How the weights are stored, not how they are trained.
  for (llvm::StringRef key : {"torch_dtype", "dtype"})
    if (std::string type = reader.string(key, "float32"); !llvm::is_contained({"float32", "bfloat16", "float16"}, type))
      reader.reject(key, "one of \"float32\", \"bfloat16\", \"float16\"");
  // In doubles, by the key that a person would change: the counts may not fit 64 bits.
  double layer = double(shape.hidden) * (3.0 * shape.ffn + 4.0 * shape.heads * double(shape.queryHeadDim()));
  if (double(shape.layers) * layer + 2.0 * shape.vocab * double(shape.hidden) > 0x1p60)
    reader.fail(reader.has("n_layer") ? "n_layer" : "num_hidden_layers",
                "the model would have more than 2^60 parameters");
}

int64_t ConfigReader::size(llvm::StringRef key, std::optional<int64_t> fallback, int64_t least) {
  constexpr int64_t largest = int64_t(1) << 31;
  int64_t value = reader.integer(key, least, fallback);
  if (value > largest)
    reader.reject(key, "at most " + llvm::Twine(largest));
  return std::min(value, largest); // what follows multiplies sizes before the error is asked for
}

double ConfigReader::probability(llvm::StringRef key, double fallback) {
  double value = reader.number(key, fallback);
  if (value >= 0 && value < 1)
    return value;
  reader.reject(key, "a probability below 1");
  return 0;
}

void ConfigReader::readDropouts(llvm::StringRef attention, llvm::ArrayRef<llvm::StringRef> hidden, double fallback) {
  config.attentionDropout = probability(attention, fallback);
  for (llvm::StringRef key : hidden) {
    double value = probability(key, fallback);
    if (key != hidden.front() && value != shape.dropout)
      reader.reject(key, "the value of " + hidden.front() + ", " + llvm::formatv("{0}", shape.dropout).str());
    shape.dropout = value;
  }
}

void ConfigReader::readActivation(llvm::StringRef key, llvm::StringRef fallback) {
  std::string name = reader.string(key, fallback.str());
  if (name == "silu" || name == "swish")
    shape.activation = ActivationKind::Silu;
  else if (name == "relu")
    shape.activation = ActivationKind::Relu;
  else if (name == "relu2")
    shape.activation = ActivationKind::SquaredRelu;
  else if (name == "gelu")
    shape.activation = ActivationKind::Gelu;
  else if (name == "gelu_new" || name == "gelu_fast" || name == "gelu_pytorch_tanh")
    shape.activation = ActivationKind::Gelu, config.tanhGelu = true;
  else
    reader.reject(key, "one of the supported \"silu\", \"gelu\", \"gelu_new\", \"gelu_fast\", \"gelu_pytorch_tanh\", "
                       "\"relu\", \"relu2\"");
}

void ConfigReader::useLayerNorm(llvm::StringRef epsilonKey) {
  shape.norm = NormKind::LayerNorm;
  shape.normBias = true;
  config.normEpsilon = reader.positive(epsilonKey, 1e-5);
}

/// hidden / heads, when the file does not say head_dim.
void ConfigReader::readHeads(llvm::StringRef headsKey, llvm::StringRef hiddenKey) {
  if (!reader.has("head_dim") && shape.hidden % shape.heads)
    reader.fail(hiddenKey, llvm::Twine(shape.hidden) + " is not divisible by " + headsKey + " " +
                               llvm::Twine(shape.heads) + (headsKey.starts_with("num") ? "; say head_dim" : ""));
  shape.headDim = std::max<int64_t>(1, shape.hidden / shape.heads);
}

void ConfigReader::requireEvenHead(int64_t rotated) {
  if (rotated % 2)
    reader.fail(reader.has("head_dim") ? "head_dim" : "hidden_size",
                "head dimension " + llvm::Twine(rotated) + " is odd; rotary positions need pairs");
}

void ConfigReader::readRopeKeys() {
  config.ropeTheta = reader.positive("rope_theta", config.ropeTheta);
  // rope_parameters is the newer spelling; it holds rope_theta too.
  if (reader.has("rope_scaling") && reader.has("rope_parameters"))
    reader.fail("rope_parameters", "is the newer spelling of rope_scaling; give one of the two");
  for (llvm::StringRef key : {"rope_scaling", "rope_parameters"})
    if (std::optional<JsonReader> rope = reader.object(key))
      readRope(*rope);
}

void ConfigReader::readRope(JsonReader &rope) {
  if (rope.has("rope_type") && rope.has("type") && rope.string("rope_type") != rope.string("type"))
    rope.reject("type", "the value of rope_type, \"" + rope.string("rope_type") + "\"");
  llvm::StringRef key = rope.has("rope_type") ? "rope_type" : "type";
  std::string kind = rope.string(key, "default");
  bool hasTheta = reader.has("rope_theta") && rope.has("rope_theta");
  double theta = rope.positive("rope_theta", config.ropeTheta);
  if (hasTheta && theta != config.ropeTheta)
    rope.reject("rope_theta", "what the outer rope_theta says");
  config.ropeTheta = theta;
  // Newer files say the rotated part of a head here.
  double fraction = rope.positive("partial_rotary_factor", shape.rotaryFraction);
  if (shape.family == "gpt_neox" && fraction <= 1 && !reader.has("rotary_pct"))
    shape.rotaryFraction = fraction;
  else if (fraction != shape.rotaryFraction)
    rope.reject("partial_rotary_factor", llvm::formatv("{0}, as elsewhere in this model", shape.rotaryFraction).str());
  RopeScaling &scaling = config.ropeScaling;
  if (kind == "default")
    return;
  if (kind != "linear" && kind != "llama3" && kind != "yarn")
    return rope.reject(key, "one of the supported \"default\", \"linear\", \"llama3\", \"yarn\"");
  scaling.factor = rope.number("factor");
  if (scaling.factor < 1)
    rope.reject("factor", "a number >= 1");
  if (kind == "yarn")
    return readYarn(rope);
  scaling.kind = kind == "linear" ? RopeScaling::Kind::Linear : RopeScaling::Kind::Llama3;
  if (kind == "linear")
    return;
  scaling.lowFrequencyFactor = rope.positive("low_freq_factor");
  scaling.highFrequencyFactor = rope.positive("high_freq_factor");
  scaling.originalMaxPositions = rope.integer("original_max_position_embeddings", 1);
  if (scaling.highFrequencyFactor <= scaling.lowFrequencyFactor)
    rope.reject("high_freq_factor", "more than low_freq_factor");
}

void ConfigReader::readYarn(JsonReader &rope) {
  RopeScaling &scaling = config.ropeScaling;
  scaling.kind = RopeScaling::Kind::Yarn;
  scaling.betaFast = rope.positive("beta_fast", 32.0);
  scaling.betaSlow = rope.positive("beta_slow", 1.0);
  scaling.magnitude = rope.number("mscale", 1.0);
  scaling.magnitudeAllDims = rope.number("mscale_all_dim", 0.0);
  scaling.originalMaxPositions = rope.integer("original_max_position_embeddings", 1);
  if (scaling.betaFast <= scaling.betaSlow)
    rope.reject("beta_fast", "more than beta_slow");
}

llvm::Expected<ModelConfig> readModelConfig(llvm::StringRef path) {
  llvm::SmallString<128> file(path);
  if (llvm::sys::fs::is_directory(path))
    llvm::sys::path::append(file, "config.json");
  llvm::Expected<JsonReader> reader = JsonReader::fromFile(file);
  if (!reader)
    return reader.takeError();
  return ConfigReader(std::move(*reader), file).read();
}

llvm::Expected<ModelConfig> parseModelConfig(llvm::StringRef name, llvm::StringRef text) {
  llvm::Expected<JsonReader> reader = JsonReader::fromText(name, text);
  if (!reader)
    return reader.takeError();
  return ConfigReader(std::move(*reader), name).read();
}

llvm::Expected<ModelShape> readModelShape(llvm::StringRef path) {
  llvm::Expected<ModelConfig> config = readModelConfig(path);
  if (!config)
    return config.takeError();
  return config->shape;
}

} // namespace mlir::ppc
