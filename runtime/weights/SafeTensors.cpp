// Header checks and conversions.
#include "runtime/weights/SafeTensors.h"
#include "runtime/base/Error.h"
#include "runtime/files/DataKind.h"
#include "runtime/files/JsonValue.h"
#include "runtime/program/Block.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <tuple>

namespace ppcrt {
namespace {

constexpr uint64_t headerLimit = 100'000'000; // as the reference implementation has it

struct StoredType {
  const char *name;
  int64_t bytes;
};
constexpr StoredType storedTypes[] = {
    {"BOOL", 1}, {"U8", 1},   {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1}, {"F8_E8M0", 1}, {"I16", 2}, {"U16", 2},
    {"F16", 2},  {"BF16", 2}, {"I32", 4}, {"U32", 4},     {"F32", 4},     {"F64", 8},     {"I64", 8}, {"U64", 8}};

int64_t elementBytes(const JsonValue &value) {
  std::string name = value.string();
  for (const StoredType &type : storedTypes)
    if (name == type.name)
      return type.bytes;
  std::string known;
  for (const StoredType &type : storedTypes)
    known += (known.empty() ? "" : ", ") + std::string(type.name);
  value.fail("unknown type \"" + name + "\"; known: " + known);
}

StoredTensor readTensor(const std::string &name, const JsonValue &value, int64_t start, int64_t dataBytes) {
  StoredTensor tensor{name, value.at("dtype").string(), value.at("shape").extents(), 0, 0, 0};
  tensor.elementBytes = elementBytes(value.at("dtype"));
  JsonValue offsets = value.at("data_offsets");
  std::vector<JsonValue> ends = offsets.list();
  if (ends.size() != 2)
    offsets.fail("expected two numbers");
  int64_t begin = ends[0].integer(0), end = ends[1].integer(0),
          bytes = elementCount(tensor.shape) * tensor.elementBytes;
  if (end < begin)
    offsets.fail(format("the tensor ends at byte %lld, before it begins at %lld", (long long)end, (long long)begin));
  if (end - begin != bytes)
    offsets.fail(format("the tensor has %lld bytes, but %s of type %s takes %lld", (long long)(end - begin),
                        showShape(tensor.shape).c_str(), tensor.type.c_str(), (long long)bytes));
  if (end > dataBytes)
    offsets.fail(format("the tensor ends at byte %lld of the data, but the file holds %lld: it is truncated",
                        (long long)end, (long long)dataBytes));
  tensor.begin = start + begin;
  tensor.end = start + end;
  return tensor;
}

// The tensors lie one behind the other and fill the file.
void checkCover(const SafeTensorsHeader &header, int64_t fileBytes, const std::string &path) {
  int64_t end = header.bytes;
  const StoredTensor *before = nullptr;
  for (const StoredTensor &tensor : header.tensors) {
    if (tensor.begin < end)
      throw InputError(format("%s: the tensors \"%s\" and \"%s\" overlap at byte %lld", path.c_str(),
                              before->name.c_str(), tensor.name.c_str(), (long long)tensor.begin));
    if (tensor.begin > end)
      throw InputError(format("%s: bytes %lld to %lld before the tensor \"%s\" belong to no tensor", path.c_str(),
                              (long long)end, (long long)tensor.begin, tensor.name.c_str()));
    end = tensor.end;
    before = &tensor;
  }
  if (end != fileBytes)
    throw InputError(format("%s: the tensors end at byte %lld, but the file has %lld", path.c_str(), (long long)end,
                            (long long)fileBytes));
}

float halfToFloat(uint16_t half) {
  uint32_t sign = uint32_t(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 0x3ff, bits;
  if (exponent == 31)
    bits = sign | 0x7f800000 | fraction << 13;
  else if (exponent)
    bits = sign | (exponent + 112) << 23 | fraction << 13;
  else {
    float value = float(fraction) * 0x1p-24f;
    std::memcpy(&bits, &value, 4);
    bits |= sign;
  }
  float result;
  std::memcpy(&result, &bits, 4);
  return result;
}

template <typename T> T read(const std::byte *from, int64_t index) {
  T value;
  std::memcpy(&value, from + index * int64_t(sizeof(T)), sizeof(T));
  return value;
}

// Calls store(i, value) with every value as `Value` that holds it exactly.
template <typename Store>
void forEachValue(const std::byte *in, const std::string &type, int64_t first, int64_t count, Store store) {
  if (type == "F64")
    for (int64_t i = 0; i < count; ++i)
      store(i, read<double>(in, first + i));
  else if (type == "F32")
    for (int64_t i = 0; i < count; ++i)
      store(i, read<float>(in, first + i));
  else if (type == "BF16")
    for (int64_t i = 0; i < count; ++i)
      store(i, bf16ToFloat(read<uint16_t>(in, first + i)));
  else
    for (int64_t i = 0; i < count; ++i)
      store(i, halfToFloat(read<uint16_t>(in, first + i)));
}

} // namespace

SafeTensorsHeader parseSafeTensors(std::string_view text, int64_t fileBytes, const std::string &path) {
  if (fileBytes == 0)
    throw InputError(path + ": the file is empty");
  if (std::string problem = foreignWeights(text, path); !problem.empty())
    throw InputError(problem);
  if (fileBytes < 8 || text.size() < 8)
    throw InputError(format("%s: %lld bytes are too few for a safetensors file", path.c_str(), (long long)fileBytes));
  uint64_t size;
  std::memcpy(&size, text.data(), 8);
  if (size > headerLimit)
    throw InputError(format("%s: a header of %llu bytes is larger than the %llu that safetensors allows: this is no "
                            "safetensors file",
                            path.c_str(), (unsigned long long)size, (unsigned long long)headerLimit));
  if (size > uint64_t(fileBytes) - 8 || size > text.size() - 8)
    throw InputError(format("%s: the header has %llu bytes, but the file only %lld: it is truncated", path.c_str(),
                            (unsigned long long)size, (long long)fileBytes));
  nlohmann::json document = parseJson(text.substr(8, size), path);
  SafeTensorsHeader header{{}, {}, 8 + int64_t(size)};
  for (const auto &[name, value] : JsonValue(document, path).members()) {
    if (name != "__metadata__") {
      header.tensors.push_back(readTensor(name, value, header.bytes, fileBytes - header.bytes));
      continue;
    }
    for (const auto &[key, item] : value.members())
      header.metadata[key] = item.string();
  }
  std::sort(header.tensors.begin(), header.tensors.end(), [](const StoredTensor &a, const StoredTensor &b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  checkCover(header, fileBytes, path);
  return header;
}

SafeTensorsFile::SafeTensorsFile(const std::string &path)
    : file(path), content(parseSafeTensors(file.text(), file.size(), path)) {
  for (size_t i = 0; i < content.tensors.size(); ++i)
    byName[content.tensors[i].name] = i;
}

const StoredTensor *SafeTensorsFile::find(const std::string &name) const {
  auto found = byName.find(name);
  return found == byName.end() ? nullptr : &content.tensors[found->second];
}

bool isConvertible(const std::string &type) {
  return type == "F64" || type == "F32" || type == "BF16" || type == "F16";
}

void convert(const std::byte *in, const std::string &storedType, int64_t inIndex, std::byte *out, DataType type,
             int64_t outIndex, int64_t count) {
  if (storedType == info(type).safetensors) {
    std::memcpy(out + outIndex * info(type).bytes, in + inIndex * info(type).bytes, count * info(type).bytes);
    return;
  }
  if (type == DataType::F64)
    forEachValue(in, storedType, inIndex, count,
                 [&](int64_t i, auto value) { reinterpret_cast<double *>(out)[outIndex + i] = value; });
  else if (type == DataType::F32)
    forEachValue(in, storedType, inIndex, count,
                 [&](int64_t i, auto value) { reinterpret_cast<float *>(out)[outIndex + i] = float(value); });
  else
    forEachValue(in, storedType, inIndex, count, [&](int64_t i, auto value) {
      reinterpret_cast<uint16_t *>(out)[outIndex + i] = floatToBf16(float(value));
    });
}

} // namespace ppcrt
