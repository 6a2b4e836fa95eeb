// JSON to WeightMap.
#include "runtime/program/WeightMap.h"
#include "runtime/base/Error.h"
#include "runtime/program/Block.h"
#include "runtime/program/Manifest.h"

#include <algorithm>

namespace ppcrt {
namespace {

constexpr int64_t partLimit = 1 << 20; // tensors of one parameter

// A part has as many elements as its tensor, each at a position inside of it.
void readOrder(const JsonValue &value, WeightPart &part) {
  ElementOrder &order = part.order;
  order.sizes = value.at("sizes").shape();
  for (const JsonValue &stride : value.at("strides").list())
    order.strides.push_back(stride.integer(0, JsonValue::maxSize));
  int64_t whole = elementCount(part.shape), last = 0;
  if (order.sizes.empty() || order.strides.size() != order.sizes.size())
    value.at("strides").fail("expected one stride for each size");
  if (part.elements || elementCount(order.sizes) != whole)
    value.at("sizes").fail(
        format("the tensor has %lld elements, these are %lld", (long long)whole, (long long)elementCount(order.sizes)));
  for (size_t i = 0; i < order.sizes.size(); ++i)
    if (order.sizes[i] > 1 && order.strides[i] > (whole - 1 - last) / (order.sizes[i] - 1))
      value.at("strides").fail(format("an element is outside of the tensor of %lld", (long long)whole));
    else
      last += (order.sizes[i] - 1) * order.strides[i];
}

WeightPart readPart(const JsonValue &value) {
  WeightPart part{value.at("tensor").string(), value.at("shape").shape()};
  if (value.has("offset"))
    part.offset = value.at("offset").integer(0);
  if (value.has("count")) {
    part.count = value.at("count").integer(1, partLimit);
    part.step = value.at("step").integer(0, JsonValue::maxSize / part.count);
    if (part.tensor.find('*') == std::string::npos)
      value.at("tensor").fail("\"" + part.tensor + "\" has no \"*\" for the numbers of its tensors");
  }
  if (value.has("elements")) {
    part.first = value.at("first").integer(0);
    part.elements = value.at("elements").integer(1);
    if (int64_t whole = elementCount(part.shape); part.first > whole || part.elements > whole - part.first)
      value.at("elements").fail(format("the tensor has only %lld", (long long)whole));
  }
  if (value.has("sizes"))
    readOrder(value, part);
  if (value.has("companion")) {
    part.companion = value.at("companion").string();
    part.companionShape = value.at("companion_shape").shape();
  }
  return part;
}

WeightParts readParts(const JsonValue &value, const Parameter &parameter) {
  WeightParts parts;
  std::vector<std::pair<int64_t, int64_t>> ranges;
  for (const JsonValue &item : value.list()) {
    WeightPart part = readPart(item);
    for (int64_t i = 0; i < part.count; ++i) {
      int64_t begin = part.offset + i * part.step;
      ranges.emplace_back(begin, begin + part.size());
    }
    parts.push_back(std::move(part));
  }
  std::sort(ranges.begin(), ranges.end());
  int64_t end = 0;
  for (auto [begin, rangeEnd] : ranges) {
    if (begin != end)
      value.fail(format("the tensors do not cover the parameter at element %lld", (long long)std::min(begin, end)));
    end = rangeEnd;
  }
  if (end != elementCount(parameter.shape))
    value.fail(format("the tensors have %lld elements, the parameter has %lld", (long long)end,
                      (long long)elementCount(parameter.shape)));
  return parts;
}

} // namespace

int64_t ElementOrder::position(int64_t element) const {
  int64_t result = 0;
  for (size_t i = sizes.size(); i-- > 0; element /= sizes[i])
    result += element % sizes[i] * strides[i];
  return result;
}

int64_t WeightPart::size() const { return elements ? elements : elementCount(shape); }

std::string WeightPart::name(int64_t index) const {
  size_t star = count > 1 || step ? tensor.find('*') : std::string::npos;
  return star == std::string::npos ? tensor : tensor.substr(0, star) + std::to_string(index) + tensor.substr(star + 1);
}

bool matches(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, from = 0; // what follows the last star matches from `from` on
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*')
      star = p++, from = t;
    else if (p < pattern.size() && pattern[p] == text[t])
      ++p, ++t;
    else if (star != std::string_view::npos)
      p = star + 1, t = ++from;
    else
      return false;
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool WeightMap::isIgnored(const std::string &tensor) const {
  return std::any_of(ignored.begin(), ignored.end(),
                     [&](const std::string &pattern) { return matches(pattern, tensor); });
}

WeightMap readWeightMap(const JsonValue &manifest, const std::vector<Parameter> &parameters) {
  WeightMap map;
  map.parameters.resize(parameters.size());
  map.unrounded.resize(parameters.size(), false);
  auto indexOf = [&](const std::string &name, const JsonValue &where) {
    auto found = std::find_if(parameters.begin(), parameters.end(),
                              [&](const Parameter &parameter) { return parameter.name == name; });
    if (found == parameters.end())
      where.fail("no parameter has this name");
    return size_t(found - parameters.begin());
  };
  if (manifest.has("config"))
    map.config = manifest.at("config").string();
  if (manifest.has("weights")) {
    JsonValue weights = manifest.at("weights");
    if (weights.has("optional_prefix"))
      map.optionalPrefix = weights.at("optional_prefix").string();
    if (weights.has("ignored"))
      for (const JsonValue &pattern : weights.at("ignored").list())
        map.ignored.push_back(pattern.string());
    if (weights.has("config_keys"))
      for (const auto &[path, fallback] : weights.at("config_keys").members())
        map.configKeys[path] = fallback.string();
    if (weights.has("padding_token"))
      map.paddingToken = weights.at("padding_token").integer(0);
    if (weights.has("unrounded"))
      for (const JsonValue &name : weights.at("unrounded").list())
        map.unrounded[indexOf(name.string(), name)] = true;
    if (weights.has("parameters"))
      for (const auto &[name, ways] : weights.at("parameters").members()) {
        size_t index = indexOf(name, ways);
        for (const JsonValue &way : ways.list()) {
          map.parameters[index].push_back(readParts(way, parameters[index]));
          for (const WeightPart &part : map.parameters[index].front())
            if (!part.order.isSame())
              way.fail("the first way is written, which keeps the order of elements");
        }
      }
  }
  for (size_t i = 0; i < parameters.size(); ++i)
    if (map.parameters[i].empty())
      map.parameters[i] = {{WeightPart{parameters[i].name, parameters[i].shape}}};
  return map;
}

} // namespace ppcrt
