// The steps around words: added tokens, normal form.
#include "runtime/tokenizer/Tokenizer.h"
#include "runtime/base/Error.h"
#include "runtime/files/DataKind.h"
#include "runtime/tokenizer/CanonicalForm.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace ppcrt {

int64_t validUtf8(std::string_view text) {
  auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  size_t at = 0;
  while (at < text.size()) {
    unsigned first = byte(at);
    int more = first < 0x80 ? 0 : first < 0xC2 ? -1 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : first < 0xF5 ? 3 : -1;
    // Nothing in a longer form than needed, no surrogates, nothing beyond U+10FFFF.
    unsigned least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    unsigned most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (more < 0 || (more > 0 && (byte(at + 1) < least || byte(at + 1) > most)))
      break;
    bool whole = true;
    for (int i = 2; i <= more; ++i)
      whole &= (byte(at + i) & 0xC0) == 0x80;
    if (!whole)
      break;
    at += more + 1;
  }
  return int64_t(at);
}

namespace {

// Borrowed by JsonValues while a tokenizer is made.
struct Document {
  nlohmann::json json;
  JsonValue root;
  Document(std::string_view text, const std::string &path) : json(parse(text, path)), root(json, path) {}

private:
  static nlohmann::json parse(std::string_view text, const std::string &path) {
    if (std::string problem = foreignTokenizer(text, path); !problem.empty())
      throw InputError(problem);
    return parseJson(text, path);
  }
};

// A character of a word as Unicode has it (UTS 18): alphabetic, mark, decimal digit, connector, joiner.
constexpr const char *wordPattern = "[\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{200C}\\x{200D}\\x{24B6}-\\x{24E9}\\x{1F130}-"
                                    "\\x{1F149}\\x{1F150}-\\x{1F169}\\x{1F170}-\\x{1F189}]";

bool isContinuation(std::string_view text, size_t at) { return (text[at] & 0xC0) == 0x80; }

size_t characterBefore(std::string_view text, size_t at) {
  do
    --at;
  while (at > 0 && isContinuation(text, at));
  return at;
}

size_t characterAfter(std::string_view text, size_t at) {
  do
    ++at;
  while (at < text.size() && isContinuation(text, at));
  return at;
}

// Whether the character at `at` is white space in Unicode.
bool isSpace(std::string_view text, size_t at) {
  std::string_view character = text.substr(at, characterAfter(text, at) - at);
  if (character.size() == 1)
    return character[0] == ' ' || (character[0] >= '\t' && character[0] <= '\r');
  for (const char *other :
       {"\u0085", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006", "\u2007",
        "\u2008", "\u2009", "\u200a", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"})
    if (character == other)
      return true;
  return false;
}

} // namespace

static bool composesOf(const JsonValue &root) {
  if (!root.has("normalizer") || root.at("normalizer").isNull())
    return false;
  JsonValue type = root.at("normalizer").at("type");
  if (type.string() == "Sequence" && root.at("normalizer").at("normalizers").list().empty())
    return false;
  if (type.string() != "NFC")
    type.fail("\"" + type.string() + "\" is not supported; known: NFC");
  return true;
}

Tokenizer::Tokenizer(std::string_view text, const std::string &path) : Tokenizer(Document(text, path).root) {}

Tokenizer::Tokenizer(const JsonValue &root)
    : composes(composesOf(root)), words(root.at("pre_tokenizer")), model(root.at("model")), count(model.size()) {
  if (root.has("added_tokens"))
    for (const JsonValue &token : root.at("added_tokens").list())
      readAdded(token, root.at("model").at("vocab"));
  for (AddedTokens *tokens : {&raw, &normalized})
    for (std::vector<AddedToken> &list : *tokens)
      std::sort(list.begin(), list.end(),
                [](const AddedToken &a, const AddedToken &b) { return a.content.size() > b.content.size(); });
}

void Tokenizer::readAdded(const JsonValue &description, const JsonValue &vocabulary) {
  auto flag = [&](const char *key) { return description.has(key) && description.at(key).boolean(); };
  AddedToken token{description.at("content").string(), int32_t(description.at("id").integer(0, INT32_MAX - 1)),
                   flag("single_word"), flag("lstrip"), flag("rstrip")};
  if (token.isWord && !wordCharacter)
    wordCharacter.emplace(wordPattern);
  if (token.content.empty())
    description.at("content").fail("empty");
  if (const char *key = token.content.c_str(); vocabulary.has(key) && vocabulary.at(key).integer(0) != token.id)
    description.at("id").fail(format("%d is not the id of this token in the vocabulary", token.id));
  count = std::max<int64_t>(count, token.id + 1);
  bool afterwards = flag("normalized");
  if (afterwards && composes)
    token.content = composeCanonically(token.content);
  (afterwards ? normalized : raw)[static_cast<unsigned char>(token.content[0])].push_back(std::move(token));
}

bool Tokenizer::touchesWord(std::string_view text, size_t begin, size_t end) const {
  auto isOfWord = [&](size_t from, size_t to) {
    return wordCharacter->find(text.substr(from, to - from), 0).has_value();
  };
  return (begin > 0 && isOfWord(characterBefore(text, begin), begin)) ||
         (end < text.size() && isOfWord(end, characterAfter(text, end)));
}

// The next token is looked for behind the name of the one before, not behind the spaces that it took along.
template <typename Function>
void Tokenizer::cutAt(const AddedTokens &added, std::string_view text, std::vector<int32_t> &out,
                      Function between) const {
  size_t done = 0;
  for (size_t at = 0; at < text.size();) {
    const std::vector<AddedToken> &candidates = added[static_cast<unsigned char>(text[at])];
    auto found = std::find_if(candidates.begin(), candidates.end(), [&](const AddedToken &token) {
      return text.compare(at, token.content.size(), token.content) == 0;
    });
    if (found == candidates.end()) {
      ++at;
      continue;
    }
    size_t begin = at, end = at += found->content.size();
    if (found->isWord && touchesWord(text, begin, end))
      continue;
    while (found->left && begin > done && isSpace(text, characterBefore(text, begin)))
      begin = characterBefore(text, begin);
    while (found->right && end < text.size() && isSpace(text, end))
      end = characterAfter(text, end);
    if (done < begin)
      between(text.substr(done, begin - done));
    out.push_back(found->id);
    done = end;
  }
  if (done < text.size())
    between(text.substr(done));
}

std::vector<int32_t> Tokenizer::encode(std::string_view text) {
  if (int64_t valid = validUtf8(text); valid < int64_t(text.size()))
    throw InputError(format("not valid UTF-8 at byte %lld", (long long)valid));
  std::vector<int32_t> out;
  cutAt(raw, text, out, [&](std::string_view piece) {
    if (composes)
      encodeNormalized(composeCanonically(piece), out);
    else
      encodeNormalized(piece, out);
  });
  return out;
}

void Tokenizer::encodeNormalized(std::string_view text, std::vector<int32_t> &out) {
  std::string storage;
  cutAt(normalized, text, out, [&](std::string_view piece) {
    for (std::string_view word : words.split(piece, storage))
      model.encode(word, out);
  });
}

} // namespace ppcrt
