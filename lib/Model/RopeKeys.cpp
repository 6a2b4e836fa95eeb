// Rotary positions: rope_theta, and the nested rope_scaling or rope_parameters, which is its newer spelling.
#include "ConfigReader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

namespace mlir::ppc {

void ConfigReader::readRopeKeys(double defaultTheta) {
  config.ropeTheta = reader.positive("rope_theta", defaultTheta);
  readNestedRope();
}

/// rope_theta and partial_rotary_factor are not keys of this family outside of the nested object; the reference reads
/// the older names.
void ConfigReader::readNeoxRopeKeys() {
  config.ropeTheta = reader.positive("rotary_emb_base", 10000.0);
  shape.rotaryFraction = reader.positive("rotary_pct", 0.25);
  for (auto [key, older, value] : {std::tuple("rope_theta", "rotary_emb_base", config.ropeTheta),
                                   std::tuple("partial_rotary_factor", "rotary_pct", shape.rotaryFraction)})
    if (reader.has(key) && reader.number(key) != value)
      reader.fail(key, "is not what versions of the reference agree on in this place; say it as " + llvm::Twine(older));
  readNestedRope();
  if (shape.rotaryFraction > 1) {
    reader.reject("rotary_pct", "at most 1");
    shape.rotaryFraction = 1;
  }
  int64_t rotated = int64_t(shape.headDim * shape.rotaryFraction);
  if (!rotated)
    reader.reject("rotary_pct", "at least two elements of a head of " + llvm::Twine(shape.headDim));
  requireEvenHead(rotated);
}

void ConfigReader::readNestedRope() {
  mayBeNull({"rope_scaling", "rope_parameters"});
  if (reader.has("rope_scaling") && reader.has("rope_parameters"))
    reader.fail("rope_parameters", "is the newer spelling of rope_scaling; give one of the two");
  for (llvm::StringRef key : {"rope_scaling", "rope_parameters"})
    if (std::optional<JsonReader> rope = reader.object(key)) {
      config.ropeKey = key.str();
      readRope(*rope);
    }
}

void ConfigReader::readRope(JsonReader &rope) {
  for (const std::string &key : rope.nullKeys())
    return rope.fail(key, "null says nothing; remove it for its default");
  if (rope.has("rope_type") && rope.has("type") && rope.string("rope_type") != rope.string("type"))
    rope.reject("type", "the value of rope_type, \"" + rope.string("rope_type") + "\"");
  llvm::StringRef key = rope.has("rope_type") ? "rope_type" : "type";
  std::string kind = rope.string(key, "default");
  llvm::StringRef thetaKey = shape.family == "gpt_neox" ? "rotary_emb_base" : "rope_theta";
  bool hasTheta = reader.has(thetaKey) && rope.has("rope_theta");
  double theta = rope.positive("rope_theta", config.ropeTheta);
  if (hasTheta && theta != config.ropeTheta)
    rope.reject("rope_theta", "what the outer " + thetaKey + " says");
  config.ropeTheta = theta;
  // Newer files say the rotated part of a head here.
  double fraction = rope.positive("partial_rotary_factor", shape.rotaryFraction);
  if (shape.family == "gpt_neox" && fraction <= 1 && !reader.has("rotary_pct"))
    shape.rotaryFraction = fraction;
  else if (fraction != shape.rotaryFraction)
    rope.reject("partial_rotary_factor", llvm::formatv("{0}, as elsewhere in this model", shape.rotaryFraction).str());
  if (kind != "default")
    readRopeScaling(key, kind, rope);
  acceptRopeKeysWithoutEffect(rope);
}

void ConfigReader::readRopeScaling(llvm::StringRef key, llvm::StringRef kind, JsonReader &rope) {
  RopeScaling &scaling = config.ropeScaling;
  if (shape.family == "phi3")
    return readLongRope(key, kind, rope);
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
  if (scaling.highFrequencyFactor < scaling.lowFrequencyFactor)
    rope.reject("high_freq_factor", "at least low_freq_factor");
}

/// The original length beside the object counts, whatever the object says, and its default; of `factor`, versions of
/// the reference agree only if it is the ratio of the lengths.
void ConfigReader::readLongRope(llvm::StringRef key, llvm::StringRef kind, JsonReader &rope) {
  RopeScaling &scaling = config.ropeScaling;
  if (kind != "longrope" && kind != "su" && kind != "yarn") // older names
    return rope.reject(key, "one of the supported \"default\", \"longrope\"");
  llvm::StringRef lengthKey = "original_max_position_embeddings";
  scaling.kind = RopeScaling::Kind::LongRope;
  int64_t original = scaling.originalMaxPositions = size(lengthKey, 4096, 2);
  if (rope.integer(lengthKey, 1, original) != original)
    rope.reject(lengthKey, "what the outer key says, " + llvm::Twine(original) + ", which counts");
  double ratio = double(shape.maxPositions) / double(original);
  if (rope.number("factor", ratio) != ratio)
    rope.reject("factor",
                llvm::formatv("max_position_embeddings / {0}, {1}; it may be left out", lengthKey, ratio).str());
  double suggested = ratio > 1 ? std::sqrt(1 + std::log(ratio) / std::log(double(original))) : 1;
  scaling.tableFactor = rope.positive("attention_factor", suggested);
  size_t pairs = size_t(shape.headDim / 2);
  for (auto [name, factors] : {std::pair<llvm::StringRef, std::vector<double> *>("short_factor", &scaling.shortFactors),
                               {"long_factor", &scaling.longFactors}}) {
    *factors = rope.numbers(name);
    if (factors->size() != pairs || llvm::any_of(*factors, [](double factor) { return factor <= 0; })) {
      rope.reject(name, "a list of " + llvm::Twine(pairs) + " numbers > 0, one for each pair of a head");
      factors->assign(pairs, 1);
    }
  }
}

/// The reference takes mscale and mscale_all_dim only where both are there and not 0; alone, neither says anything
/// about the table.
void ConfigReader::readYarn(JsonReader &rope) {
  RopeScaling &scaling = config.ropeScaling;
  scaling.kind = RopeScaling::Kind::Yarn;
  scaling.betaFast = rope.positive("beta_fast", 32.0);
  scaling.betaSlow = rope.positive("beta_slow", 1.0);
  scaling.magnitude = rope.number("mscale", 0.0);
  scaling.magnitudeAllDims = rope.number("mscale_all_dim", 0.0);
  scaling.originalMaxPositions = rope.integer("original_max_position_embeddings", 1);
  if (scaling.betaFast < scaling.betaSlow)
    rope.reject("beta_fast", "at least beta_slow");
}

} // namespace mlir::ppc
