// A value of the manifest that knows its path: reading it as the wrong kind throws an InputError that names the path,
// says what was expected and what was found.
#pragma once

#include "runtime/core/DataType.h"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ppcrt {

class ManifestValue {
public:
  // Any size or offset a program may name, in bytes or elements: products of a few of them stay within 64 bits.
  static constexpr int64_t maxSize = int64_t(1) << 46;

  // Borrows `value`.
  ManifestValue(const nlohmann::json &value, std::string path) : value(&value), path(std::move(path)) {}

  [[noreturn]] void fail(const std::string &what) const;

  bool has(const char *key) const;
  ManifestValue at(const char *key) const;
  std::vector<ManifestValue> list() const;
  std::string string() const;
  int64_t integer(int64_t least, int64_t most = maxSize) const;
  double number() const; // not negative
  // Index of the string in `names`.
  int choice(const char *const *names, int count) const;
  // Extents of at least 1 with a product of at most maxSize.
  std::vector<int64_t> shape() const;
  DataType type() const;

private:
  const nlohmann::json &object() const;
  std::string show() const;

  const nlohmann::json *value;
  std::string path;
};

} // namespace ppcrt
