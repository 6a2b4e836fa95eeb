// nlohmann's parser with a watch on keys and depth; values with paths.
#include "runtime/files/JsonValue.h"
#include "runtime/base/Error.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <initializer_list>
#include <set>

namespace ppcrt {

using nlohmann::json;

namespace {

bool isOneOf(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

// The word around `at`, without what separates words in JSON.
std::string_view wordAt(std::string_view text, size_t at) {
  constexpr std::string_view separators = " \t\r\n,:{}[]\"";
  if (isOneOf(text[at], separators) && text[at] != '"')
    return text.substr(at, 1);
  size_t begin = at, end = at;
  while (begin > 0 && !isOneOf(text[begin - 1], separators))
    --begin;
  while (end < text.size() && !isOneOf(text[end], separators))
    ++end;
  return text.substr(begin, std::max<size_t>(end - begin, 1));
}

// As a person may read it: what does not print as its number, and no more than fits a line.
std::string shown(std::string_view word) {
  constexpr size_t most = 40;
  std::string result;
  for (char c : word.substr(0, most))
    result += uint8_t(c) < 0x20 || uint8_t(c) >= 0x7f ? format("\\x%02x", uint8_t(c)) : std::string(1, c);
  return result + (word.size() > most ? "..." : "");
}

bool isWord(std::string_view word, std::initializer_list<const char *> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string notJson(std::string_view word) {
  std::string name = shown(word);
  if (isWord(word, {"NaN", "-NaN", "nan", "-nan", "Infinity", "-Infinity", "+Infinity", "inf", "-inf", "Inf", "-Inf"}))
    return name + " is no number of JSON, though Python writes it: write a finite number, or remove the key";
  if (isWord(word, {"True", "False", "None"}))
    return name + " is of Python: JSON writes " + (word == "True" ? "true" : word == "False" ? "false" : "null");
  if (word[0] == '\'')
    return "not valid JSON: found " + name + ", and strings stand between double quotes";
  if (word[0] == '#' || word.substr(0, 2) == "//" || word.substr(0, 2) == "/*")
    return "not valid JSON: found " + name + ", and JSON has no comments";
  return "not valid JSON: found \"" + name + "\"";
}

// NAME:LINE:COLUMN of a byte, as editors count.
std::string placeOf(const std::string &name, std::string_view text, size_t at) {
  std::string_view before = text.substr(0, at);
  size_t line = size_t(std::count(before.begin(), before.end(), '\n')) + 1;
  return format("%s:%zu:%zu: ", name.c_str(), line, at - (before.rfind('\n') + 1) + 1); // npos + 1 is 0
}

// The parser's position is behind what it cannot use, as it counts from 1.
std::string describeError(const json::parse_error &error, const std::string &name, std::string_view text,
                          const std::string &key) {
  size_t at = std::min(error.byte ? error.byte - 1 : 0, text.size());
  std::string in = key.empty() ? "" : "key \"" + shown(key) + "\": ";
  if (at == text.size())
    return placeOf(name, text, at) + in +
           (text.empty() ? "not valid JSON: there is no text" : "not valid JSON: the text ends here");
  std::string_view word = wordAt(text, at);
  return placeOf(name, text, size_t(word.data() - text.data())) + in + notJson(word);
}

} // namespace

json parseJson(std::string_view text, const std::string &what) {
  constexpr int depthLimit = int(mlir::ppc::limits::nesting);
  std::vector<std::set<std::string>> keys;
  std::vector<std::string> last{""}; // of each level, the key that was read last
  auto watch = [&](int depth, json::parse_event_t event, json &value) {
    if (depth > depthLimit)
      throw InputError(format("%s: nested deeper than %d", what.c_str(), depthLimit));
    if (event == json::parse_event_t::object_start || event == json::parse_event_t::array_start)
      last.push_back(last.back());
    else if (event == json::parse_event_t::object_end || event == json::parse_event_t::array_end)
      last.pop_back();
    if (event == json::parse_event_t::object_start)
      keys.emplace_back();
    else if (event == json::parse_event_t::object_end)
      keys.pop_back();
    else if (event == json::parse_event_t::key)
      last.back() = value.get<std::string>();
    if (event == json::parse_event_t::key && !keys.back().insert(last.back()).second)
      throw InputError(what + ": key \"" + last.back() + "\" is given twice");
    return true;
  };
  try {
    return json::parse(text.begin(), text.end(), watch);
  } catch (const json::parse_error &error) {
    throw InputError(describeError(error, what, text, last.back()));
  } catch (const json::exception &error) { // numbers out of range
    std::string in = last.back().empty() ? "" : "key \"" + shown(last.back()) + "\": ";
    std::string_view reason = error.what();
    size_t quote = reason.find('\'');
    std::string_view number = reason.substr(std::min(quote, reason.size()));
    throw InputError(what + ": " + in + "the number " + shown(number) + " is larger than any that can be read");
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
