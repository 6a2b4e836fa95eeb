// Cutting tensors into files.
#include "runtime/weights/WeightFolder.h"
#include "runtime/base/Error.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <sys/stat.h>
#include <tuple>

namespace ppcrt {
namespace {

std::vector<WrittenTensor> storedTensors(const Manifest &manifest, bool round) {
  std::vector<WrittenTensor> tensors;
  for (size_t i = 0; i < manifest.parameters.size(); ++i) {
    const Buffer *buffer = owningBuffer(manifest, Role::Parameter, int(i)).second;
    if (!buffer)
      continue;
    bool rounds = round && buffer->type == DataType::F32 && !manifest.weights.unrounded[i];
    DataType type = rounds ? DataType::BF16 : buffer->type;
    for (const WeightPart &part : manifest.weights.parameters[i].front())
      for (int64_t k = 0; k < part.count; ++k)
        tensors.push_back(
            {part.name(k), part.shape, type, int(i), part.offset + k * part.step, part.first, part.elements});
  }
  std::sort(tensors.begin(), tensors.end(), [](const WrittenTensor &a, const WrittenTensor &b) {
    return std::tie(a.name, a.first) < std::tie(b.name, b.first);
  });
  return tensors;
}

// The type that readers are to compute in: the narrowest, beside which others are exceptions.
DataType typeOf(const std::vector<std::vector<WrittenTensor>> &shards) {
  DataType type = shards.front().front().type;
  for (const std::vector<WrittenTensor> &shard : shards)
    for (const WrittenTensor &tensor : shard)
      if (info(tensor.type).bytes < info(type).bytes)
        type = tensor.type;
  return type;
}

// The model's config.json with the type that the files have, so that readers do not round what they read: none is
// quantised, whatever the file said that the model came from.
std::string configText(const Manifest &manifest, DataType type) {
  if (manifest.weights.config.empty())
    return "";
  auto config = nlohmann::ordered_json::parse(manifest.weights.config, nullptr, false);
  if (!config.is_object())
    throw InputError("manifest: config: expected the text of a JSON object");
  const char *name = type == DataType::BF16 ? "bfloat16" : type == DataType::F64 ? "float64" : "float32";
  config[config.contains("torch_dtype") ? "torch_dtype" : "dtype"] = name;
  config.erase("quantization_config");
  return config.dump(2) + "\n";
}

} // namespace

std::unique_ptr<WeightFolder> WeightFolder::join(const std::string &path, uint64_t run, const Manifest &manifest,
                                                 int64_t shardBytes, bool round) {
  return std::unique_ptr<WeightFolder>(new WeightFolder(path, run, manifest, shardBytes, round, /*joins=*/true));
}

WeightFolder::WeightFolder(const std::string &path, uint64_t run, const Manifest &manifest, int64_t shardBytes,
                           bool round, bool joins)
    : folder(path) {
  if (!joins && mkdir(path.c_str(), 0777) != 0 && errno != EEXIST)
    throw InputError(withErrno("cannot make the folder " + path));
  std::vector<std::vector<WrittenTensor>> shards;
  int64_t filled = 0, total = 0;
  for (WrittenTensor &tensor : storedTensors(manifest, round)) {
    bool isFurther = !shards.empty() && shards.back().back().name == tensor.name;
    if (shards.empty() || (!isFurther && filled + tensor.bytes() > shardBytes)) {
      shards.emplace_back();
      filled = 0;
    }
    filled += isFurther ? 0 : tensor.bytes();
    total += isFurther ? 0 : tensor.bytes();
    shards.back().push_back(std::move(tensor));
  }
  if (shards.empty())
    throw InputError("the model has no parameters: there are no weights to write");
  config = configText(manifest, typeOf(shards));
  nlohmann::json map = nlohmann::json::object();
  for (size_t i = 0; i < shards.size(); ++i) {
    std::string name =
        shards.size() == 1 ? "model.safetensors" : format("model-%05zu-of-%05zu.safetensors", i + 1, shards.size());
    for (const WrittenTensor &tensor : shards[i])
      map[tensor.name] = name;
    name = folder + "/" + name;
    files.push_back(joins ? TensorFile::join(name, run, manifest, Role::Parameter, shards[i])
                          : std::make_unique<TensorFile>(name, run, manifest, Role::Parameter, shards[i]));
  }
  if (files.size() > 1)
    index = nlohmann::json({{"metadata", {{"total_size", total}}}, {"weight_map", map}}).dump(2) + "\n";
}

void WeightFolder::writeBlocks(const Manifest &manifest, int64_t rank, const DeviceMemory &memory) const {
  for (const auto &file : files)
    file->writeBlocks(manifest, rank, memory);
}

void WeightFolder::commit() {
  FolderTurn turn(folder);
  for (const auto &file : files)
    file->commit();
  // A folder written before may hold the other form: what readers look at first must fit what was just written.
  std::string indexPath = folder + "/model.safetensors.index.json", single = folder + "/model.safetensors";
  auto write = [](const std::string &path, const std::string &text) {
    NewFile file(path);
    file.append(text);
    file.commit();
  };
  if (index.empty()) {
    removeFile(indexPath);
  } else {
    removeFile(single);
    write(indexPath, index);
  }
  if (!config.empty())
    write(folder + "/config.json", config);
  syncFolder(folder);
}

} // namespace ppcrt
