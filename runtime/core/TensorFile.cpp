// safetensors: 8 bytes of header size, a JSON header, then the tensors.
#include "runtime/core/TensorFile.h"
#include "runtime/core/Error.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ppcrt {
namespace {

void writeAt(int fd, const void *data, int64_t size, int64_t offset, const std::string &path) {
  const char *bytes = static_cast<const char *>(data);
  while (size > 0) {
    ssize_t written = pwrite(fd, bytes, size, offset);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      throw InputError(withErrno("cannot write " + path));
    bytes += written;
    size -= written;
    offset += written;
  }
}

// The first stage with a buffer of this role for the parameter, and that buffer.
std::pair<int, const Buffer *> owner(const Manifest &manifest, Role role, int parameter) {
  for (size_t stage = 0; stage < manifest.stages.size(); ++stage)
    for (const Buffer &buffer : manifest.stages[stage].buffers)
      if (buffer.role == role && buffer.parameter == parameter)
        return {int(stage), &buffer};
  return {-1, nullptr};
}

} // namespace

std::pair<std::string, int64_t> TensorFile::layOut(const Manifest &manifest) {
  nlohmann::json header;
  header["__metadata__"] = {{"format", "pt"}, {"model", manifest.model}};
  std::map<std::string, int> sorted; // by name, so that the file does not depend on the layout
  for (size_t i = 0; i < manifest.parameters.size(); ++i)
    if (owner(manifest, role, int(i)).second)
      sorted[manifest.parameters[i].name] = int(i);
  int64_t end = 0;
  for (const auto &[name, index] : sorted) {
    const Parameter &parameter = manifest.parameters[index];
    const DataTypeInfo &type = info(owner(manifest, role, index).second->type);
    int64_t begin = end;
    end += elementCount(parameter.shape) * type.bytes;
    header[name] = {{"dtype", type.safetensors}, {"shape", parameter.shape}, {"data_offsets", {begin, end}}};
    offsets[index] = begin;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  uint64_t size = text.size();
  std::string start(reinterpret_cast<const char *>(&size), 8);
  start += text;
  for (auto &[index, offset] : offsets)
    offset += int64_t(start.size());
  return {start, end + int64_t(start.size())};
}

TensorFile::TensorFile(const std::string &path, const Manifest &manifest, Role role) : TensorFile(path, role) {
  auto [start, end] = layOut(manifest);
  struct stat status;
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    throw InputError("cannot write " + path + ": not a regular file");
  fd = open(partialPath.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0)
    throw InputError(withErrno("cannot write " + path));
  int failure = posix_fallocate(fd, 0, end);
  if (failure) {
    errno = failure;
    InputError error(withErrno(format("cannot write %lld bytes to %s", (long long)end, path.c_str())));
    close(fd);
    unlink(partialPath.c_str());
    throw error;
  }
  writeAt(fd, start.data(), int64_t(start.size()), 0, path);
}

std::unique_ptr<TensorFile> TensorFile::join(const std::string &path, const Manifest &manifest, Role role) {
  std::unique_ptr<TensorFile> file(new TensorFile(path, role));
  file->layOut(manifest);
  file->joined = true;
  file->fd = open(file->partialPath.c_str(), O_RDWR | O_CLOEXEC);
  if (file->fd < 0)
    throw InputError(withErrno("cannot write " + path + ", which the first rank has created: ranks on several machines "
                               "need a file system that they share"));
  return file;
}

TensorFile::~TensorFile() {
  if (fd < 0)
    return;
  close(fd);
  if (!joined)
    unlink(partialPath.c_str());
}

void TensorFile::writeBlocks(const Manifest &manifest, int64_t rank, const std::byte *arena) const {
  const Grid &grid = manifest.grid;
  for (const auto &[index, offset] : offsets) {
    auto [stage, buffer] = owner(manifest, role, index);
    if (stage != grid.stageOf(rank))
      continue;
    bool first = true;
    for (size_t axis = 0; axis < grid.axes().size(); ++axis) {
      bool cuts = int(axis) == grid.stageAxisIndex();
      for (const Cut &cut : buffer->cuts)
        for (int cutAxis : cut.axes)
          cuts |= cutAxis == int(axis);
      first &= cuts || grid.coordinate(rank, int(axis)) == 0;
    }
    if (!first)
      continue;
    Block block(grid, rank, manifest.parameters[index].shape, buffer->cuts);
    int64_t element = info(buffer->type).bytes;
    block.forEachRun([&, buffer = buffer, offset = offset](int64_t local, int64_t logical, int64_t length) {
      writeAt(fd, arena + buffer->offset + local * element, length * element, offset + logical * element, finalPath);
    });
  }
}

void TensorFile::commit() {
  if (rename(partialPath.c_str(), finalPath.c_str()) != 0)
    throw InputError(withErrno("cannot write " + finalPath));
  close(fd);
  fd = -1;
}

} // namespace ppcrt
