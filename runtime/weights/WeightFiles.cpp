// Finding tensors, checking them against the program, reading blocks.
#include "runtime/weights/WeightFiles.h"
#include "runtime/base/Error.h"
#include "runtime/base/NotFinite.h"
#include "runtime/weights/WeightConfig.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <sys/stat.h>

namespace ppcrt {
namespace {

constexpr const char *configFile = "config.json";
constexpr size_t namesShown = 4;
constexpr int64_t strip = 4096; // elements that are converted at a time

bool exists(const std::string &path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0;
}

bool isFolder(const std::string &path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool pathEndsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::string showNames(const std::vector<std::string> &names) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), namesShown); ++i)
    text += (i ? ", " : "") + names[i];
  return names.size() > namesShown ? text + format(" and %zu more", names.size() - namesShown) : text;
}

// Files of models of several parts have more before the names of the text part.
constexpr const char *textPrefixes[][2] = {{"model.language_model.", "model."},
                                           {"language_model.model.", "model."},
                                           {"language_model.lm_head.", "lm_head."},
                                           {"backbone.", "model."}};
constexpr const char *otherPrefixes[] = {
    "model.visual.",         "visual.",       "vision_tower.", "vision_model.",
    "model.vision_",         "mm_projector.", "audio_tower.",  "model.multi_modal_projector.",
    "multi_modal_projector."};

bool beginsWith(const std::string &text, const std::string &begin) { return text.compare(0, begin.size(), begin) == 0; }

std::string nameInText(const std::string &name) {
  for (const auto &[prefix, replaced] : textPrefixes)
    if (beginsWith(name, prefix))
      return replaced + name.substr(std::string(prefix).size());
  return name;
}

// What its name begins with, up to a number: "model.layers.".
std::string family(const std::string &name) {
  size_t digit = name.find_first_of("0123456789");
  return digit == std::string::npos || !digit || name[digit - 1] != '.' ? name : name.substr(0, digit) + "*";
}

} // namespace

WeightFiles::WeightFiles(const std::string &path, const Manifest &manifest) : source(path) {
  openAll(path);
  placeAll();
  dequantize(isFolder(path) ? path + "/" : path.substr(0, path.find_last_of('/') + 1), manifest.weights);
  const std::string &optional = manifest.weights.optionalPrefix;
  bool hasPrefix = std::any_of(places.begin(), places.end(), [&](const auto &place) {
    return place.first.compare(0, optional.size(), optional) == 0;
  });
  prefix = hasPrefix ? "" : optional;
  resolve(manifest);
  checkExtra(manifest);
  if (isFolder(path) && exists(path + "/" + configFile))
    checkConfig(path + "/" + configFile, manifest.weights, firstFile());
}

void WeightFiles::openAll(const std::string &path) {
  if (!isFolder(path))
    return pathEndsWith(path, ".index.json") ? openIndex(path.substr(0, path.find_last_of('/') + 1), path) : open(path);
  std::string folder = path + "/";
  if (exists(folder + indexFile))
    return openIndex(folder, folder + indexFile);
  if (!exists(folder + singleFile))
    throw InputError(path + ": the folder holds neither " + singleFile + " nor " + indexFile);
  open(folder + singleFile);
}

void WeightFiles::openIndex(const std::string &folder, const std::string &index) {
  nlohmann::json document = parseJson(readText(index), index);
  std::map<std::string, const SafeTensorsFile *> opened;
  for (const auto &[tensor, file] : JsonValue(document, index).at("weight_map").members()) {
    std::string name = file.string();
    if (name.find('/') != std::string::npos || name.empty())
      file.fail("\"" + name + "\" is not the name of a file in the same folder");
    const SafeTensorsFile *&place = opened[name];
    if (!place) {
      if (!exists(folder + name))
        file.fail("the file \"" + name + "\" is absent");
      open(folder + name);
      place = files.back().get();
    }
    if (!place->find(tensor))
      file.fail("the file \"" + name + "\" does not hold this tensor");
  }
}

