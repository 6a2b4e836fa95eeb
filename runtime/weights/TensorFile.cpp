// safetensors: 8 bytes of header size, a JSON header, then the tensors.
#include "runtime/weights/TensorFile.h"
#include "runtime/base/Error.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <sys/stat.h>
#include <unistd.h>

namespace ppcrt {

std::pair<int, const Buffer *> owningBuffer(const Manifest &manifest, Role role, int parameter) {
  for (size_t stage = 0; stage < manifest.devices.size(); ++stage)
    for (const Buffer &buffer : manifest.devices[stage].buffers)
      if (buffer.role == role && buffer.parameter == parameter)
        return {int(stage), &buffer};
  return {-1, nullptr};
}

std::vector<WrittenTensor> logicalTensors(const Manifest &manifest, Role role) {
  std::vector<WrittenTensor> tensors;
  for (size_t i = 0; i < manifest.parameters.size(); ++i)
    if (const Buffer *buffer = owningBuffer(manifest, role, int(i)).second)
      tensors.push_back({manifest.parameters[i].name, manifest.parameters[i].shape, buffer->type, int(i)});
  std::sort(tensors.begin(), tensors.end(),
            [](const WrittenTensor &a, const WrittenTensor &b) { return a.name < b.name; });
  return tensors;
}

bool writesBlock(const Grid &grid, int64_t rank, const Buffer &buffer) {
  for (size_t axis = 0; axis < grid.axes().size(); ++axis) {
    bool cuts = int(axis) == grid.stageAxisIndex();
    for (const Cut &cut : buffer.cuts)
      cuts |= std::find(cut.axes.begin(), cut.axes.end(), int(axis)) != cut.axes.end();
    if (!cuts && grid.coordinate(rank, int(axis)) != 0)
      return false;
  }
  return true;
}

std::pair<std::string, int64_t> TensorFile::layOut(const Manifest &manifest,
                                                   const std::vector<WrittenTensor> &tensors) {
  nlohmann::json header;
  header["__metadata__"] = {{"format", "pt"}, {"model", manifest.model}};
  int64_t begin = 0, end = 0;
  for (const WrittenTensor &tensor : tensors) {
    if (!header.contains(tensor.name)) { // else a further part of the last one
      begin = end;
      end += tensor.bytes();
    }
    header[tensor.name] = {
        {"dtype", info(tensor.type).safetensors}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
    if (tensor.parameter >= 0)
      placesOf[tensor.parameter].push_back(
          {tensor.begin, tensor.begin + (tensor.elements ? tensor.elements : elementCount(tensor.shape)),
           begin + tensor.first * info(tensor.type).bytes, tensor.type});
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  uint64_t size = text.size();
  std::string start(reinterpret_cast<const char *>(&size), 8);
  start += text;
  for (auto &[parameter, places] : placesOf) {
    std::sort(places.begin(), places.end(), [](const Place &a, const Place &b) { return a.begin < b.begin; });
    for (Place &place : places)
      place.offset += int64_t(start.size());
  }
  return {start, end + int64_t(start.size())};
}

TensorFile::TensorFile(const std::string &path, uint64_t run, const Manifest &manifest, Role role,
                       const std::vector<WrittenTensor> &tensors)
    : TensorFile(path, role) {
  auto [start, end] = layOut(manifest, tensors);
  struct stat status;
  if (isStream(path) || (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)))
    throw InputError("cannot write " + path + ": not a regular file");
  file = OutputFile::beside(path, run);
  try {
    file.reserve(end);
    file.writeAt(start.data(), int64_t(start.size()), 0);
  } catch (...) {
    unlink(file.path().c_str());
    throw;
  }
}

std::unique_ptr<TensorFile> TensorFile::join(const std::string &path, uint64_t run, const Manifest &manifest, Role role,
                                             const std::vector<WrittenTensor> &tensors) {
  std::unique_ptr<TensorFile> result(new TensorFile(path, role));
  result->layOut(manifest, tensors);
  result->stays = true;
  result->file = OutputFile::joinBeside(path, run);
  return result;
}

TensorFile::~TensorFile() {
  if (!stays && !file.path().empty())
    unlink(file.path().c_str());
}

void TensorFile::writeElements(const std::byte *data, DataType type, int64_t from, int64_t to, const Place &place,
                               int64_t at) const {
  int64_t element = info(type).bytes;
  if (type == place.type)
    return file.writeAt(data + from * element, (to - from) * element, place.offset + at * element);
  if (type != DataType::F32 || place.type != DataType::BF16)
    fatal("%s: values of type %s cannot be written as %s", finalPath.c_str(), info(type).name, info(place.type).name);
  constexpr int64_t strip = 1 << 16;
  std::vector<uint16_t> rounded;
  for (int64_t begin = from; begin < to; begin += strip) {
    rounded.resize(std::min(strip, to - begin));
    for (size_t i = 0; i < rounded.size(); ++i)
      rounded[i] = floatToBf16(reinterpret_cast<const float *>(data)[begin + int64_t(i)]);
    file.writeAt(rounded.data(), int64_t(rounded.size()) * 2, place.offset + (at + begin - from) * 2);
  }
}

void TensorFile::writeBlocks(const Manifest &manifest, int64_t rank, const DeviceMemory &memory) const {
  const Grid &grid = manifest.grid;
  for (const auto &[parameter, places] : placesOf) {
    auto [stage, buffer] = owningBuffer(manifest, role, parameter);
    if (stage != grid.stageOf(rank) || !writesBlock(grid, rank, *buffer))
      continue;
    const std::vector<Place> &list = places;
    std::vector<std::byte> content(size_t(buffer->bytes));
    memory.copyOut(buffer->offset, content.data(), buffer->bytes);
    Block(grid, rank, manifest.parameters[parameter].shape, buffer->cuts)
        .forEachRun([&, buffer = buffer](int64_t local, int64_t logical, int64_t length) {
          auto place = std::upper_bound(list.begin(), list.end(), logical,
                                        [](int64_t value, const Place &next) { return value < next.begin; });
          if (place != list.begin())
            --place;
          for (; place != list.end() && place->begin < logical + length; ++place) {
            int64_t from = std::max(logical, place->begin), to = std::min(logical + length, place->end);
            if (from < to)
              writeElements(content.data(), buffer->type, local + from - logical, local + to - logical, *place,
                            from - place->begin);
          }
        });
  }
}

void TensorFile::commit() {
  file.sync();
  renameFile(file.path(), targetOf(finalPath));
  stays = true;
}

} // namespace ppcrt
