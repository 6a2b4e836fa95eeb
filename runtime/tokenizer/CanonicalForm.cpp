// Decompose, order the marks, compose; characters below U+0300 are left alone until something may compose with them.
#include "runtime/tokenizer/CanonicalForm.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

namespace ppcrt {
namespace {

struct Decomposition {
  uint32_t code, first, second;
  bool composes;
};
struct CombiningRange {
  uint32_t first, last;
  int combining;
};
#include "runtime/tokenizer/CanonicalForms.inc"

// Syllables of Hangul are composed by arithmetic.
constexpr uint32_t syllables = 0xAC00, leads = 0x1100, vowels = 0x1161, tails = 0x11A7;
constexpr uint32_t leadCount = 19, vowelCount = 21, tailCount = 28;
constexpr uint32_t syllableCount = leadCount * vowelCount * tailCount;

int combiningClass(uint32_t code) {
  if (code < 0x300)
    return 0;
  auto after = std::upper_bound(std::begin(combiningRanges), std::end(combiningRanges), code,
                                [](uint32_t code, const CombiningRange &range) { return code < range.first; });
  return after != std::begin(combiningRanges) && code <= after[-1].last ? after[-1].combining : 0;
}

void decompose(uint32_t code, std::vector<uint32_t> &out) {
  if (code - syllables < syllableCount) {
    uint32_t index = code - syllables;
    out.push_back(leads + index / (vowelCount * tailCount));
    out.push_back(vowels + index % (vowelCount * tailCount) / tailCount);
    if (index % tailCount)
      out.push_back(tails + index % tailCount);
    return;
  }
  auto found = std::lower_bound(std::begin(decompositions), std::end(decompositions), code,
                                [](const Decomposition &entry, uint32_t code) { return entry.code < code; });
  if (found == std::end(decompositions) || found->code != code)
    return out.push_back(code);
  decompose(found->first, out);
  if (found->second)
    decompose(found->second, out);
}

// The character that two make, or 0.
uint32_t compose(uint32_t first, uint32_t second) {
  if (first - leads < leadCount && second - vowels < vowelCount)
    return syllables + ((first - leads) * vowelCount + second - vowels) * tailCount;
  if (first - syllables < syllableCount && (first - syllables) % tailCount == 0 && second > tails &&
      second < tails + tailCount)
    return first + second - tails;
  static const std::map<std::pair<uint32_t, uint32_t>, uint32_t> pairs = [] {
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> result;
    for (const Decomposition &entry : decompositions)
      if (entry.composes)
        result[{entry.first, entry.second}] = entry.code;
    return result;
  }();
  auto found = pairs.find({first, second});
  return found == pairs.end() ? 0 : found->second;
}

uint32_t readCharacter(std::string_view text, size_t &at) {
  auto byte = [&](size_t i) { return uint32_t(static_cast<unsigned char>(text[i])); };
  uint32_t first = byte(at++);
  int more = first < 0x80 ? 0 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
  uint32_t code = more ? first & (0x3F >> more) : first;
  while (more--)
    code = code << 6 | (byte(at++) & 0x3F);
  return code;
}

void writeCharacter(uint32_t code, std::string &out) {
  if (code < 0x80) {
    out += char(code);
    return;
  }
  int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  out += char(0xFF00 >> (more + 1) | code >> (6 * more));
  while (more--)
    out += char(0x80 | (code >> (6 * more) & 0x3F));
}

// What lies between two characters with which nothing composes.
void composeRun(std::string_view text, std::string &out) {
  std::vector<uint32_t> codes;
  for (size_t at = 0; at < text.size();)
    decompose(readCharacter(text, at), codes);
  for (size_t i = 0; i < codes.size();) { // marks in the order of their classes
    size_t end = i;
    while (end < codes.size() && combiningClass(codes[end]))
      ++end;
    std::vector<std::tuple<int, size_t, uint32_t>> marks; // equal ones stay in their order
    for (size_t mark = i; mark < end; ++mark)
      marks.emplace_back(combiningClass(codes[mark]), mark, codes[mark]);
    std::sort(marks.begin(), marks.end());
    for (size_t mark = i; mark < end; ++mark)
      codes[mark] = std::get<2>(marks[mark - i]);
    i = std::max(end, i + 1);
  }
  size_t kept = 0, starter = SIZE_MAX;
  int last = -1; // class of what was kept after the starter
  for (uint32_t code : codes) {
    int combining = combiningClass(code);
    uint32_t composed = starter != SIZE_MAX && last < combining ? compose(codes[starter], code) : 0;
    if (composed) {
      codes[starter] = composed;
      continue;
    }
    if (combining == 0)
      starter = kept, last = -1;
    else
      last = combining;
    codes[kept++] = code;
  }
  codes.resize(kept);
  for (uint32_t code : codes)
    writeCharacter(code, out);
}

} // namespace

std::string composeCanonically(std::string_view text) {
  std::string out;
  size_t begin = 0; // of what is not written yet: a character below U+0300, and others after it
  bool plain = true;
  auto flush = [&](size_t end) {
    if (plain)
      out += text.substr(begin, end - begin); // such a character alone is in the form already
    else
      composeRun(text.substr(begin, end - begin), out);
    begin = end, plain = true;
  };
  for (size_t at = 0; at < text.size();) {
    size_t before = at;
    if (readCharacter(text, at) >= 0x300)
      plain = false;
    else
      flush(before);
  }
  flush(text.size());
  return out;
}

} // namespace ppcrt