void WeightFiles::open(const std::string &path) { files.push_back(std::make_unique<SafeTensorsFile>(path)); }

void WeightFiles::placeAll() {
  for (const auto &file : files)
    for (const StoredTensor &tensor : file->header().tensors) {
      if (std::any_of(std::begin(otherPrefixes), std::end(otherPrefixes),
                      [&](const char *prefix) { return beginsWith(tensor.name, prefix); })) {
        otherParts.push_back(tensor.name);
        continue;
      }
      auto [found, isNew] = places.emplace(nameInText(tensor.name), Place{file.get(), &tensor});
      if (isNew)
        continue;
      const Place &first = found->second;
      std::string as = tensor.name == first.tensor->name ? "" : " as \"" + first.tensor->name + "\"";
      throw InputError(format("%s: the tensor \"%s\" is also in %s%s", file->path().c_str(), tensor.name.c_str(),
                              first.file->path().c_str(), as.c_str()));
    }
  if (places.empty() && !otherParts.empty())
    throw InputError(format("%s: the files hold no tensor of the text part, only others: %s", source.c_str(),
                            showNames(otherParts).c_str()));
}

// What is quantised is there from here on as one tensor of the parameter's name and shape.
void WeightFiles::dequantize(const std::string &folder, const WeightMap &weights) {
  QuantizedBlocks blocks;
  if (std::string file = folder + configFile; exists(file)) {
    nlohmann::json document = parseJson(readText(file), file);
    nlohmann::json said =
        document.is_object() ? document.value("quantization_config", nlohmann::json()) : nlohmann::json();
    if (said.is_object() && said.contains("weight_block_size")) {
      nlohmann::json sizes = said["weight_block_size"];
      bool isPair = sizes.is_array() && sizes.size() == 2 && sizes[0].is_number_unsigned() &&
                    sizes[1].is_number_unsigned() && sizes[0] > 0 && sizes[1] > 0;
      if (!isPair && !sizes.is_null())
        throw InputError(file + ": key \"quantization_config.weight_block_size\": expected two numbers > 0, found " +
                         sizes.dump());
      if (isPair)
        blocks = {sizes[0], sizes[1]};
    }
  }
  auto find = [&](const std::string &name) {
    auto found = places.find(name);
    return found == places.end() ? PlacedTensor() : PlacedTensor{found->second.file, found->second.tensor};
  };
  std::vector<std::string> names;
  constexpr const char *packed = "_packed";
  for (const auto &[name, place] : places)
    if (!weights.isIgnored(name) &&
        (place.tensor->type == "F8_E4M3" || place.tensor->type == "U8" || pathEndsWith(name, packed)))
      names.push_back(pathEndsWith(name, packed) ? name.substr(0, name.size() - std::strlen(packed)) : name);
  std::sort(names.begin(), names.end());
  std::vector<std::string> parts;
  for (const std::string &name : names) {
    if (pathEndsWith(name, "_scale")) // of NVFP4, F8_E4M3 itself
      continue;
    std::optional<QuantizedTensor> tensor = QuantizedTensor::of(name, find, blocks);
    if (!tensor)
      continue;
    const SafeTensorsFile *file = (find(name).tensor ? find(name) : find(name + packed)).file;
    parts.insert(parts.end(), tensor->parts().begin(), tensor->parts().end());
    quantized.push_back(std::make_unique<QuantizedTensor>(std::move(*tensor)));
    places[name] = {file, &quantized.back()->logical(), quantized.back().get()};
  }
  for (const std::string &part : parts)
    places.erase(part);
  for (auto place = places.begin(); place != places.end();)
    place = isActivationScale(place->first) ? places.erase(place) : std::next(place);
}

// Names with different beginnings, for a message.
std::string WeightFiles::showPresent() const {
  std::map<std::string, int64_t> counts;
  for (const auto &[name, place] : places)
    ++counts[family(place.tensor->name)];
  std::vector<std::string> names;
  for (const auto &[name, count] : counts)
    names.push_back(count > 1 ? format("%s (%lld)", name.c_str(), (long long)count) : name);
  return showNames(names);
}

