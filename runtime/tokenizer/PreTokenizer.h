// How a text becomes words, within which byte pairs are merged: the "pre_tokenizer" of tokenizer.json.
#pragma once

#include "runtime/files/JsonValue.h"
#include "runtime/tokenizer/Pattern.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ppcrt {

class PreTokenizer {
public:
  // ByteLevel, or a Sequence of Split, Digits and ByteLevel that ends with ByteLevel. Throws InputError naming the key
  // of what is not supported.
  explicit PreTokenizer(const JsonValue &description);

  // Words of `text` in order. `text` is valid UTF-8; the views point into `storage`.
  std::vector<std::string_view> split(std::string_view text, std::string &storage) const;

private:
  // What becomes of what the pattern matches: words of their own, nothing, an end of the word before, a beginning of
  // the word after, one word of neighbours.
  enum class Behavior { Isolated, Removed, MergedWithPrevious, MergedWithNext, Contiguous };
  struct Step {
    Pattern pattern;
    Behavior behavior;
    bool invert;
  };
  struct Piece {
    int64_t begin, end;
    bool matched;
  };
  static std::vector<Piece> piecesOf(const Step &step, std::string_view word);
  // Pieces joined, or taken out, as the step says; some may be empty.
  static std::vector<Piece> wordsOf(const std::vector<Piece> &pieces, Behavior behavior);
  void add(const JsonValue &description, bool last);
  void addSplit(const JsonValue &description);

  std::vector<Step> steps;
  bool prefixSpace = false;
  bool byteLevel = false;
};

} // namespace ppcrt
