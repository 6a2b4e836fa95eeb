// Writing logical tensors to one safetensors file from many ranks without moving data between them: the file's layout
// is known beforehand, so every rank writes its own blocks where they belong.
#pragma once

#include "runtime/files/File.h"
#include "runtime/program/Manifest.h"
#include "runtime/transport/DeviceMemory.h"

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ppcrt {

// A tensor of the file: elements [begin, begin + count) of a logical parameter or gradient, or zeros. Several of one
// name and shape, one behind the other, are one tensor, each `elements` of it from `first` on.
struct WrittenTensor {
  std::string name;
  std::vector<int64_t> shape;
  DataType type;      // of the file: that of the buffer, or bf16 for a buffer of f32
  int parameter = -1; // index into the manifest; negative: zeros
  int64_t begin = 0;
  int64_t first = 0, elements = 0; // 0 elements: all of the tensor

  int64_t bytes() const { return elementCount(shape) * info(type).bytes; }
};

// The parameters' values (Role::Parameter) or gradients (Role::Gradient) under their own names, sorted by name, so that
// a file does not depend on the layout.
std::vector<WrittenTensor> logicalTensors(const Manifest &manifest, Role role);

// The first stage with a buffer of this role for the parameter, and that buffer; -1 and null when there is none.
std::pair<int, const Buffer *> owningBuffer(const Manifest &manifest, Role role, int parameter);

// Whether `rank` is the one to write its block of the buffer: it holds coordinate 0 along every axis that does not cut
// it.
bool writesBlock(const Grid &grid, int64_t rank, const Buffer &buffer);

class TensorFile {
public:
  // Creates partialPath(path, run) with its header and full size. Called once, before ranks are forked: throws
  // InputError when the file cannot be written.
  TensorFile(const std::string &path, uint64_t run, const Manifest &manifest, Role role,
             const std::vector<WrittenTensor> &tensors);
  // The same file in a process that does not descend from the one that created it; called after that.
  static std::unique_ptr<TensorFile> join(const std::string &path, uint64_t run, const Manifest &manifest, Role role,
                                          const std::vector<WrittenTensor> &tensors);
  // Removes the partial file unless it was committed or joined.
  ~TensorFile();
  TensorFile(const TensorFile &) = delete;
  TensorFile &operator=(const TensorFile &) = delete;

  // Writes the blocks that `rank` is the one to write, where its stage is the first that holds the tensor. Called in
  // each rank. Throws InputError when the disk is full.
  void writeBlocks(const Manifest &manifest, int64_t rank, const DeviceMemory &memory) const;

  // Gives the file its name; called once, after all ranks are done.
  void commit();

  const std::string &path() const { return finalPath; }

private:
  // Elements [begin, end) of a parameter lie at byte `offset`, as `type`.
  struct Place {
    int64_t begin, end, offset;
    DataType type;
  };

  // Elements [from, to) of `data`, of `type`, to element `at` of `place`.
  void writeElements(const std::byte *data, DataType type, int64_t from, int64_t to, const Place &place,
                     int64_t at) const;

  TensorFile(const std::string &path, Role role) : finalPath(path), role(role) {}
  // Sets `placesOf`; returns the bytes before the first tensor, and the size of the file.
  std::pair<std::string, int64_t> layOut(const Manifest &manifest, const std::vector<WrittenTensor> &tensors);

  std::string finalPath;
  Role role;
  OutputFile file;
  bool stays = false;                         // committed, or for its creator to remove
  std::map<int, std::vector<Place>> placesOf; // [parameter], by `begin`
};

} // namespace ppcrt