void WeightFiles::Segment::read(int64_t inside, std::byte *out, DataType type, int64_t at, int64_t length) const {
  if (order.isSame())
    return readRow(first + inside, out, type, at, length);
  for (int64_t done = 0; done < length;) {
    int64_t count = std::min(length - done, order.runLength(inside + done)), step = order.strides.back();
    step == 1 ? readRow(position(inside + done), out, type, at + done, count)
              : readApart(position(inside + done), step, out, type, at + done, count);
    done += count;
  }
}

void WeightFiles::Segment::readRow(int64_t from, std::byte *out, DataType type, int64_t at, int64_t length) const {
  if (!quantized)
    return convert(file->data(*tensor), tensor->type, from, out, type, at, length);
  std::vector<double> values(std::min(strip, length));
  for (int64_t done = 0; done < length; done += strip) {
    int64_t count = std::min(strip, length - done);
    quantized->read(from + done, count, values.data());
    convert(reinterpret_cast<const std::byte *>(values.data()), "F64", 0, out, type, at + done, count);
  }
}

void WeightFiles::Segment::readApart(int64_t from, int64_t step, std::byte *out, DataType type, int64_t at,
                                     int64_t length) const {
  int64_t bytes = quantized ? int64_t(sizeof(double)) : tensor->elementBytes;
  std::vector<std::byte> values(size_t(std::min(strip, length) * bytes));
  for (int64_t done = 0; done < length; done += strip) {
    int64_t count = std::min(strip, length - done);
    for (int64_t i = 0; i < count; ++i)
      if (int64_t element = from + (done + i) * step; quantized)
        quantized->read(element, 1, reinterpret_cast<double *>(values.data()) + i);
      else
        std::memcpy(values.data() + i * bytes, file->data(*tensor) + element * bytes, size_t(bytes));
    convert(values.data(), quantized ? "F64" : tensor->type, 0, out, type, at + done, count);
  }
}

const WeightFiles::Place *WeightFiles::find(const std::string &name) const {
  bool shorter = !prefix.empty() && name.compare(0, prefix.size(), prefix) == 0;
  auto found = places.find(shorter ? name.substr(prefix.size()) : name);
  return found == places.end() ? nullptr : &found->second;
}

// The first way whose tensors are all there and fit, or else are all there; null with the names missing from the way of
// which most is there.
const WeightParts *WeightFiles::choose(const std::vector<WeightParts> &ways, const std::vector<int64_t> &whole,
                                       std::vector<std::string> &missing) const {
  const WeightParts *complete = nullptr;
  for (const WeightParts &way : ways)
    if (isComplete(way)) {
      if (fits(way, whole))
        return &way;
      complete = complete ? complete : &way;
    }
  if (complete)
    return complete;
  bool first = true;
  size_t best = 0;
  std::vector<std::string> lacking;
  for (const WeightParts &way : ways) {
    std::vector<std::string> absent;
    size_t present = 0;
    for (const WeightPart &part : way)
      for (int64_t i = 0; i < part.count; ++i)
        find(part.name(i)) ? void(++present) : absent.push_back(part.name(i));
    if (first || present > best)
      lacking = absent, best = present;
    first = false;
  }
  missing.insert(missing.end(), lacking.begin(), lacking.end());
  return nullptr;
}

bool WeightFiles::isComplete(const WeightParts &way) const {
  for (const WeightPart &part : way)
    for (int64_t i = 0; i < part.count; ++i)
      if (!find(part.name(i)))
        return false;
  return true;
}

// Ways that differ in the order of elements only, of which the shape has told.
static bool isSameTensors(const WeightParts &a, const WeightParts &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const WeightPart &one, const WeightPart &other) {
    return one.tensor == other.tensor && one.count == other.count;
  });
}

