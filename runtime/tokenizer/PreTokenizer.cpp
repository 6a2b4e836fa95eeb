// Reading and applying the steps.
#include "runtime/tokenizer/PreTokenizer.h"
#include "runtime/base/Error.h"

#include <algorithm>
#include <iterator>

namespace ppcrt {
namespace {

// Of GPT-2, which ByteLevel applies by itself.
constexpr const char *gpt2Pattern =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

bool flag(const JsonValue &object, const char *key, bool otherwise) {
  return object.has(key) ? object.at(key).boolean() : otherwise;
}

// A pattern that matches `text` and nothing else.
std::string quote(const std::string &text) {
  std::string result;
  for (char c : text)
    result += (std::string_view("\\^$.|?*+()[]{}-&").find(c) == std::string_view::npos ? "" : "\\") + std::string(1, c);
  return result;
}

int64_t nextCharacter(std::string_view text, int64_t at) {
  do
    ++at;
  while (at < int64_t(text.size()) && (text[at] & 0xC0) == 0x80);
  return at;
}

} // namespace

PreTokenizer::PreTokenizer(const JsonValue &description) {
  if (description.isNull())
    description.fail("missing: only byte-level tokenizers are supported");
  if (description.at("type").string() == "Sequence") {
    std::vector<JsonValue> list = description.at("pretokenizers").list();
    for (size_t i = 0; i < list.size(); ++i)
      add(list[i], i + 1 == list.size());
  } else {
    add(description, true);
  }
  if (!byteLevel)
    description.fail("only byte-level tokenizers are supported, and this has no \"ByteLevel\"");
}

void PreTokenizer::add(const JsonValue &description, bool last) {
  JsonValue type = description.at("type");
  std::string name = type.string();
  if (name == "Split")
    return addSplit(description);
  if (name == "Digits") {
    bool single = flag(description, "individual_digits", false);
    steps.push_back({Pattern(single ? "\\p{N}" : "\\p{N}+"), Behavior::Isolated, false});
    return;
  }
  if (name != "ByteLevel")
    type.fail("\"" + name + "\" is not supported; known: Sequence, Split, Digits, ByteLevel");
  if (!last)
    type.fail("ByteLevel before other steps is not supported");
  byteLevel = true;
  prefixSpace = flag(description, "add_prefix_space", true);
  if (prefixSpace && !steps.empty())
    description.at("add_prefix_space").fail("true after other steps is not supported");
  if (flag(description, "use_regex", true))
    steps.push_back({Pattern(gpt2Pattern), Behavior::Isolated, false});
}

void PreTokenizer::addSplit(const JsonValue &description) {
  JsonValue pattern = description.at("pattern"), behavior = description.at("behavior");
  std::string source = pattern.has("String") ? quote(pattern.at("String").string()) : pattern.at("Regex").string();
  if (source.empty())
    pattern.fail("empty");
  static constexpr const char *behaviors[] = {"Isolated", "Removed", "MergedWithPrevious", "MergedWithNext",
                                              "Contiguous"};
  steps.push_back({Pattern(source), Behavior(behavior.choice(behaviors, 5)), flag(description, "invert", false)});
}

std::vector<PreTokenizer::Piece> PreTokenizer::piecesOf(const Step &step, std::string_view word) {
  std::vector<Piece> pieces;
  int64_t done = 0, from = 0, size = int64_t(word.size());
  while (from <= size) {
    auto found = step.pattern.find(word, from);
    if (!found)
      break;
    auto [begin, end] = *found;
    // An empty match is a piece, too, but not right behind another match.
    if (begin < end || pieces.empty() || begin != done) {
      if (done < begin)
        pieces.push_back({done, begin, step.invert});
      pieces.push_back({begin, end, !step.invert});
      done = end;
    }
    from = end > begin ? end : nextCharacter(word, end);
  }
  if (done < size)
    pieces.push_back({done, size, step.invert});
  return pieces;
}

std::vector<PreTokenizer::Piece> PreTokenizer::wordsOf(const std::vector<Piece> &pieces, Behavior behavior) {
  std::vector<Piece> words;
  bool before = false; // whether the piece before was a match
  auto take = [&](const Piece &piece, bool joins) {
    if (joins && !words.empty())
      words.back() = {std::min(words.back().begin, piece.begin), std::max(words.back().end, piece.end), false};
    else
      words.push_back(piece);
    before = piece.matched;
  };
  switch (behavior) {
  case Behavior::Isolated:
    return pieces;
  case Behavior::Removed:
    std::copy_if(pieces.begin(), pieces.end(), std::back_inserter(words),
                 [](const Piece &piece) { return !piece.matched; });
    break;
  case Behavior::MergedWithPrevious:
    for (const Piece &piece : pieces)
      take(piece, piece.matched && !before);
    break;
  case Behavior::MergedWithNext:
    for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece)
      take(*piece, piece->matched && !before);
    std::reverse(words.begin(), words.end());
    break;
  case Behavior::Contiguous:
    for (const Piece &piece : pieces)
      take(piece, piece.matched == before);
    break;
  }
  return words;
}

std::vector<std::string_view> PreTokenizer::split(std::string_view text, std::string &storage) const {
  storage.clear();
  if (prefixSpace && !text.empty() && text[0] != ' ')
    storage = " ";
  storage += text;
  std::vector<std::string_view> words;
  if (!storage.empty())
    words.push_back(storage);
  for (const Step &step : steps) {
    std::vector<std::string_view> cut;
    for (std::string_view word : words)
      for (const Piece &piece : wordsOf(piecesOf(step, word), step.behavior))
        if (piece.begin < piece.end)
          cut.push_back(word.substr(piece.begin, piece.end - piece.begin));
    words = std::move(cut);
  }
  return words;
}

} // namespace ppcrt
