// Writing a model's weights the way others read them: a folder with config.json and model.safetensors, or several
// numbered files and their index, with the names and shapes of the manifest's weight map.
#pragma once

#include "runtime/weights/TensorFile.h"

#include <memory>

namespace ppcrt {

class WeightFolder {
public:
  // Makes the folder when it is absent, and the partial files in it; files of more than `shardBytes` are cut between
  // tensors. `round`: f32 parameters are written as bf16 but those that the manifest names unrounded, and config.json
  // says so. Called once, before ranks are
  // forked. Throws InputError when the folder cannot be written.
  WeightFolder(const std::string &path, uint64_t run, const Manifest &manifest, int64_t shardBytes, bool round = false)
      : WeightFolder(path, run, manifest, shardBytes, round, /*joins=*/false) {}

  // The same folder in a process that does not descend from the one that made it; called after that.
  static std::unique_ptr<WeightFolder> join(const std::string &path, uint64_t run, const Manifest &manifest,
                                            int64_t shardBytes, bool round = false);

  // As in TensorFile.
  void writeBlocks(const Manifest &manifest, int64_t rank, const DeviceMemory &memory) const;

  // Gives the files their names, then writes index and config.json, while no other run does so in this folder.
  void commit();

private:
  WeightFolder(const std::string &path, uint64_t run, const Manifest &manifest, int64_t shardBytes, bool round,
               bool joins);

  std::string folder, config, index;
  std::vector<std::unique_ptr<TensorFile>> files;
};

} // namespace ppcrt