// As --save-parameters writes a parameter: one tensor, in the program's shape.
static bool isWholeParameter(const WeightParts &way, const StoredTensor &tensor, const std::vector<int64_t> &whole) {
  return way.size() == 1 && way.front().count == 1 && way.front().order.isSame() && tensor.shape == whole;
}

bool WeightFiles::fits(const WeightParts &way, const std::vector<int64_t> &whole) const {
  for (const WeightPart &part : way) {
    const Place *companion = part.companion.empty() ? nullptr : find(part.companion);
    if (companion && companion->tensor->shape != part.companionShape)
      return false;
    for (int64_t i = 0; i < part.count; ++i)
      if (const StoredTensor &tensor = *find(part.name(i))->tensor;
          tensor.shape != part.shape && !isWholeParameter(way, tensor, whole))
        return false;
  }
  return true;
}

std::vector<WeightFiles::Segment> WeightFiles::segmentsOf(const WeightParts &way, const std::vector<int64_t> &whole) {
  std::vector<Segment> list;
  for (const WeightPart &part : way)
    for (int64_t k = 0; k < part.count; ++k) {
      const Place &place = *find(part.name(k));
      checkFit(place, isWholeParameter(way, *place.tensor, whole) ? whole : part.shape);
      list.push_back({part.offset + k * part.step, part.size(), part.first, place.file, place.tensor, place.quantized,
                      part.order});
      used[nameInText(place.tensor->name)] = true;
    }
  std::sort(list.begin(), list.end(), [](const Segment &a, const Segment &b) { return a.begin < b.begin; });
  return list;
}

void WeightFiles::readLogical(const std::vector<Segment> &list, int64_t logical, int64_t count, double *values) {
  auto at = std::upper_bound(list.begin(), list.end(), logical,
                             [](int64_t value, const Segment &segment) { return value < segment.begin; });
  for (int64_t done = 0; done < count; ++at) {
    const Segment &segment = *(at - 1);
    int64_t inside = logical + done - segment.begin, length = std::min(count - done, segment.count - inside);
    segment.read(inside, reinterpret_cast<std::byte *>(values), DataType::F64, done, length);
    done += length;
  }
}

// A file that holds a parameter twice says nothing more than one that holds it once, as long as both are equal.
void WeightFiles::checkSame(const std::vector<Segment> &read, const std::vector<Segment> &other, int64_t elements) {
  constexpr int64_t chunk = 4096;
  std::vector<double> a(chunk), b(chunk);
  for (int64_t begin = 0; begin < elements; begin += chunk) {
    int64_t count = std::min(chunk, elements - begin);
    readLogical(read, begin, count, a.data());
    readLogical(other, begin, count, b.data());
    for (int64_t i = 0; i < count; ++i)
      if (!(a[i] == b[i])) {
        auto holder = [&](const std::vector<Segment> &list) {
          return std::upper_bound(list.begin(), list.end(), begin + i,
                                  [](int64_t value, const Segment &segment) { return value < segment.begin; }) -
                 1;
        };
        auto first = holder(read), second = holder(other);
        throw InputError(format(
            "%s: the tensors \"%s\" and \"%s\" differ (%g and %g at element %lld), but they are one parameter of the "
            "program: compile it with \"tie_word_embeddings\": false where both are to be trained, or remove the one "
            "that does not count from the file",
            second->file->path().c_str(), first->tensor->name.c_str(), second->tensor->name.c_str(), a[i], b[i],
            (long long)second->position(begin + i - second->begin)));
      }
  }
}

void WeightFiles::checkFit(const Place &place, const std::vector<int64_t> &shape) const {
  const StoredTensor &tensor = *place.tensor;
  if (tensor.shape != shape)
    throw InputError(format("%s: the tensor \"%s\" has shape %s, the model needs %s", place.file->path().c_str(),
                            tensor.name.c_str(), showShape(tensor.shape).c_str(), showShape(shape).c_str()));
  if (!place.quantized && !isConvertible(tensor.type))
    throw InputError(
        format("%s: the tensor \"%s\" is of type %s; F32, F64, BF16 and F16 can be read, and FP8, NVFP4 and "
               "INT4 with the scales that go with them",
               place.file->path().c_str(), tensor.name.c_str(), tensor.type.c_str()));
}

