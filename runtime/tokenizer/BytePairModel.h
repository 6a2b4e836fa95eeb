// Byte-pair encoding of words: the "model" of a byte-level tokenizer.json.
#pragma once

#include "runtime/files/JsonValue.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ppcrt {

class BytePairModel {
public:
  // Throws InputError naming the key of what is not supported: another type, dropout, prefixes and suffixes of
  // subwords, byte fallback, merges of tokens that are not there.
  explicit BytePairModel(const JsonValue &description);

  // Appends the ids of a word's tokens: the pair of neighbours with the smallest rank is merged, the leftmost first,
  // until no pair has one. Throws InputError for a byte that has no token.
  void encode(std::string_view word, std::vector<int32_t> &out);

  // Id of the token that is these bytes, or -1.
  int32_t find(std::string_view bytes) const;
  // One more than the largest id.
  int64_t size() const { return count; }

private:
  struct Merge {
    int32_t rank, id;
  };
  const Merge *mergeOf(int32_t left, int32_t right) const;
  void merge(std::vector<int32_t> &symbols) const;

  std::unordered_map<std::string, int32_t> vocabulary; // by bytes
  std::unordered_map<uint64_t, Merge> merges;          // by both ids
  std::array<int32_t, 256> singles;                    // id of each byte, or -1
  bool ignoreMerges = false;
  int64_t count = 0;
  std::unordered_map<std::string, std::vector<int32_t>> cache;
};

} // namespace ppcrt
