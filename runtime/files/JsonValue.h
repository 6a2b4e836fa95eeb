// A value of a JSON document that knows its path: reading it as the wrong kind throws an InputError that names the
// document and the path, says what was expected and what was found.
#pragma once

#include "ppc/Support/Limits.h"
#include "runtime/base/DataType.h"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ppcrt {

// Parses `text`. Throws InputError that begins with `what` for text that is not JSON, with line, column, the key and
// the word that was met; for a key that is given twice in one object (most readers take one of the two silently), and
// for nesting deeper than limits::nesting.
nlohmann::json parseJson(std::string_view text, const std::string &what);

class JsonValue {
public:
  // Any size or offset a program may name, in bytes or elements: products of a few of them stay within 64 bits.
  static constexpr int64_t maxSize = mlir::ppc::limits::tensorElements;

  // Borrows `value`. `document` is how messages call the whole: "manifest", or a file's path.
  JsonValue(const nlohmann::json &value, std::string document, std::string path = "")
      : value(&value), document(std::move(document)), path(std::move(path)) {}

  [[noreturn]] void fail(const std::string &what) const;

  bool has(const char *key) const;
  JsonValue at(const char *key) const;
  std::vector<JsonValue> list() const;
  // Keys and values of an object.
  std::vector<std::pair<std::string, JsonValue>> members() const;
  bool isNull() const;
  bool isString() const;
  bool isObject() const;
  bool isArray() const;
  bool boolean() const;
  std::string string() const;
  int64_t integer(int64_t least, int64_t most = maxSize) const;
  double number() const; // not negative
  // Index of the string in `names`.
  int choice(const char *const *names, int count) const;
  // Any number, NaN and infinities excluded.
  double real() const;
  // Extents of at least 1 with a product of at most maxSize.
  std::vector<int64_t> shape() const;
  // The same with extents of 0 allowed.
  std::vector<int64_t> extents() const;
  DataType type() const;

private:
  const nlohmann::json &object() const;
  std::string show() const;

  std::vector<int64_t> extentsFrom(int64_t least) const;

  const nlohmann::json *value;
  std::string document, path;
};

} // namespace ppcrt
