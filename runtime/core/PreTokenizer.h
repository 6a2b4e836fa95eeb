// How a text becomes words, within which byte pairs are merged: the "pre_tokenizer" of tokenizer.json.
#pragma once

#include "runtime/core/JsonValue.h"
#include "runtime/host/Pattern.h"

#include <string>
#include <string_view>
#include <vector>

namespace ppcrt {

class PreTokenizer {
public:
  // ByteLevel, or a Sequence of Split, Digits and ByteLevel that ends with ByteLevel. Throws InputError naming the key of
  // what is not supported.
  explicit PreTokenizer(const JsonValue &description);

  // Words of `text` in order. `text` is valid UTF-8; the views point into `storage`.
  std::vector<std::string_view> split(std::string_view text, std::string &storage) const;

private:
  enum class Behavior { Isolated, Removed };
  struct Step {
    Pattern pattern;
    Behavior behavior;
    bool invert;
  };
  void add(const JsonValue &description, bool last);
  void addSplit(const JsonValue &description);

  std::vector<Step> steps;
  bool prefixSpace = false;
  bool byteLevel = false;
};

} // namespace ppcrt