void WeightFiles::resolve(const Manifest &manifest) {
  std::vector<std::string> missing;
  segments.resize(manifest.parameters.size());
  for (size_t i = 0; i < manifest.parameters.size(); ++i) {
    const std::vector<int64_t> &whole = manifest.parameters[i].shape;
    const WeightParts *way = choose(manifest.weights.parameters[i], whole, missing);
    if (!way)
      continue;
    segments[i] = segmentsOf(*way, whole);
    segmentCount += segments[i].size();
    for (const Segment &segment : segments[i])
      totalBytes += segment.count * segment.tensor->elementBytes;
    for (const WeightParts &other : manifest.weights.parameters[i])
      if (&other != way && isComplete(other) && !isSameTensors(other, *way))
        checkSame(segments[i], segmentsOf(other, whole), elementCount(whole));
  }
  if (!missing.empty())
    throw InputError(format("%s: %zu tensor%s of the model %s missing: %s; the files hold %s", source.c_str(),
                            missing.size(), missing.size() == 1 ? "" : "s", missing.size() == 1 ? "is" : "are",
                            showNames(missing).c_str(), showPresent().c_str()));
}

void WeightFiles::checkExtra(const Manifest &manifest) {
  std::vector<std::string> extra;
  for (const auto &[name, place] : places)
    if (!used.count(name))
      (manifest.weights.isIgnored(name) ? ignored : extra).push_back(name);
  if (!extra.empty())
    throw InputError(format("%s: %zu tensor%s not of the model: %s", source.c_str(), extra.size(),
                            extra.size() == 1 ? " is" : "s are", showNames(extra).c_str()));
}

std::string WeightFiles::note() const {
  std::vector<std::string> left = ignored;
  left.insert(left.end(), otherParts.begin(), otherParts.end());
  std::string text;
  if (!quantized.empty())
    text = format("%zu tensor%s of %s, %s and the like, %s dequantised from %s", quantized.size(),
                  quantized.size() == 1 ? "" : "s", source.c_str(), quantized.front()->logical().name.c_str(),
                  quantized.size() == 1 ? "is" : "are", quantized.front()->format());
  if (left.empty())
    return text;
  return text + (text.empty() ? "" : "; ") +
         format("%zu tensor%s of %s %s not read, as the program leaves out or computes itself what %s: %s", left.size(),
                left.size() == 1 ? "" : "s", source.c_str(), left.size() == 1 ? "is" : "are",
                left.size() == 1 ? "it holds" : "they hold", showNames(left).c_str());
}

std::string WeightFiles::firstFile() const {
  return exists(source + "/" + indexFile) ? source + "/" + indexFile : source + "/" + singleFile;
}

int64_t WeightFiles::load(const Buffer &buffer, const Block &block, std::byte *data) const {
  const std::vector<Segment> &list = segments[buffer.parameter];
  std::memset(data, 0, buffer.bytes);
  int64_t readBytes = 0;
  block.forEachRun([&](int64_t local, int64_t logical, int64_t length) {
    auto at = std::upper_bound(list.begin(), list.end(), logical,
                               [](int64_t value, const Segment &segment) { return value < segment.begin; });
    for (--at; length > 0; ++at) {
      int64_t inside = logical - at->begin, count = std::min(length, at->count - inside);
      at->read(inside, data, buffer.type, local, count);
      if (int64_t bad = firstNotFinite(data + local * info(buffer.type).bytes, buffer.type, count); bad >= 0)
        throw InputError(format("%s: element %lld of the tensor \"%s\" is not finite", at->file->path().c_str(),
                                (long long)at->position(inside + bad), at->tensor->name.c_str()));
      readBytes += count * at->tensor->elementBytes;
      local += count, logical += count, length -= count;
    }
  });
  return readBytes;
}

} // namespace ppcrt
