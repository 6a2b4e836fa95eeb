// From options to files.
#include "runtime/launch/RunInputs.h"
#include "runtime/base/Error.h"
#include "runtime/checkpoint/CheckpointFolder.h"
#include "runtime/data/TokenData.h"
#include "runtime/files/File.h"
#include "runtime/run/Options.h"
#include "runtime/weights/WeightFiles.h"

#include <nlohmann/json.hpp>

#include <cstring>
#include <filesystem>
#include <set>

namespace ppcrt {
namespace {

namespace fs = std::filesystem;

bool isThere(const std::string &path) {
  std::error_code failure;
  return fs::exists(path, failure);
}

bool isFolder(const std::string &path) {
  std::error_code failure;
  return fs::is_directory(path, failure);
}

bool isIndex(const std::string &path) {
  constexpr const char *ending = ".index.json";
  size_t size = std::strlen(ending);
  return path.size() >= size && path.compare(path.size() - size, size, ending) == 0;
}

// The files that an index of weights names, as far as it can be read: what is wrong with it is said where it is used.
std::set<std::string> filesOfIndex(const std::string &index) {
  std::set<std::string> names;
  try {
    auto document = nlohmann::json::parse(readText(index), nullptr, /*allow_exceptions=*/false);
    if (document.is_object() && document.contains("weight_map") && document["weight_map"].is_object())
      for (const auto &[tensor, file] : document["weight_map"].items())
        if (file.is_string())
          names.insert(file.get<std::string>());
  } catch (const InputError &) {
  }
  return names;
}

void addWeights(const std::string &path, std::vector<RunInput> &inputs) {
  auto add = [&](const fs::path &file) { inputs.push_back({"--weights", file.filename().string(), file.string()}); };
  if (!isFolder(path) && !isIndex(path))
    return add(path);
  fs::path folder = isFolder(path) ? fs::path(path) : fs::path(path).parent_path(),
           index = isFolder(path) ? folder / WeightFiles::indexFile : fs::path(path);
  if (std::string config = configOfWeights(path); isFolder(path) && isThere(config))
    add(config);
  if (!isThere(index.string()))
    return add(folder / WeightFiles::singleFile);
  add(index);
  for (const std::string &name : filesOfIndex(index.string()))
    add(folder / name);
}

void addCheckpoints(const Options &options, std::vector<RunInput> &inputs) {
  if (!options.resume || options.checkpointDir.empty())
    return;
  CheckpointFolder folder(options.checkpointDir);
  try {
    for (int64_t step : folder.steps())
      inputs.push_back({"--checkpoint-dir", format("step %lld", (long long)step),
                        folder.completePath(step) + "/" + CheckpointFolder::indexName});
  } catch (const InputError &) { // said where it is read
  }
}

} // namespace

std::string configOfWeights(const std::string &weights) {
  if (!isFolder(weights) && !isIndex(weights))
    return "";
  return ((isFolder(weights) ? fs::path(weights) : fs::path(weights).parent_path()) / "config.json").string();
}

std::vector<RunInput> runInputs(const Options &options) {
  std::vector<RunInput> inputs;
  auto addTokens = [&](const char *option, const std::string &path) {
    if (path.empty())
      return;
    for (const std::string &file : dataFiles(path, options.tokenizer != "bytes", options.dataFormat))
      inputs.push_back({option, file == path ? "" : fs::path(file).extension().string(), file});
  };
  addTokens("--data", options.data);
  addTokens("--eval-data", options.evalData);
  if (options.tokenizer != "bytes")
    inputs.push_back({"--tokenizer", "", options.tokenizer});
  if (!options.weights.empty())
    addWeights(options.weights, inputs);
  if (!options.emulate.empty())
    inputs.push_back({"--emulate", "", options.emulate});
  addCheckpoints(options, inputs);
  return inputs;
}

} // namespace ppcrt
