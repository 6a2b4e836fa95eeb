// config.json -> struct. Tables say which keys are read, which must have the one supported value, and which say nothing
// about the computation; every other key is refused.
#include "ConfigReader.h"
#include "ppc/Support/InputFile.h"
#include "ppc/Support/Limits.h"
#include "ppc/Support/Spelling.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

namespace mlir::ppc {

ConfigReader::ConfigReader(JsonReader reader, llvm::StringRef file) : reader(std::move(reader)), shape(config.shape) {
  config.file = file.str();
  llvm::StringRef name = llvm::sys::path::stem(file);
  if (name == "config" && llvm::sys::path::has_parent_path(file))
    name = llvm::sys::path::filename(llvm::sys::path::parent_path(file));
  shape.name = name.str();
}

llvm::Expected<ModelConfig> ConfigReader::read() {
  openTextPart();
  readArchitecture();
  if (llvm::Error error = reader.takeError())
    return std::move(error);
  (this->*readFamily)();
  readCommonKeys();
  readOuterKeys();
  acceptKeysWithoutEffect();
  refuseNulls();
  refuseUnread();
  if (llvm::Error error = reader.takeError())
    return std::move(error);
  if (llvm::Error error = verifyModelShape(shape))
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   config.file + ": " + llvm::toString(std::move(error)));
  rememberKeys();
  return config;
}

/// How a model is trained, stored or found, and how long its sequences may be, is no part of what its weights compute.
static constexpr llvm::StringRef aboutTraining[] = {"architectures",
                                                    "attention_probs_dropout_prob",
                                                    "attention_dropout",
                                                    "attn_pdrop",
                                                    "dtype",
                                                    "embd_pdrop",
                                                    "hidden_dropout",
                                                    "hidden_dropout_prob",
                                                    "initializer_range",
                                                    "max_position_embeddings",
                                                    "n_positions",
                                                    "num_nextn_predict_layers",
                                                    "output_router_logits",
                                                    "pad_token_id",
                                                    "resid_pdrop",
                                                    "router_aux_loss_coef",
                                                    "router_jitter_noise",
                                                    "torch_dtype",
                                                    "torchscript"};

void ConfigReader::rememberKeys() {
  auto decidesFactor = [&](llvm::StringRef key) {
    return config.ropeScaling.kind == RopeScaling::Kind::LongRope && key == "max_position_embeddings";
  };
  for (const auto &[path, fallback] : reader.readKeys())
    if (llvm::StringRef key = path;
        key.consume_front(reader.prefix()) && (!llvm::is_contained(aboutTraining, key) || decidesFactor(key)))
      config.keys[key.str()] = llvm::formatv("{0}", fallback).str();
  config.keys["model_type"] = "\"" + shape.family + "\"";
  if (!shape.slidingWindow) // says in which layers
    config.keys.erase("max_window_layers");
}

static std::string quotedList(llvm::ArrayRef<llvm::StringRef> names) {
  return "\"" + llvm::join(names, "\", \"") + "\"";
}

void ConfigReader::readArchitecture() {
  std::string known = quotedList(modelArchitectures());
  std::vector<std::string> names = reader.strings("architectures");
  std::string type = reader.string("model_type", "");
  const ModelFamily *family = modelFamilies().end();
  auto ofType = [](llvm::StringRef type) {
    return llvm::find_if(modelFamilies(), [&](auto &f) { return f.modelType == type; });
  };
  auto found = llvm::find_if(modelAliases(), [&](auto &a) { return a.modelType == type; });
  const ModelAlias *other = found == modelAliases().end() ? nullptr : found;
  if (reader.has("architectures")) {
    llvm::StringRef name = names.size() == 1 ? llvm::StringRef(names[0]) : "";
    if (!other && type.empty())
      if (auto same = llvm::find_if(modelAliases(), [&](auto &a) { return !name.empty() && a.architecture == name; });
          same != modelAliases().end())
        other = same;
    if (other && other->architecture == name)
      family = ofType(other->family);
    else
      family = llvm::find_if(modelFamilies(), [&](auto &f) { return f.architecture == name; });
    if (family == modelFamilies().end())
      return reader.reject("architectures", "a list of one of the supported " + llvm::Twine(known));
    bool fits = other
                    ? other->family == family->modelType && (other->architecture.empty() || other->architecture == name)
                    : type.empty() || type == family->modelType;
    if (!fits)
      return reader.reject("model_type", "\"" + family->modelType + "\", which goes with " + family->architecture);
  } else if (!type.empty()) {
    family = ofType(other ? other->family : llvm::StringRef(type));
    if (family == modelFamilies().end())
      return reader.reject("model_type", "that of one of the supported architectures " + llvm::Twine(known));
  } else {
    return reader.fail("architectures", "missing; expected a list of one of the supported " + llvm::Twine(known));
  }
  if (other)
    alias = other->modelType.str();
  config.architecture = family->architecture.str();
  shape.family = family->modelType.str();
  config.modelType = other ? alias : shape.family;
  readFamily = family->read;
}

