// JSON values with paths.
#include "runtime/core/ManifestValue.h"
#include "runtime/core/Error.h"

#include <nlohmann/json.hpp>

namespace ppcrt {

using nlohmann::json;

void ManifestValue::fail(const std::string &what) const {
  throw InputError("manifest: " + (path.empty() ? "top level" : path) + ": " + what);
}

bool ManifestValue::has(const char *key) const { return object().contains(key); }

ManifestValue ManifestValue::at(const char *key) const {
  auto found = object().find(key);
  if (found == object().end())
    fail(std::string("missing key \"") + key + "\"");
  return {*found, path.empty() ? key : path + "." + key};
}

std::vector<ManifestValue> ManifestValue::list() const {
  if (!value->is_array())
    fail("expected a list, found " + show());
  std::vector<ManifestValue> result;
  for (size_t i = 0; i < value->size(); ++i)
    result.emplace_back((*value)[i], path + "[" + std::to_string(i) + "]");
  return result;
}

std::string ManifestValue::string() const {
  if (!value->is_string())
    fail("expected a string, found " + show());
  return value->get<std::string>();
}

int64_t ManifestValue::integer(int64_t least, int64_t most) const {
  if (!value->is_number_integer() || value->get<double>() < double(least) || value->get<double>() > double(most))
    fail(format("expected an integer from %lld to %lld, found ", (long long)least, (long long)most) + show());
  return value->get<int64_t>();
}

double ManifestValue::number() const {
  if (!value->is_number() || value->get<double>() < 0)
    fail("expected a number that is not negative, found " + show());
  return value->get<double>();
}

int ManifestValue::choice(const char *const *names, int count) const {
  std::string text = string(), all;
  for (int i = 0; i < count; ++i) {
    if (text == names[i])
      return i;
    all += (i ? ", " : "") + std::string(names[i]);
  }
  fail("unknown value \"" + text + "\"; known: " + all);
}

std::vector<int64_t> ManifestValue::shape() const {
  std::vector<int64_t> result;
  int64_t count = 1;
  for (const ManifestValue &dim : list()) {
    result.push_back(dim.integer(1));
    if (result.back() > maxSize / count)
      fail("more than 2^46 elements");
    count *= result.back();
  }
  return result;
}

DataType ManifestValue::type() const {
  if (std::optional<DataType> result = dataTypeByName(string()))
    return *result;
  fail("unknown type \"" + string() + "\"; known: f32, f64, i32, i64, bf16");
}

const json &ManifestValue::object() const {
  if (!value->is_object())
    fail("expected an object, found " + show());
  return *value;
}

std::string ManifestValue::show() const {
  std::string text = value->dump(-1, ' ', false, json::error_handler_t::replace);
  return text.size() > 40 ? text.substr(0, 40) + "..." : text;
}

} // namespace ppcrt
