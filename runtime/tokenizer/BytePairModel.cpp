// Reading, and merging with a heap: O(n log n) for a word of n bytes.
#include "runtime/tokenizer/BytePairModel.h"
#include "runtime/base/Error.h"

#include <algorithm>
#include <optional>
#include <queue>

namespace ppcrt {
namespace {

constexpr size_t cachedWords = size_t(1) << 20, cachedBytes = 64;

// Byte-level tokenizers write each byte as a character: the visible ones of Latin-1 as themselves, the other 68 in
// their order as U+0100 and on.
const std::array<int, 324> &byteOfCharacter() {
  static const std::array<int, 324> table = [] {
    std::array<int, 324> result;
    result.fill(-1);
    int other = 256;
    for (int byte = 0; byte < 256; ++byte)
      result[(byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174 ? byte : other++] = byte;
    return result;
  }();
  return table;
}

// The bytes that a token of the file stands for; nothing when it has a character that stands for none.
std::optional<std::string> bytesOf(std::string_view token) {
  std::string result;
  for (size_t i = 0; i < token.size(); ++i) {
    unsigned code = static_cast<unsigned char>(token[i]);
    if (code >= 0xC2 && code <= 0xC5 && i + 1 < token.size())
      code = (code & 0x1F) << 6 | (static_cast<unsigned char>(token[++i]) & 0x3F);
    else if (code >= 0x80)
      return std::nullopt;
    if (code >= byteOfCharacter().size() || byteOfCharacter()[code] < 0)
      return std::nullopt;
    result += char(byteOfCharacter()[code]);
  }
  return result;
}

uint64_t pairKey(int32_t left, int32_t right) { return uint64_t(uint32_t(left)) << 32 | uint32_t(right); }

std::pair<std::string, std::string> partsOf(const JsonValue &merge) {
  if (merge.isString()) { // the older form: "left right"
    std::string text = merge.string();
    size_t space = text.find(' ');
    if (space == std::string::npos)
      merge.fail("expected two tokens");
    return {text.substr(0, space), text.substr(space + 1)};
  }
  std::vector<JsonValue> parts = merge.list();
  if (parts.size() != 2)
    merge.fail("expected two tokens");
  return {parts[0].string(), parts[1].string()};
}

} // namespace

BytePairModel::BytePairModel(const JsonValue &description) {
  if (description.has("type") && description.at("type").string() != "BPE")
    description.at("type").fail("\"" + description.at("type").string() + "\" is not supported; known: BPE");
  for (const char *key : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (description.has(key) && !description.at(key).isNull() && !description.at(key).string().empty())
      description.at(key).fail("is not supported");
  if (description.has("dropout") && !description.at("dropout").isNull() && description.at("dropout").number() > 0)
    description.at("dropout").fail("is not supported");
  if (description.has("byte_fallback") && description.at("byte_fallback").boolean())
    description.at("byte_fallback").fail("is not supported: only byte-level tokenizers are");
  ignoreMerges = description.has("ignore_merges") && description.at("ignore_merges").boolean();
  for (const auto &[token, id] : description.at("vocab").members()) {
    auto value = int32_t(id.integer(0, INT32_MAX - 1));
    count = std::max<int64_t>(count, value + 1);
    if (auto bytes = bytesOf(token))
      vocabulary.emplace(*bytes, value);
  }
  for (int byte = 0; byte < 256; ++byte)
    singles[byte] = find(std::string(1, char(byte)));
  int32_t rank = 0;
  for (const JsonValue &merge : description.at("merges").list()) {
    auto [left, right] = partsOf(merge);
    auto one = bytesOf(left), other = bytesOf(right);
    int32_t leftId = one ? find(*one) : -1, rightId = other ? find(*other) : -1;
    int32_t id = one && other ? find(*one + *other) : -1;
    if (leftId < 0 || rightId < 0 || id < 0)
      merge.fail("\"" + left + "\", \"" + right + "\" or what they make is not in the vocabulary");
    merges[pairKey(leftId, rightId)] = {rank++, id};
  }
}

int32_t BytePairModel::find(std::string_view bytes) const {
  auto found = vocabulary.find(std::string(bytes));
  return found == vocabulary.end() ? -1 : found->second;
}

const BytePairModel::Merge *BytePairModel::mergeOf(int32_t left, int32_t right) const {
  auto found = merges.find(pairKey(left, right));
  return found == merges.end() ? nullptr : &found->second;
}

void BytePairModel::merge(std::vector<int32_t> &symbols) const {
  struct Candidate {
    int32_t rank;
    int64_t left, right;
    int32_t leftId, rightId, id;
    bool operator<(const Candidate &other) const { // the smallest is on top of the heap
      return std::pair(rank, left) > std::pair(other.rank, other.left);
    }
  };
  auto size = int64_t(symbols.size());
  std::vector<int64_t> next(size), previous(size); // of the symbols that are left, which are not -1
  std::priority_queue<Candidate> candidates;
  auto consider = [&](int64_t left, int64_t right) {
    if (left < 0 || right >= size)
      return;
    if (const Merge *merge = mergeOf(symbols[left], symbols[right]))
      candidates.push({merge->rank, left, right, symbols[left], symbols[right], merge->id});
  };
  for (int64_t i = 0; i < size; ++i)
    next[i] = i + 1, previous[i] = i - 1;
  for (int64_t i = 0; i + 1 < size; ++i)
    consider(i, i + 1);
  while (!candidates.empty()) {
    Candidate best = candidates.top();
    candidates.pop();
    if (symbols[best.left] != best.leftId || next[best.left] != best.right || symbols[best.right] != best.rightId)
      continue; // one of them has been merged since
    symbols[best.left] = best.id;
    symbols[best.right] = -1;
    next[best.left] = next[best.right];
    if (next[best.right] < size)
      previous[next[best.right]] = best.left;
    consider(previous[best.left], best.left);
    consider(best.left, next[best.left]);
  }
  symbols.erase(std::remove(symbols.begin(), symbols.end(), -1), symbols.end());
}

void BytePairModel::encode(std::string_view word, std::vector<int32_t> &out) {
  bool remembered = word.size() <= cachedBytes;
  std::string key(word);
  if (remembered)
    if (auto found = cache.find(key); found != cache.end()) {
      out.insert(out.end(), found->second.begin(), found->second.end());
      return;
    }
  std::vector<int32_t> symbols;
  if (int32_t whole = ignoreMerges ? find(word) : -1; whole >= 0) {
    symbols.push_back(whole);
  } else {
    for (char c : word) {
      auto byte = static_cast<unsigned char>(c);
      if (singles[byte] < 0)
        throw InputError(format("the tokenizer has no token for byte 0x%02x", byte));
      symbols.push_back(singles[byte]);
    }
    merge(symbols);
  }
  out.insert(out.end(), symbols.begin(), symbols.end());
  if (remembered && cache.size() < cachedWords)
    cache.emplace(std::move(key), std::move(symbols));
}

} // namespace ppcrt
