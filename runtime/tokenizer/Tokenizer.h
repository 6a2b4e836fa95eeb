// Byte-level BPE as Hugging Face keeps it in tokenizer.json: what GPT-2, Llama 3 and Qwen2 use.
#pragma once

#include "runtime/tokenizer/BytePairModel.h"
#include "runtime/tokenizer/PreTokenizer.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ppcrt {

class Tokenizer {
public:
  // `text` is the content of the file `path`, which messages begin with. Throws InputError naming the key of what is
  // not supported: normalizers but NFC, pre-tokenizers and models but those of PreTokenizer.h and BytePairModel.h. What
  // adds, cuts or pads (post-processors, truncation) is not for training and not read.
  Tokenizer(std::string_view text, const std::string &path);

  // The ids of a text, special tokens where their names stand in it: what encode(text, add_special_tokens=False) of the
  // library tokenizers gives. Throws InputError naming the byte where the text is not UTF-8.
  std::vector<int32_t> encode(std::string_view text);

  // One more than the largest id.
  int64_t size() const { return count; }

private:
  struct AddedToken {
    std::string content;
    int32_t id;
    bool isWord;      // not beside another character of a word
    bool left, right; // takes the spaces there along
  };
  // Added tokens by their first byte, the longest first.
  using AddedTokens = std::array<std::vector<AddedToken>, 256>;
  explicit Tokenizer(const JsonValue &root);
  void readAdded(const JsonValue &description, const JsonValue &vocabulary);
  void encodeNormalized(std::string_view text, std::vector<int32_t> &out);
  // Calls `between` for what lies between the tokens of `added` in `text`, and appends the tokens' ids.
  template <typename Function>
  void cutAt(const AddedTokens &added, std::string_view text, std::vector<int32_t> &out, Function between) const;
  bool touchesWord(std::string_view text, size_t begin, size_t end) const;

  bool composes = false; // NFC
  AddedTokens raw, normalized;
  std::optional<Pattern> wordCharacter; // where some token is a word
  PreTokenizer words;
  BytePairModel model;
  int64_t count;
};

// Bytes of the longest prefix that is valid UTF-8.
int64_t validUtf8(std::string_view text);

} // namespace ppcrt
