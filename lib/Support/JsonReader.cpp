// Reads the objects of a JSON file and says exactly what is wrong with it.
#include "ppc/Support/JsonReader.h"
#include "ppc/Support/JsonText.h"
#include "ppc/Support/Limits.h"
#include "ppc/Support/Spelling.h"

#include "ppc/Support/InputFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

namespace mlir::ppc {

struct JsonReader::Document {
  std::string file;
  llvm::json::Value root = nullptr;
  std::string error;                 // the first one
  std::vector<std::string> refusals; // `key "PATH": MESSAGE`
  std::set<std::string> readPaths;
  std::set<std::string> openedPaths;
  std::map<std::string, llvm::json::Value> fallbacks; // by path
};

/// How a value looks in a message: JSON text, cut when long, with no more digits than tell a number from others.
static std::string display(const llvm::json::Value &value) {
  std::string text;
  if (std::optional<double> number = value.getAsNumber(); number && !value.getAsInteger()) {
    for (int digits = 6; digits <= 17; ++digits) {
      text.clear();
      llvm::raw_string_ostream(text) << llvm::format("%.*g", digits, *number);
      if (std::strtod(text.c_str(), nullptr) == *number)
        return text;
    }
  }
  llvm::raw_string_ostream(text) << value;
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

llvm::Expected<JsonReader> JsonReader::fromFile(llvm::StringRef path) {
  auto buffer = readInputFile(path, limits::jsonBytes);
  if (!buffer)
    return llvm::createStringError(path + ": " + llvm::toString(buffer.takeError()));
  return fromText(path, (*buffer)->getBuffer());
}

llvm::Expected<JsonReader> JsonReader::fromText(llvm::StringRef name, llvm::StringRef text) {
  if (llvm::Error error = checkJsonText(name, text))
    return std::move(error);
  llvm::Expected<llvm::json::Value> root = llvm::json::parse(text);
  if (!root) {
    // LLVM says "[3:15, byte=40]: Expected , or ] after array element"; editors jump to file:3:15.
    std::string message = llvm::toString(root.takeError());
    llvm::SmallVector<llvm::StringRef> parts;
    if (llvm::Regex("^\\[([0-9]+):([0-9]+), byte=[0-9]+\\]: (.*)$").match(message, &parts))
      return llvm::createStringError(name + ":" + parts[1] + ":" + parts[2] + ": not JSON: " + parts[3]);
    return llvm::createStringError(name + ": not JSON: " + message);
  }
  auto document = std::make_shared<Document>();
  document->file = name.str();
  document->root = std::move(*root);
  const llvm::json::Object *object = document->root.getAsObject();
  if (!object)
    return llvm::createStringError(name + ": expected an object at the top, found " + display(document->root));
  return JsonReader(document, object, "");
}

std::string JsonReader::pathOf(llvm::StringRef key) const { return path.empty() ? key.str() : path + "." + key.str(); }

bool JsonReader::has(llvm::StringRef key) const {
  const llvm::json::Value *value = contents->get(key);
  return value && value->kind() != llvm::json::Value::Null;
}

bool JsonReader::isUnread(llvm::StringRef key) const {
  return contents->get(key) && !document->readPaths.count(pathOf(key));
}

bool JsonReader::isOneOf(llvm::StringRef key, llvm::ArrayRef<llvm::json::Value> values) const {
  const llvm::json::Value *value = contents->get(key);
  return value && llvm::is_contained(values, *value);
}

std::vector<std::string> JsonReader::nullKeys() const {
  std::vector<std::string> result;
  for (const auto &[key, value] : *contents)
    if (value.kind() == llvm::json::Value::Null)
      result.push_back(key.str());
  std::sort(result.begin(), result.end());
  return result;
}

const llvm::json::Value *JsonReader::read(llvm::StringRef key, llvm::json::Value fallback) {
  document->readPaths.insert(pathOf(key));
  document->fallbacks.insert_or_assign(pathOf(key), std::move(fallback));
  return has(key) ? contents->get(key) : nullptr;
}

std::map<std::string, llvm::json::Value> JsonReader::readKeys() const { return document->fallbacks; }

/// What a fall-back is as JSON; null where there is none.
template <typename T> static llvm::json::Value jsonOf(const std::optional<T> &fallback) {
  return fallback ? llvm::json::Value(*fallback) : llvm::json::Value(nullptr);
}

void JsonReader::require(llvm::StringRef key, bool hasFallback, llvm::StringRef expected) {
  if (hasFallback)
    return;
  std::vector<std::string> others; // that may be it, misspelt
  for (const auto &[other, value] : *contents)
    if (!document->readPaths.count(pathOf(other)))
      others.push_back(other.str());
  fail(key, "missing; expected " + expected + didYouMean(key, others));
}

void JsonReader::fail(llvm::StringRef key, const llvm::Twine &message) {
  if (document->error.empty())
    document->error = (document->file + ": key \"" + pathOf(key) + "\": " + message).str();
}

/// What is found instead.
static std::string unexpected(const llvm::json::Value *value, const llvm::Twine &expected) {
  return ("expected " + expected + ", found " + (value ? display(*value) : "nothing")).str();
}

void JsonReader::reject(llvm::StringRef key, const llvm::Twine &expected) {
  fail(key, unexpected(contents->get(key), expected));
}

void JsonReader::refuse(llvm::StringRef key, const llvm::Twine &message) {
  document->refusals.push_back(("key \"" + pathOf(key) + "\": " + message).str());
}

void JsonReader::refuseValue(llvm::StringRef key, const llvm::Twine &expected) {
  refuse(key, unexpected(contents->get(key), expected));
}

bool JsonReader::hasError() const { return !document->error.empty() || !document->refusals.empty(); }

llvm::Error JsonReader::takeError() {
  std::vector<std::string> refusals = std::exchange(document->refusals, {});
  std::string error = std::exchange(document->error, "");
  if (error.empty() && refusals.empty())
    return llvm::Error::success();
  std::string text = error.empty() ? document->file + ": " : error + "; ";
  if (refusals.empty())
    return llvm::createStringError(error);
  return llvm::createStringError(text + llvm::join(refusals, "; "));
}

int64_t JsonReader::integer(llvm::StringRef key, int64_t minimum, std::optional<int64_t> fallback) {
  std::string expected = "an integer >= " + std::to_string(minimum);
  const llvm::json::Value *value = read(key, jsonOf(fallback));
  if (!value) {
    require(key, fallback.has_value(), expected);
    return fallback.value_or(minimum);
  }
  // getAsInteger also takes 8.0, as Python does; it refuses 8.5 and what 64 bits cannot hold.
  std::optional<int64_t> number = value->getAsInteger();
  if (number && *number >= minimum && *number <= limits::tensorElements)
    return *number;
  reject(key, number && *number > minimum ? "at most " + std::to_string(limits::tensorElements) : expected);
  return fallback.value_or(minimum);
}

double JsonReader::number(llvm::StringRef key, std::optional<double> fallback) {
  const llvm::json::Value *value = read(key, jsonOf(fallback));
  if (!value) {
    require(key, fallback.has_value(), "a number");
    return fallback.value_or(0);
  }
  std::optional<double> number = value->getAsNumber();
  if (number && std::isfinite(*number))
    return *number;
  reject(key, "a number");
  return fallback.value_or(0);
}

double JsonReader::positive(llvm::StringRef key, std::optional<double> fallback) {
  const llvm::json::Value *value = read(key, jsonOf(fallback));
  if (!value) {
    require(key, fallback.has_value(), "a number > 0");
    return fallback.value_or(1);
  }
  std::optional<double> number = value->getAsNumber();
  if (number && *number >= limits::leastEpsilon && *number <= limits::learningRate)
    return *number;
  reject(key, number && *number > 0 ? "a number that 32 bits hold" : "a number > 0");
  return fallback.value_or(1);
}

bool JsonReader::boolean(llvm::StringRef key, std::optional<bool> fallback) {
  const llvm::json::Value *value = read(key, jsonOf(fallback));
  if (!value) {
    require(key, fallback.has_value(), "true or false");
    return fallback.value_or(false);
  }
  if (std::optional<bool> flag = value->getAsBoolean())
    return *flag;
  reject(key, "true or false");
  return fallback.value_or(false);
}

std::string JsonReader::string(llvm::StringRef key, std::optional<std::string> fallback) {
  const llvm::json::Value *value = read(key, jsonOf(fallback));
  if (!value) {
    require(key, fallback.has_value(), "a string");
    return fallback.value_or("");
  }
  if (std::optional<llvm::StringRef> text = value->getAsString())
    return text->str();
  reject(key, "a string");
  return fallback.value_or("");
}

std::vector<std::string> JsonReader::strings(llvm::StringRef key) {
  std::vector<std::string> result;
  const llvm::json::Value *value = read(key);
  if (!value)
    return result;
  const llvm::json::Array *array = value->getAsArray();
  if (!array) {
    reject(key, "a list of strings");
    return result;
  }
  for (const llvm::json::Value &element : *array) {
    std::optional<llvm::StringRef> text = element.getAsString();
    if (!text) {
      reject(key, "a list of strings");
      return {};
    }
    result.push_back(text->str());
  }
  return result;
}

std::vector<double> JsonReader::numbers(llvm::StringRef key) {
  std::vector<double> result;
  const llvm::json::Value *value = read(key);
  const llvm::json::Array *array = value ? value->getAsArray() : nullptr;
  if (value && !array)
    reject(key, "a list of numbers");
  if (!array)
    return result;
  for (const llvm::json::Value &element : *array) {
    std::optional<double> number = element.getAsNumber();
    if (!number || !std::isfinite(*number)) {
      reject(key, "a list of numbers");
      return {};
    }
    result.push_back(*number);
  }
  return result;
}

std::optional<JsonReader> JsonReader::object(llvm::StringRef key) {
  const llvm::json::Value *value = read(key);
  if (!value)
    return std::nullopt;
  const llvm::json::Object *nested = value->getAsObject();
  if (!nested) {
    reject(key, "an object");
    return std::nullopt;
  }
  document->openedPaths.insert(pathOf(key));
  return JsonReader(document, nested, pathOf(key));
}

void JsonReader::only(llvm::StringRef key, const llvm::json::Value &supported) {
  const llvm::json::Value *value = read(key, supported);
  if (value && *value != supported)
    refuseValue(key, "the only supported value " + display(supported));
}

void JsonReader::ignore(llvm::ArrayRef<llvm::StringRef> keys) {
  for (llvm::StringRef key : keys)
    document->readPaths.insert(pathOf(key));
}

std::vector<std::string> JsonReader::unreadKeys() const {
  std::vector<std::string> result;
  for (const auto &[key, value] : *contents) {
    std::string full = pathOf(key);
    if (document->openedPaths.count(full)) {
      std::vector<std::string> nested = JsonReader(document, value.getAsObject(), full).unreadKeys();
      result.insert(result.end(), nested.begin(), nested.end());
    } else if (!document->readPaths.count(full)) {
      result.push_back(full);
    }
  }
  std::sort(result.begin(), result.end());
  return result;
}

} // namespace mlir::ppc
