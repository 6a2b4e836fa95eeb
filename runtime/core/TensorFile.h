// Writing logical tensors to one safetensors file from many ranks without moving data between them: the file's layout
// is known beforehand, so every rank writes its own blocks where they belong.
#pragma once

#include "runtime/core/Manifest.h"

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace ppcrt {

class TensorFile {
public:
  // Creates `path`.partial for the parameters' values (Role::Parameter) or gradients (Role::Gradient), with its header
  // and full size. Called once, before ranks are forked: throws InputError when the file cannot be written.
  TensorFile(const std::string &path, const Manifest &manifest, Role role);
  // The same file in a process that does not descend from the one that created it; called after that.
  static std::unique_ptr<TensorFile> join(const std::string &path, const Manifest &manifest, Role role);
  // Removes the partial file unless it was committed or joined.
  ~TensorFile();
  TensorFile(const TensorFile &) = delete;
  TensorFile &operator=(const TensorFile &) = delete;

  // Writes the blocks that `rank` is the one to write: it holds coordinate 0 along every axis that does not cut the
  // tensor, and its stage is the first that holds the tensor. Called in each rank. Throws InputError when the disk is
  // full.
  void writeBlocks(const Manifest &manifest, int64_t rank, const std::byte *arena) const;

  // Gives the file its name; called once, after all ranks are done.
  void commit();

  const std::string &path() const { return finalPath; }

private:
  TensorFile(const std::string &path, Role role) : finalPath(path), partialPath(path + ".partial"), role(role) {}
  // Sets `offsets`; returns the bytes before the first tensor, and the size of the file.
  std::pair<std::string, int64_t> layOut(const Manifest &manifest);

  std::string finalPath, partialPath;
  Role role;
  int fd = -1;
  bool joined = false;
  std::map<int, int64_t> offsets; // parameter index -> byte offset in the file
};

} // namespace ppcrt
