// nlohmann's parser with a watch on keys and depth; values with paths.
#include "runtime/core/JsonValue.h"
#include "runtime/core/Error.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace ppcrt {

using nlohmann::json;

json parseJson(std::string_view text, const std::string &what) {
  constexpr int depthLimit = int(mlir::ppc::limits::nesting);
  std::vector<std::set<std::string>> keys;
  auto watch = [&](int depth, json::parse_event_t event, json &value) {
    if (depth > depthLimit)
      throw InputError(format("%s: nested deeper than %d", what.c_str(), depthLimit));
    if (event == json::parse_event_t::object_start)
      keys.emplace_back();
    else if (event == json::parse_event_t::object_end)
      keys.pop_back();
    else if (event == json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second)
      throw InputError(what + ": key \"" + value.get<std::string>() + "\" is given twice");
    return true;
  };
  try {
    return json::parse(text.begin(), text.end(), watch);
  } catch (const json::parse_error &error) {
    throw InputError(format("%s: not valid JSON at byte %zu of %zu", what.c_str(), error.byte, text.size()));
  } catch (const json::exception &error) { // numbers out of range
    throw InputError(what + ": not valid JSON: " + error.what());
  }
}

void JsonValue::fail(const std::string &what) const {
  throw InputError(document + ": " + (path.empty() ? "top level" : path) + ": " + what);
}

bool JsonValue::has(const char *key) const { return object().contains(key); }

JsonValue JsonValue::at(const char *key) const {
  auto found = object().find(key);
  if (found == object().end())
    fail(std::string("missing key \"") + key + "\"");
  return {*found, document, path.empty() ? key : path + "." + key};
}

std::vector<JsonValue> JsonValue::list() const {
  if (!value->is_array())
    fail("expected a list, found " + show());
  std::vector<JsonValue> result;
  for (size_t i = 0; i < value->size(); ++i)
    result.emplace_back((*value)[i], document, path + "[" + std::to_string(i) + "]");
  return result;
}

std::vector<std::pair<std::string, JsonValue>> JsonValue::members() const {
  std::vector<std::pair<std::string, JsonValue>> result;
  for (const auto &[key, item] : object().items())
    result.emplace_back(key, JsonValue(item, document, path.empty() ? key : path + "." + key));
  return result;
}

bool JsonValue::isNull() const { return value->is_null(); }
bool JsonValue::isString() const { return value->is_string(); }
bool JsonValue::isObject() const { return value->is_object(); }
bool JsonValue::isArray() const { return value->is_array(); }

bool JsonValue::boolean() const {
  if (!value->is_boolean())
    fail("expected true or false, found " + show());
  return value->get<bool>();
}

std::string JsonValue::string() const {
  if (!value->is_string())
    fail("expected a string, found " + show());
  return value->get<std::string>();
}

int64_t JsonValue::integer(int64_t least, int64_t most) const {
  if (!value->is_number_integer() || value->get<double>() < double(least) || value->get<double>() > double(most))
    fail(format("expected an integer from %lld to %lld, found ", (long long)least, (long long)most) + show());
  return value->get<int64_t>();
}

double JsonValue::number() const {
  if (!value->is_number() || value->get<double>() < 0)
    fail("expected a number that is not negative, found " + show());
  return value->get<double>();
}

double JsonValue::real() const {
  if (!value->is_number())
    fail("expected a number, found " + show());
  return value->get<double>();
}

int JsonValue::choice(const char *const *names, int count) const {
  std::string text = string(), all;
  for (int i = 0; i < count; ++i) {
    if (text == names[i])
      return i;
    all += (i ? ", " : "") + std::string(names[i]);
  }
  fail("unknown value \"" + text + "\"; known: " + all);
}

std::vector<int64_t> JsonValue::shape() const { return extentsFrom(1); }
std::vector<int64_t> JsonValue::extents() const { return extentsFrom(0); }

std::vector<int64_t> JsonValue::extentsFrom(int64_t least) const {
  std::vector<int64_t> result;
  int64_t count = 1;
  for (const JsonValue &dim : list()) {
    result.push_back(dim.integer(least));
    if (result.back() > maxSize / std::max<int64_t>(count, 1))
      fail("more than 2^46 elements");
    count *= result.back();
  }
  return result;
}

DataType JsonValue::type() const {
  if (std::optional<DataType> result = dataTypeByName(string()))
    return *result;
  fail("unknown type \"" + string() + "\"; known: f32, f64, i32, i64, bf16");
}

const json &JsonValue::object() const {
  if (!value->is_object())
    fail("expected an object, found " + show());
  return *value;
}

std::string JsonValue::show() const {
  std::string text = value->dump(-1, ' ', false, json::error_handler_t::replace);
  return text.size() > 40 ? text.substr(0, 40) + "..." : text;
}

} // namespace ppcrt
