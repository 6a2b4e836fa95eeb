// Copying and writing blocks.
#include "runtime/checkpoint/CheckpointWriter.h"
#include "runtime/base/Checksum.h"
#include "runtime/base/Error.h"
#include "runtime/weights/TensorFile.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

namespace ppcrt {
namespace {

// Whether an earlier stage writes this buffer's tensor.
bool isWrittenBefore(const Manifest &manifest, int64_t stage, const Buffer &buffer) {
  for (int64_t earlier = 0; earlier < stage; ++earlier)
    for (const Buffer &other : manifest.devices[earlier].buffers)
      if (other.role == buffer.role && other.parameter == buffer.parameter && other.state == buffer.state)
        return true;
  return false;
}

std::vector<uint32_t> checksumsOf(const std::vector<std::byte> &content) {
  std::vector<uint32_t> result;
  for (size_t begin = 0; begin < content.size(); begin += checkpointChunkBytes)
    result.push_back(crc32c(content.data() + begin, std::min<size_t>(checkpointChunkBytes, content.size() - begin)));
  return result;
}

} // namespace

CheckpointWriter::CheckpointWriter(const Manifest &manifest, int64_t rank, const DeviceMemory &memory,
                                   const std::string &folder) {
  const Grid &grid = manifest.grid;
  int64_t stage = grid.stageOf(rank);
  for (const Buffer &buffer : manifest.devices[stage].buffers) {
    bool kept = buffer.role == Role::Parameter || buffer.role == Role::State;
    if (!kept || !writesBlock(grid, rank, buffer) || isWrittenBefore(manifest, stage, buffer))
      continue;
    Block block(grid, rank, manifest.parameters[buffer.parameter].shape, buffer.cuts);
    Piece piece{checkpointName(buffer), buffer.type, {block.logicalShape, block.start, {}, {}}, {}};
    int64_t count = 1, element = info(buffer.type).bytes;
    for (size_t d = 0; d < block.localShape.size(); ++d) {
      piece.block.shape.push_back(std::min(block.localShape[d], block.logicalShape[d] - block.start[d]));
      count *= std::max<int64_t>(0, piece.block.shape.back());
    }
    if (count == 0)
      continue;
    piece.content.resize(size_t(count * element));
    int64_t filled = 0;
    block.forEachRun([&](int64_t local, int64_t, int64_t length) {
      memory.copyOut(buffer.offset + local * element, piece.content.data() + filled, length * element);
      filled += length * element;
    });
    pieces.push_back(std::move(piece));
  }
  if (!pieces.empty())
    written.name = rankFileName(rank);
  work.emplace([this, folder] {
    try {
      if (!pieces.empty())
        write(folder);
    } catch (const std::exception &error) {
      problem = error.what();
      unlink((folder + "/" + written.name).c_str()); // its bytes may be what others lack
    }
  });
}

void CheckpointWriter::write(const std::string &folder) {
  std::map<std::string, StoredBlock> blocks;
  nlohmann::json header;
  int64_t end = 0;
  for (Piece &piece : pieces) {
    piece.block.checksums = checksumsOf(piece.content);
    blocks[piece.name] = piece.block;
    int64_t begin = end;
    end += int64_t(piece.content.size());
    header[piece.name] = {
        {"dtype", info(piece.type).safetensors}, {"shape", piece.block.shape}, {"data_offsets", {begin, end}}};
  }
  header["__metadata__"] = {{"format", "pt"}, {"blocks", writeBlocks(blocks)}};
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  uint64_t size = text.size();
  std::string start = std::string(reinterpret_cast<const char *>(&size), 8) + text;
  int64_t offset = int64_t(start.size());
  written.bytes = offset + end;
  written.headerChecksum = crc32c(start.data(), start.size());

  struct stat status{};
  if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST)
    throw InputError(withErrno("cannot make the folder " + folder));
  if (lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
    throw InputError("cannot make the folder " + folder + ": something else has its name");
  OutputFile file(folder + "/" + written.name);
  file.reserve(written.bytes);
  file.writeAt(start.data(), offset, 0);
  for (Piece &piece : pieces) {
    file.writeAt(piece.content.data(), int64_t(piece.content.size()), offset);
    offset += int64_t(piece.content.size());
    piece.content = {};
  }
  file.sync();
}

} // namespace ppcrt
