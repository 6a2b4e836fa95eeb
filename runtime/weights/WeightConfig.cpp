// Spellings of one configuration, and how two of them differ.
#include "runtime/weights/WeightConfig.h"
#include "runtime/base/Error.h"
#include "runtime/files/File.h"
#include "runtime/run/RunIdentity.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>

namespace ppcrt {
namespace {

using Json = nlohmann::json;

constexpr const char *scalingKeys[] = {"rope_scaling", "rope_parameters"}; // an older and a newer name of one object
constexpr const char *scaled = "rope_scaling.";
constexpr const char *outerKeys[][2] = {{"rope_theta", "rotary_emb_base"}, {"partial_rotary_factor", "rotary_pct"}};
// For all other keys null is the same as nothing.
constexpr const char *nullableKeys[] = {"sliding_window", "q_lora_rank"};

// Keys by path; what newer files say inside of rope_parameters is where older ones have it.
std::map<std::string, Json> flattened(const Json &config, const std::map<std::string, std::string> &keys) {
  std::map<std::string, Json> values;
  auto put = [&](const std::string &path, const Json &value) {
    bool mayBeNull = std::find(std::begin(nullableKeys), std::end(nullableKeys), path) != std::end(nullableKeys);
    if (!value.is_null() || mayBeNull)
      values[path] = value;
  };
  for (const auto &[key, value] : config.items())
    if (!value.is_object())
      put(key, value);
  for (const char *object : scalingKeys) {
    if (!config.contains(object) || !config[object].is_object())
      continue;
    const Json &nested = config[object];
    const char *kindKey = nested.contains("rope_type") ? "rope_type" : "type";
    bool isPlain = !nested.contains(kindKey) || nested[kindKey] == "default";
    for (const auto &[key, value] : nested.items()) {
      auto outer = std::find_if(std::begin(outerKeys), std::end(outerKeys),
                                [&, &key = key](auto &pair) { return key == pair[0]; });
      if (outer != std::end(outerKeys))
        put(keys.count((*outer)[1]) ? (*outer)[1] : (*outer)[0], value);
      else if (!isPlain)
        put(std::string(scaled) + (key == "type" ? "rope_type" : key), value);
    }
  }
  return values;
}

// What the compiler says of nested keys goes by the name that they have above.
std::map<std::string, Json> fallbacksOf(const WeightMap &weights) {
  std::map<std::string, Json> result;
  for (const auto &[path, text] : weights.configKeys) {
    std::string name = path;
    for (const char *object : scalingKeys)
      if (std::string prefix = std::string(object) + "."; path.compare(0, prefix.size(), prefix) == 0)
        name = scaled + path.substr(prefix.size());
    bool isOuter = name == std::string(scaled) + "rope_theta" ||
                   name == std::string(scaled) + "partial_rotary_factor" ||
                   std::find(std::begin(scalingKeys), std::end(scalingKeys), name) != std::end(scalingKeys) ||
                   name == std::string(scaled) + "type";
    if (!isOuter)
      result[name] = Json::parse(text, nullptr, false);
  }
  return result;
}

bool isScaling(const std::string &path) { return path.compare(0, std::string(scaled).size(), scaled) == 0; }

} // namespace

void checkConfig(const std::string &file, const WeightMap &weights, const std::string &tensors) {
  Json here = Json::parse(weights.config, nullptr, false);
  if (!here.is_object() || weights.configKeys.empty())
    return;
  Json there = parseJson(readText(file), file);
  if (!there.is_object())
    throw InputError(file + ": expected an object");
  bool isNested = there.contains("text_config") && there["text_config"].is_object();
  if (isNested) { // whose head is said beside the text part
    bool tied = there.value("tie_word_embeddings", false);
    there = Json(there["text_config"]);
    there["tie_word_embeddings"] = tied;
  }
  std::map<std::string, Json> ours = flattened(here, weights.configKeys), theirs = flattened(there, weights.configKeys),
                              keys = fallbacksOf(weights);
  for (const auto *side : {&ours, &theirs}) // of scaled positions, every key counts
    for (const auto &[path, value] : *side)
      if (isScaling(path))
        keys.emplace(path, nullptr);
  if (isNested) // the type of a text part has a name of its own
    keys.erase("model_type");
  std::string text;
  for (const auto &[path, fallback] : keys) {
    auto value = [&, &path = path, &fallback = fallback](const std::map<std::string, Json> &side) {
      auto found = side.find(path);
      return found == side.end() ? fallback : found->second;
    };
    bool unknown = fallback.is_null() && !isScaling(path) && (!ours.count(path) || !theirs.count(path));
    if (Json a = value(ours), b = value(theirs); !unknown && a != b)
      text += (text.empty() ? "" : "; ") + path + " is " + b.dump() + " there, " + a.dump() + " in the program";
  }
  if (!text.empty())
    throw InputError(file + " is of another model: " + text + ". Compile that model, or give --weights " + tensors +
                     " to read its tensors all the same");
}

} // namespace ppcrt
