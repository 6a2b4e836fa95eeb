// Decoding numbers of 8 and 4 bits.
#include "runtime/weights/QuantizedTensor.h"
#include "runtime/base/Error.h"
#include "runtime/program/Block.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

namespace ppcrt {
namespace {

constexpr int64_t nvfp4Group = 16;

bool endsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// 4 bits of exponent with bias 7, 3 of fraction; all ones is no number, and there is no infinity.
float fromE4m3(uint8_t bits) {
  int exponent = bits >> 3 & 15, fraction = bits & 7;
  float value = (bits & 0x7f) == 0x7f ? NAN
                : exponent            ? std::ldexp(float(8 + fraction), exponent - 10)
                                      : std::ldexp(float(fraction), -9);
  return bits & 0x80 ? -value : value;
}

// 2 bits of exponent with bias 1, 1 of fraction.
float fromE2m1(uint8_t bits) {
  constexpr float values[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  return bits & 8 ? -values[bits & 7] : values[bits & 7];
}

[[noreturn]] void failAt(const PlacedTensor &place, const std::string &text) {
  throw InputError(
      format("%s: the tensor \"%s\" %s", place.file->path().c_str(), place.tensor->name.c_str(), text.c_str()));
}

float scaleOf(const PlacedTensor &place, int64_t index) {
  const std::string &type = place.tensor->type;
  float value = 0;
  if (type == "F8_E4M3")
    value = fromE4m3(uint8_t(place.data()[index]));
  else if (type == "F8_E8M0")
    value = std::ldexp(1.f, int(uint8_t(place.data()[index])) - 127);
  else if (isConvertible(type))
    convert(place.data(), type, index, reinterpret_cast<std::byte *>(&value), DataType::F32, 0, 1);
  else
    failAt(place, "holds scales of type " + type + "; F32, F64, BF16, F16, F8_E4M3 and F8_E8M0 can be read");
  if (!std::isfinite(value))
    failAt(place, format("holds a scale that is not finite, element %lld", (long long)index));
  return value;
}

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

} // namespace

bool isActivationScale(const std::string &name) {
  return endsWith(name, ".input_scale") || endsWith(name, ".input_global_scale") || endsWith(name, ".k_scale") ||
         endsWith(name, ".v_scale") || endsWith(name, ".output_scale");
}

const char *QuantizedTensor::format() const {
  return kind == Kind::Fp8 ? "FP8" : kind == Kind::Nvfp4 ? "NVFP4" : "INT4";
}

void QuantizedTensor::readWholeScale(const PlacedTensor &scale, bool divides) {
  if (elementCount(scale.tensor->shape) != 1)
    failAt(scale, "has shape " + showShape(scale.tensor->shape) + "; it is one number");
  float value = scaleOf(scale, 0);
  if (divides && value == 0)
    failAt(scale, "is 0, and values are divided by it");
  whole = divides ? 1 / value : value;
}

void QuantizedTensor::readScales(const PlacedTensor &place, int64_t rowsOfBlock, int64_t columnsOfBlock) {
  rowBlock = rowsOfBlock, columnBlock = columnsOfBlock, scaleColumns = ceilDiv(columns, columnBlock);
  std::vector<int64_t> expected = {ceilDiv(rows, rowBlock), scaleColumns};
  if (place.tensor->shape != expected)
    failAt(place,
           ppcrt::format("has shape %s; %s of \"%s\" in blocks of %lld x %lld need %s (quantization_config of "
                         "config.json says the blocks)",
                         showShape(place.tensor->shape).c_str(), showShape(tensor.shape).c_str(), tensor.name.c_str(),
                         (long long)rowBlock, (long long)columnBlock, showShape(expected).c_str()));
  for (int64_t i = 0; i < elementCount(expected); ++i)
    scales.push_back(scaleOf(place, i));
}

std::optional<QuantizedTensor> QuantizedTensor::of(const std::string &name, const Find &find,
                                                   const QuantizedBlocks &blocks) {
  QuantizedTensor result;
  auto part = [&](const char *end) {
    PlacedTensor found = find(name + end);
    if (found.tensor)
      result.names.push_back(name + end);
    return found;
  };
  PlacedTensor plain = find(name), packed = plain.tensor ? PlacedTensor() : part("_packed");
  result.stored = plain.tensor ? plain : packed;
  if (!result.stored.tensor)
    return std::nullopt;
  const StoredTensor &stored = *result.stored.tensor;
  const std::string &type = stored.type;
  bool isFp8 = plain.tensor && type == "F8_E4M3", isFour = type == "U8", isInt4 = packed.tensor && type == "I32";
  if (!isFp8 && !isFour && !isInt4)
    return std::nullopt;
  result.kind = isFp8 ? Kind::Fp8 : isFour ? Kind::Nvfp4 : Kind::Int4;
  result.tensor = stored;
  result.tensor.name = name;
  PlacedTensor inverse = isFp8 ? part("_scale_inv") : PlacedTensor(), scale = inverse.tensor ? inverse : part("_scale");
  if (!scale.tensor)
    failAt(result.stored, "is of type " + type + ", and no \"" + name + (isFp8 ? "_scale_inv\" or \"" + name : "") +
                              "_scale\" is there: without scales its values are unknown");
  if (isFp8 && elementCount(scale.tensor->shape) == 1) { // of a tensor of any rank
    result.rows = 1, result.columns = elementCount(stored.shape);
    result.scales = {scaleOf(scale, 0)}, result.rowBlock = 1, result.columnBlock = std::max<int64_t>(1, result.columns);
    return result;
  }
  if (stored.shape.size() != 2)
    failAt(result.stored, "has shape " + showShape(stored.shape) + "; scales of blocks belong to a matrix");
  result.rows = stored.shape[0], result.columns = stored.shape[1] * (isFp8 ? 1 : isFour ? 2 : 8);
  result.tensor.shape = {result.rows, result.columns};
  if (isFp8) {
    bool ofRows = scale.tensor->shape == std::vector<int64_t>{result.rows, 1};
    result.readScales(scale, ofRows ? 1 : blocks.rows, ofRows ? result.columns : blocks.columns);
    return result;
  }
  if (isFour) {
    result.readScales(scale, 1, nvfp4Group);
    PlacedTensor second = part("_scale_2"), global = second.tensor ? PlacedTensor() : part("_global_scale");
    if (!second.tensor && !global.tensor)
      failAt(result.stored, "is of type U8, and no \"" + name + "_scale_2\" or \"" + name + "_global_scale\" is there");
    result.readWholeScale(second.tensor ? second : global, /*divides=*/!second.tensor);
    return result;
  }
  if (PlacedTensor zero = part("_zero_point"); zero.tensor)
    failAt(zero, "moves the zero of INT4 values, which is not read: only symmetric ones are");
  int64_t groups = scale.tensor->shape.size() == 2 ? scale.tensor->shape[1] : 0;
  result.readScales(scale, 1, groups > 0 && result.columns % groups == 0 ? result.columns / groups : 32);
  if (PlacedTensor shape = part("_shape"); shape.tensor) {
    int64_t said[2] = {0, 0};
    bool isWide = shape.tensor->type == "I64", isNarrow = shape.tensor->type == "I32";
    for (int i = 0; i < 2 && elementCount(shape.tensor->shape) == 2 && (isWide || isNarrow); ++i)
      std::memcpy(&said[i], shape.data() + i * (isWide ? 8 : 4), isWide ? 8 : 4);
    if (said[0] != result.rows || said[1] != result.columns)
      failAt(shape, ppcrt::format("says [%lld, %lld]; the packed values are %s", (long long)said[0], (long long)said[1],
                                  showShape(result.tensor.shape).c_str()));
  }
  return result;
}

float QuantizedTensor::numberAt(int64_t row, int64_t column) const {
  const std::byte *data = stored.data();
  if (kind == Kind::Fp8)
    return fromE4m3(uint8_t(data[row * columns + column]));
  uint8_t both = uint8_t(data[(row * columns + column) / 2]), half = column % 2 ? both >> 4 : both & 15;
  return kind == Kind::Nvfp4 ? fromE2m1(half) : float(half) - 8;
}

// In f32, as references do: the scales' product first.
void QuantizedTensor::read(int64_t first, int64_t count, double *values) const {
  int64_t row = first / columns, column = first % columns;
  for (int64_t i = 0; i < count; ++i) {
    values[i] = double(numberAt(row, column) * scaleAt(row, column));
    if (++column == columns)
      ++row, column = 0;
  }
}

} // namespace ppcrt
