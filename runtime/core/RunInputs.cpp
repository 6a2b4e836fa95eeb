// From options to files.
#include "runtime/core/RunInputs.h"
#include "runtime/core/CheckpointFolder.h"
#include "runtime/core/Error.h"
#include "runtime/core/File.h"
#include "runtime/core/Options.h"
#include "runtime/core/TokenData.h"
#include "runtime/core/WeightFiles.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <set>

namespace ppcrt {
namespace {

namespace fs = std::filesystem;

bool isThere(const std::string &path) {
  std::error_code failure;
  return fs::exists(path, failure);
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
  std::error_code failure;
  bool isFolder = fs::is_directory(path, failure);
  fs::path folder = isFolder ? fs::path(path) : fs::path(path).parent_path(), index = folder / WeightFiles::indexFile;
  if (!isFolder)
    index = path;
  else if (isThere((folder / "config.json").string()))
    add(folder / "config.json");
  if (index.string().size() < 11 || index.string().substr(index.string().size() - 11) != ".index.json")
    return add(path);
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