/// For nearly every key, null is not its default: the reference refuses such a file, or takes it for another value.
void ConfigReader::refuseNulls() {
  for (const std::string &key : reader.nullKeys())
    if (!llvm::is_contained(nullable, key) && !reader.isUnread(key))
      reader.refuse(key, "null is no value that it may have; remove it for its default");
}

/// All of them at once. What is inside of an object that is wrong itself was not looked at. A name that some reader
/// asked for may be meant.
void ConfigReader::refuseUnread() {
  bool isWhole = !reader.hasError();
  for (const std::string &path : (outer ? *outer : reader).unreadKeys()) {
    auto [parent, key] =
        llvm::StringRef(path).contains('.') ? llvm::StringRef(path).rsplit('.') : std::pair("", llvm::StringRef(path));
    if (!isWhole && (parent + ".").str() != (parent.empty() ? "." : reader.prefix()))
      continue;
    std::vector<std::string> names;
    for (const auto &[asked, fallback] : reader.readKeys())
      if (llvm::StringRef name = asked; parent.empty() || name.consume_front((parent + ".").str()))
        names.push_back(name.str());
    (outer ? *outer : reader)
        .refuse(path, "is not supported for " + config.architecture +
                          "; remove it if it does not change what the model computes" + didYouMean(key, names));
  }
}

void ConfigReader::mayBeNull(llvm::ArrayRef<llvm::StringRef> keys) {
  for (llvm::StringRef key : keys)
    nullable.push_back(key.str());
  for (llvm::StringRef key : keys)
    if (isNull(key))
      reader.ignore({key});
}

bool ConfigReader::isNull(llvm::StringRef key) const { return llvm::is_contained(reader.nullKeys(), key); }

void ConfigReader::readCommonKeys() {
  mayBeNull({"architectures", "model_type", "torch_dtype", "dtype", "cross_attention_hidden_size"});
  reader.only("output_router_logits", false); // adds a loss that balances the experts
  reader.only("tie_encoder_decoder", false);
  reader.only("torchscript", false); // the head is no longer the embedding, in some versions
  reader.only("is_encoder_decoder", false);
  reader.only("is_decoder", false);
  reader.only("add_cross_attention", false);
  reader.only("cross_attention_hidden_size", nullptr);
  reader.only("pruned_heads", llvm::json::Object{});
  if (reader.has("quantization_config") || (outer && outer->has("quantization_config")))
    config.notes.push_back(
        "key \"quantization_config\" is left out: the model is trained in the types of this program");
  config.initializerRange = reader.number("initializer_range", 0.02);
  if (config.initializerRange < 0)
    reader.reject("initializer_range", "a number >= 0");
  // How the weights are stored, not how they are trained.
  for (llvm::StringRef key : {"torch_dtype", "dtype"})
    if (std::string type = reader.string(key, "float32"); !llvm::is_contained({"float32", "bfloat16", "float16"}, type))
      reader.reject(key, "one of \"float32\", \"bfloat16\", \"float16\"");
  // In doubles, by the key that a person would change: the counts may not fit 64 bits.
  double layer = double(shape.hidden) * (3.0 * shape.ffn + 4.0 * shape.heads * double(shape.queryHeadDim()));
  if (double(shape.layers) * layer + 2.0 * shape.vocab * double(shape.hidden) > double(limits::parameters))
    reader.fail(reader.has("n_layer") ? "n_layer" : "num_hidden_layers",
                "the model would have more than 2^60 parameters");
}

