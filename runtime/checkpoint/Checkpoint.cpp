// Reading checkpoints: which blocks hold what a rank needs.
#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/base/Checksum.h"
#include "runtime/base/Error.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace ppcrt {
namespace {

// What a program keeps from step to step.
bool isKept(const Buffer &buffer) { return buffer.role == Role::Parameter || buffer.role == Role::State; }

// Calls visit(index) for every combination of index[d] in [low[d], high[d]) for d < dims, in row-major order.
template <typename Visit>
void forEachIndex(const std::vector<int64_t> &low, const std::vector<int64_t> &high, size_t dims, Visit visit) {
  std::vector<int64_t> index(low.begin(), low.begin() + dims);
  while (true) {
    visit(index);
    size_t d = dims;
    while (d > 0 && ++index[d - 1] == high[d - 1])
      --d, index[d] = low[d];
    if (d == 0)
      return;
  }
}

} // namespace

Checkpoint::Checkpoint(const std::string &folder) : path(folder) {
  std::string name = folder + "/checkpoint.json";
  index = parseCheckpointIndex(readText(name), name);
  for (const CheckpointFile &file : index.files)
    addFile(file);
  for (const auto &[tensorName, tensor] : tensors) {
    int64_t count = 0;
    for (const Part &part : tensor.parts)
      count += elementCount(part.block.shape);
    if (count != elementCount(tensor.shape))
      throw InputError(format("%s: the blocks of \"%s\" hold %lld elements, its shape is %s", folder.c_str(),
                              tensorName.c_str(), (long long)count, showShape(tensor.shape).c_str()));
  }
}

void Checkpoint::addFile(const CheckpointFile &described) {
  files.push_back(std::make_unique<SafeTensorsFile>(path + "/" + described.name));
  const SafeTensorsFile &file = *files.back();
  if (int64_t(file.text().size()) != described.bytes)
    throw InputError(format("%s: the file has %zu bytes, not the %lld that were written", file.path().c_str(),
                            file.text().size(), (long long)described.bytes));
  if (crc32c(file.text().data(), size_t(file.header().bytes)) != described.headerChecksum)
    throw InputError(file.path() + ": the checksum of the header is wrong: the file was changed or damaged");
  std::map<std::string, StoredBlock> blocks = parseBlocks(file.header(), file.path());
  for (const StoredTensor &stored : file.header().tensors) {
    StoredBlock &block = blocks[stored.name];
    Tensor &tensor = tensors[stored.name];
    if (tensor.parts.empty()) {
      tensor.type = stored.type;
      tensor.shape = block.logicalShape;
    } else if (tensor.type != stored.type || tensor.shape != block.logicalShape) {
      throw InputError(file.path() + ": \"" + stored.name + "\" has another shape or type than in the other files");
    }
    tensor.parts.push_back({&file, &stored, std::move(block)});
  }
}

void Checkpoint::checkFits(const Manifest &manifest) const {
  std::set<std::string> known;
  for (const Device &device : manifest.devices)
    for (const Buffer &buffer : device.buffers) {
      if (!isKept(buffer))
        continue;
      std::string name = checkpointName(buffer);
      known.insert(name);
      const std::vector<int64_t> &shape = manifest.parameters[buffer.parameter].shape;
      auto found = tensors.find(name);
      if (found == tensors.end())
        throw InputError(path + ": the checkpoint does not hold \"" + name + "\": it is of another model");
      if (found->second.shape != shape || found->second.type != ppcrt::info(buffer.type).safetensors)
        throw InputError(format("%s: \"%s\" is %s of %s in the checkpoint, %s of %s in this program", path.c_str(),
                                name.c_str(), showShape(found->second.shape).c_str(), found->second.type.c_str(),
                                showShape(shape).c_str(), ppcrt::info(buffer.type).safetensors));
    }
  for (const auto &[name, tensor] : tensors)
    if (!known.count(name))
      throw InputError(path + ": the checkpoint holds \"" + name + "\", which this program does not have");
}

int64_t Checkpoint::load(const Buffer &buffer, const Block &block, std::byte *data) const {
  std::memset(data, 0, buffer.bytes);
  int64_t needed = 1, copied = 0, readBytes = 0;
  for (size_t d = 0; d < block.logicalShape.size(); ++d)
    needed *= std::max<int64_t>(0, std::min(block.localShape[d], block.logicalShape[d] - block.start[d]));
  auto found = tensors.find(checkpointName(buffer));
  if (found != tensors.end())
    for (const Part &part : found->second.parts)
      copied += copy(part, buffer, block, data, readBytes);
  if (copied != needed)
    throw InputError(
        format("%s: the blocks of \"%s\" overlap or leave a gap", path.c_str(), checkpointName(buffer).c_str()));
  return readBytes;
}

// Copies what the part and the block have in common; returns the number of elements.
int64_t Checkpoint::copy(const Part &part, const Buffer &buffer, const Block &block, std::byte *data,
                         int64_t &readBytes) const {
  size_t rank = block.logicalShape.size();
  std::vector<int64_t> low(rank), high(rank);
  int64_t count = 1;
  for (size_t d = 0; d < rank; ++d) {
    low[d] = std::max(block.start[d], part.block.start[d]);
    high[d] = std::min(block.start[d] + block.localShape[d], part.block.start[d] + part.block.shape[d]);
    if (low[d] >= high[d])
      return 0;
    count *= high[d] - low[d];
  }
  // Dimensions from `inner` on are whole on both sides, so they and the common part of dimension inner - 1 are one run.
  size_t inner = rank;
  int64_t run = 1;
  while (inner > 0 && block.localShape[inner - 1] == part.block.shape[inner - 1] &&
         high[inner - 1] - low[inner - 1] == block.localShape[inner - 1])
    run *= block.localShape[--inner];
  if (inner > 0) {
    --inner;
    run *= high[inner] - low[inner];
  }
  int64_t element = part.tensor->elementBytes, bytes = part.tensor->end - part.tensor->begin;
  const std::byte *stored = part.file->data(*part.tensor);
  std::vector<bool> checked(part.block.checksums.size());
  forEachIndex(low, high, inner, [&](const std::vector<int64_t> &index) {
    int64_t from = 0, to = 0;
    for (size_t d = 0; d < rank; ++d) {
      int64_t i = d < inner ? index[d] : low[d];
      from = from * part.block.shape[d] + i - part.block.start[d];
      to = to * block.localShape[d] + i - block.start[d];
    }
    from *= element;
    for (int64_t chunk = from / checkpointChunkBytes; chunk * checkpointChunkBytes < from + run * element; ++chunk) {
      if (checked[chunk])
        continue;
      checked[chunk] = true;
      int64_t begin = chunk * checkpointChunkBytes, size = std::min(checkpointChunkBytes, bytes - begin);
      readBytes += size;
      if (crc32c(stored + begin, size_t(size)) != part.block.checksums[chunk])
        throw InputError(format("%s: the checksum of \"%s\" is wrong in the bytes %lld to %lld of the file",
                                part.file->path().c_str(), part.tensor->name.c_str(),
                                (long long)(part.tensor->begin + begin),
                                (long long)(part.tensor->begin + begin + size)));
    }
    std::memcpy(data + to * element, stored + from, run * element);
  });
  return count;
}

} // namespace ppcrt