int64_t ConfigReader::size(llvm::StringRef key, std::optional<int64_t> fallback, int64_t least, int64_t most) {
  int64_t value = reader.integer(key, least, fallback);
  if (value > most)
    reader.reject(key, "at most " + llvm::Twine(most));
  return std::min(value, most); // what follows multiplies sizes before the error is asked for
}

double ConfigReader::probability(llvm::StringRef key, double fallback) {
  double value = reader.number(key, fallback);
  if (value >= 0 && value < 1)
    return value;
  reader.reject(key, "a probability below 1");
  return 0;
}

/// Counted from the end when negative, as the reference's embedding does.
void ConfigReader::readPaddingToken(std::optional<int64_t> fallback) {
  mayBeNull({"pad_token_id"});
  if (isNull("pad_token_id"))
    return;
  if (!fallback && !reader.has("pad_token_id"))
    return;
  int64_t token = reader.integer("pad_token_id", std::numeric_limits<int32_t>::min(), fallback);
  if (token < -shape.vocab || token >= shape.vocab)
    return reader.reject("pad_token_id", "null, or a token below vocab_size " + llvm::Twine(shape.vocab));
  config.paddingToken = token < 0 ? token + shape.vocab : token;
}

double ConfigReader::dropout(llvm::StringRef key, double fallback) {
  double value = probability(key, fallback);
  if (value > 0 && config.dropoutKey.empty())
    config.dropoutKey = key.str();
  return value;
}

void ConfigReader::readDropouts(llvm::StringRef attention, llvm::ArrayRef<llvm::StringRef> hidden, double fallback) {
  config.attentionDropout = dropout(attention, fallback);
  for (llvm::StringRef key : hidden) {
    double value = dropout(key, fallback);
    if (key != hidden.front() && value != shape.dropout)
      reader.reject(key, "the value of " + hidden.front() + ", " + llvm::formatv("{0}", shape.dropout).str());
    shape.dropout = value;
  }
}

void ConfigReader::readActivation(llvm::StringRef key, llvm::StringRef fallback) {
  std::string name = reader.string(key, fallback.str());
  config.activationKey = key.str();
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
    reader.refuseValue(key,
                       "one of the supported \"silu\", \"gelu\", \"gelu_new\", \"gelu_fast\", \"gelu_pytorch_tanh\", "
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

std::string modelConfigPath(llvm::StringRef path) {
  llvm::SmallString<128> file(path);
  if (llvm::sys::fs::is_directory(path))
    llvm::sys::path::append(file, "config.json");
  return file.str().str();
}

llvm::Expected<ModelConfig> readModelConfig(llvm::StringRef path) {
  std::string file = modelConfigPath(path);
  auto buffer = readInputFile(file, limits::jsonBytes);
  if (!buffer)
    return llvm::createStringError(file + ": " + llvm::toString(buffer.takeError()));
  return parseModelConfig(file, (*buffer)->getBuffer());
}

llvm::Expected<ModelConfig> parseModelConfig(llvm::StringRef name, llvm::StringRef text) {
  llvm::Expected<JsonReader> reader = JsonReader::fromText(name, text);
  if (!reader)
    return reader.takeError();
  ConfigReader of(std::move(*reader), name);
  llvm::Expected<ModelConfig> config = of.read();
  if (config)
    config->text = of.isNested() ? of.textPartAlone(text) : text.str();
  return config;
}

llvm::Expected<ModelShape> readModelShape(llvm::StringRef path) {
  llvm::Expected<ModelConfig> config = readModelConfig(path);
  if (!config)
    return config.takeError();
  return config->shape;
}

} // namespace mlir::ppc
