// Reads the mappings of a YAML file with exact errors.
#include "ppc/Support/YamlReader.h"
#include "ppc/Support/InputFile.h"
#include "ppc/Support/Limits.h"
#include "ppc/Support/Spelling.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Casting.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/YAMLParser.h"

#include <algorithm>
#include <cmath>

namespace mlir::ppc {

struct YamlNode {
  enum Kind { Null, Scalar, Sequence, Mapping } kind = Null;
  bool quoted = false;
  unsigned line = 1, column = 1;
  std::string text;            // Scalar
  std::vector<YamlNode> items; // Sequence; Mapping: its values
  std::vector<YamlNode> keys;  // Mapping, one per item
};

struct YamlReader::Document {
  std::string file;
  YamlNode root;
  std::string error;
  const YamlNode *lacking = nullptr; // the mapping without a key, where the error is that
  std::vector<std::string> missing;  // further ones, with the expected values
};

static std::string display(const YamlNode &node) {
  switch (node.kind) {
  case YamlNode::Null:
    return "nothing";
  case YamlNode::Sequence:
    return "a list";
  case YamlNode::Mapping:
    return "a mapping";
  case YamlNode::Scalar:
    break;
  }
  std::string text;
  for (char c : llvm::StringRef(node.text).take_front(60))
    text += llvm::isPrint(c) ? c : '?';
  return "\"" + text + (node.text.size() > 60 ? "...\"" : "\"");
}

namespace {
/// Turns the parser's stream of nodes, which can be walked once, into a tree.
class TreeBuilder {
public:
  TreeBuilder(llvm::SourceMgr &sources, llvm::StringRef text) : sources(sources), text(text) {}

  bool build(llvm::yaml::Node *from, YamlNode &to, int depth);
  bool fail(llvm::SMLoc where, const llvm::Twine &message) {
    if (error.empty()) {
      error = message.str();
      std::tie(line, column) = position(where);
    }
    return false;
  }
  std::pair<unsigned, unsigned> position(llvm::SMLoc where) {
    return where.isValid() ? sources.getLineAndColumn(where) : std::make_pair(1u, 1u);
  }

  std::string error;
  unsigned line = 1, column = 1;

private:
  bool buildMapping(llvm::yaml::MappingNode &from, YamlNode &to, int depth);

  llvm::SourceMgr &sources;
  llvm::StringRef text;
};
} // namespace

bool TreeBuilder::build(llvm::yaml::Node *from, YamlNode &to, int depth) {
  if (!from || !error.empty())
    return false;
  llvm::SMLoc where = from->getSourceRange().Start;
  if (where.isValid() && llvm::isa<llvm::yaml::MappingNode, llvm::yaml::SequenceNode>(from)) {
    // The parser locates a flow collection after its bracket.
    const char *bracket = where.getPointer();
    while (bracket > text.begin() && (bracket[-1] == ' ' || bracket[-1] == '\t'))
      --bracket;
    if (bracket > text.begin() && (bracket[-1] == '{' || bracket[-1] == '['))
      where = llvm::SMLoc::getFromPointer(bracket - 1);
  }
  std::tie(to.line, to.column) = position(where);
  if (depth > limits::nesting)
    return fail(where, "nested deeper than " + llvm::Twine(limits::nesting) + " levels");
  if (!from->getAnchor().empty() || llvm::isa<llvm::yaml::AliasNode>(from))
    return fail(where, "anchors and aliases are not supported; write the value out");
  if (!from->getRawTag().empty())
    return fail(where, "tags are not supported");
  if (llvm::isa<llvm::yaml::NullNode>(from))
    return true;
  if (auto *scalar = llvm::dyn_cast<llvm::yaml::ScalarNode>(from)) {
    llvm::SmallString<32> storage;
    llvm::StringRef raw = scalar->getRawValue();
    to.quoted = raw.starts_with("'") || raw.starts_with("\"");
    to.text = scalar->getValue(storage).str();
    bool isNull = !to.quoted && (to.text == "~" || to.text == "null");
    to.kind = isNull ? YamlNode::Null : YamlNode::Scalar;
    return true;
  }
  if (auto *block = llvm::dyn_cast<llvm::yaml::BlockScalarNode>(from)) {
    to.kind = YamlNode::Scalar;
    to.quoted = true;
    to.text = block->getValue().str();
    return true;
  }
  if (auto *sequence = llvm::dyn_cast<llvm::yaml::SequenceNode>(from)) {
    to.kind = YamlNode::Sequence;
    for (llvm::yaml::Node &item : *sequence)
      if (!build(&item, to.items.emplace_back(), depth + 1))
        return false;
    return true;
  }
  if (auto *mapping = llvm::dyn_cast<llvm::yaml::MappingNode>(from))
    return buildMapping(*mapping, to, depth);
  return fail(where, "unexpected kind of node");
}

bool TreeBuilder::buildMapping(llvm::yaml::MappingNode &from, YamlNode &to, int depth) {
  to.kind = YamlNode::Mapping;
  for (llvm::yaml::KeyValueNode &entry : from) {
    YamlNode key, value;
    if (!build(entry.getKey(), key, depth + 1))
      return false;
    if (key.kind != YamlNode::Scalar)
      return fail(entry.getSourceRange().Start, "expected a name as the key, found " + display(key));
    for (const YamlNode &earlier : to.keys)
      if (earlier.text == key.text)
        return fail(entry.getSourceRange().Start,
                    "key \"" + key.text + "\" occurs twice; first in line " + llvm::Twine(earlier.line));
    if (!build(entry.getValue(), value, depth + 1))
      return false;
    if (value.kind == YamlNode::Null)
      value.line = key.line, value.column = key.column; // an absent value has no position
    to.keys.push_back(std::move(key));
    to.items.push_back(std::move(value));
  }
  return true;
}

llvm::Expected<YamlReader> YamlReader::fromFile(llvm::StringRef path) {
  auto buffer = readInputFile(path, limits::yamlBytes);
  if (!buffer)
    return llvm::createStringError(path + ": error: " + llvm::toString(buffer.takeError()));
  return fromText(path, (*buffer)->getBuffer());
}

llvm::Expected<YamlReader> YamlReader::fromText(llvm::StringRef name, llvm::StringRef text) {
  if (text.size() > size_t(limits::yamlBytes))
    return llvm::createStringError(name + ":1:1: error: " + llvm::Twine(text.size()) + " bytes; expected at most " +
                                   llvm::Twine(limits::yamlBytes));
  if (size_t nul = text.find('\0'); nul != llvm::StringRef::npos)
    return llvm::createStringError(name + ":" + llvm::Twine(text.take_front(nul).count('\n') + 1) +
                                   ":1: error: a NUL byte is not text");
  llvm::SourceMgr sources;
  TreeBuilder builder(sources, text);
  sources.setDiagHandler(
      [](const llvm::SMDiagnostic &diagnostic, void *context) {
        auto &builder = *static_cast<TreeBuilder *>(context);
        if (builder.error.empty()) {
          builder.error = "not YAML: " + diagnostic.getMessage().str();
          builder.line = std::max(1, diagnostic.getLineNo());
          builder.column = std::max(0, diagnostic.getColumnNo()) + 1;
        }
      },
      &builder);
  auto document = std::make_shared<Document>();
  document->file = name.str();
  {
    llvm::yaml::Stream stream(text, sources, /*ShowColors=*/false);
    auto first = stream.begin();
    if (first != stream.end() && builder.build(first->getRoot(), document->root, 0) && !stream.failed()) {
      first->skip();
      if (!stream.failed() && builder.error.empty() && ++first != stream.end() && first->getRoot() &&
          !llvm::isa<llvm::yaml::NullNode>(first->getRoot()))
        builder.fail(first->getRoot()->getSourceRange().Start, "a second document; expected one");
    }
    if (stream.failed() && builder.error.empty())
      builder.error = "not YAML";
  }
  if (builder.error.empty() && document->root.kind != YamlNode::Mapping) {
    builder.error = "expected `key: value` lines, found " + display(document->root);
    builder.line = document->root.line, builder.column = document->root.column;
  }
  if (!builder.error.empty())
    return llvm::createStringError(name + ":" + llvm::Twine(builder.line) + ":" + llvm::Twine(builder.column) +
                                   ": error: " + builder.error);
  const YamlNode *root = &document->root;
  return YamlReader(std::move(document), root);
}

const YamlNode *YamlReader::find(llvm::StringRef key) const {
  for (size_t i = 0; i < node->keys.size(); ++i)
    if (node->keys[i].text == key)
      return &node->items[i];
  return nullptr;
}

bool YamlReader::has(llvm::StringRef key) const {
  const YamlNode *value = find(key);
  return value && value->kind != YamlNode::Null;
}

std::vector<std::string> YamlReader::keys() const {
  std::vector<std::string> result;
  for (const YamlNode &key : node->keys)
    result.push_back(key.text);
  return result;
}

void YamlReader::record(const YamlNode &where, const llvm::Twine &message) {
  if (!document->error.empty())
    return;
  document->error =
      (document->file + ":" + llvm::Twine(where.line) + ":" + llvm::Twine(where.column) + ": error: " + message).str();
  // Keys and values of the file are quoted in the message, which stays one line.
  for (char &c : document->error)
    if (static_cast<unsigned char>(c) < ' ')
      c = ' ';
}

void YamlReader::fail(llvm::StringRef key, const llvm::Twine &message) {
  const YamlNode *value = find(key);
  record(value ? *value : *node, "key \"" + key + "\": " + message);
}

void YamlReader::failHere(const llvm::Twine &message) { record(*node, message); }

bool YamlReader::failed() const { return !document->error.empty(); }

llvm::Error YamlReader::takeError() {
  if (document->error.empty())
    return llvm::Error::success();
  std::string text = std::exchange(document->error, "");
  if (!document->missing.empty())
    text += "; also missing: " + llvm::join(std::exchange(document->missing, {}), ", ");
  return llvm::createStringError(text);
}

void YamlReader::reject(llvm::StringRef key, const YamlNode &value, const llvm::Twine &expected) {
  fail(key, "expected " + expected + ", found " + display(value));
}

const YamlNode *YamlReader::read(llvm::StringRef key, bool hasFallback, const llvm::Twine &expected) {
  if (!llvm::is_contained(asked, key))
    asked.push_back(key.str());
  const YamlNode *value = find(key);
  if (value && value->kind != YamlNode::Null)
    return value;
  if (!hasFallback)
    missing(key, expected);
  return nullptr;
}

void YamlReader::missing(llvm::StringRef key, const llvm::Twine &expected) {
  if (!failed()) {
    fail(key, "missing; expected " + expected);
    document->lacking = node;
  } else if (document->lacking) {
    std::string place;
    if (node != document->lacking)
      place = llvm::formatv(" at {0}:{1}", node->line, node->column).str();
    document->missing.push_back((key + place + " (" + expected + ")").str());
  }
}

bool YamlReader::lacksAtMost() const { return !failed() || document->lacking; }

void YamlReader::finish() {
  for (const YamlNode &key : node->keys)
    if (!llvm::is_contained(asked, key.text))
      return record(key, "unknown key \"" + llvm::Twine(key.text) + "\"" + didYouMean(key.text, asked) +
                             "; possible: " + llvm::join(asked, ", "));
}

static std::optional<double> asNumber(const YamlNode &value) {
  double number = 0;
  llvm::StringRef text = value.text;
  // StringRef::getAsDouble also takes "inf", "nan" and hexadecimal, which are more likely typing errors here.
  if (value.kind != YamlNode::Scalar || value.quoted || text.empty() ||
      text.find_first_not_of("0123456789+-.eE") != llvm::StringRef::npos || hasLeadingZero(text) ||
      text.getAsDouble(number) || !std::isfinite(number))
    return std::nullopt;
  return number;
}

/// A whole number that is written as one: not 2.0, of which readers make other things.
static std::optional<double> asWhole(const YamlNode &value) {
  if (llvm::StringRef(value.text).contains('.'))
    return std::nullopt;
  std::optional<double> number = asNumber(value);
  return number && *number == std::floor(*number) ? number : std::nullopt;
}

int64_t YamlReader::integer(llvm::StringRef key, int64_t minimum, std::optional<int64_t> fallback) {
  std::string expected = "an integer >= " + std::to_string(minimum);
  const YamlNode *value = read(key, fallback.has_value(), expected);
  if (!value)
    return fallback.value_or(minimum);
  std::optional<double> number = asWhole(*value);
  if (number && *number >= double(minimum) && *number <= double(limits::tensorElements))
    return int64_t(*number);
  bool isTooLarge = number && *number > double(limits::tensorElements);
  reject(key, *value, isTooLarge ? "at most " + std::to_string(limits::tensorElements) : expected);
  return fallback.value_or(minimum);
}

int64_t YamlReader::integerWithin(llvm::StringRef key, int64_t minimum, int64_t maximum,
                                  std::optional<int64_t> fallback) {
  int64_t value = integer(key, minimum, fallback);
  if (value > maximum && !failed())
    fail(key, "expected at most " + llvm::Twine(maximum) + ", found " + llvm::Twine(value));
  return std::min(value, maximum);
}

std::vector<int64_t> YamlReader::integers(llvm::StringRef key, int64_t minimum, int64_t maximum) {
  std::vector<int64_t> result;
  numbers(key); // is a list of such
  const YamlNode *value = find(key);
  if (failed() || !value || value->kind != YamlNode::Sequence)
    return result;
  for (const YamlNode &item : value->items) {
    std::optional<double> number = asWhole(item);
    if (!number || *number < double(minimum) || *number > double(maximum)) {
      fail(key, "expected whole numbers from " + llvm::Twine(minimum) + " to " + llvm::Twine(maximum) + ", found " +
                    item.text);
      return {};
    }
    result.push_back(int64_t(*number));
  }
  return result;
}

/// 0.5, 1e-6: with no more digits than needed.
static std::string plain(double number) {
  char text[32];
  snprintf(text, sizeof text, "%.15g", number);
  return text;
}

double YamlReader::number(llvm::StringRef key, double minimum, double maximum, std::optional<double> fallback) {
  std::string expected = "a number from " + plain(minimum) + " to " + plain(maximum);
  const YamlNode *value = read(key, fallback.has_value(), expected);
  if (!value)
    return fallback.value_or(minimum);
  std::optional<double> number = asNumber(*value);
  if (number && *number >= minimum && *number <= maximum)
    return *number;
  reject(key, *value, expected);
  return fallback.value_or(minimum);
}

double YamlReader::positive(llvm::StringRef key, std::optional<double> fallback) {
  const YamlNode *value = read(key, fallback.has_value(), "a number > 0");
  if (!value)
    return fallback.value_or(1);
  std::optional<double> number = asNumber(*value);
  if (number && *number > 0)
    return *number;
  reject(key, *value, "a number > 0");
  return fallback.value_or(1);
}

bool YamlReader::boolean(llvm::StringRef key, std::optional<bool> fallback) {
  const YamlNode *value = read(key, fallback.has_value(), "true or false");
  if (!value)
    return fallback.value_or(false);
  if (value->kind == YamlNode::Scalar && !value->quoted && (value->text == "true" || value->text == "false"))
    return value->text == "true";
  reject(key, *value, "true or false");
  return fallback.value_or(false);
}

std::string YamlReader::string(llvm::StringRef key, std::optional<std::string> fallback) {
  const YamlNode *value = read(key, fallback.has_value(), "a name");
  if (!value)
    return fallback.value_or("");
  if (value->kind == YamlNode::Scalar)
    return value->text;
  reject(key, *value, "a name");
  return fallback.value_or("");
}

size_t YamlReader::choice(llvm::StringRef key, llvm::ArrayRef<llvm::StringRef> choices,
                          std::optional<size_t> fallback) {
  std::string expected = "one of " + llvm::join(choices, ", ");
  const YamlNode *value = read(key, fallback.has_value(), expected);
  if (!value)
    return fallback.value_or(0);
  if (value->kind == YamlNode::Scalar)
    for (size_t i = 0; i < choices.size(); ++i)
      if (choices[i] == value->text)
        return i;
  reject(key, *value, expected);
  return fallback.value_or(0);
}

std::optional<YamlReader> YamlReader::mapping(llvm::StringRef key) {
  const YamlNode *value = read(key, true, "");
  if (!value)
    return std::nullopt;
  if (value->kind == YamlNode::Mapping)
    return YamlReader(document, value);
  reject(key, *value, "a mapping");
  return std::nullopt;
}

std::vector<YamlReader> YamlReader::mappings(llvm::StringRef key) {
  std::vector<YamlReader> result;
  const YamlNode *value = read(key, true, "");
  if (!value)
    return result;
  if (value->kind != YamlNode::Sequence)
    return reject(key, *value, "a list of mappings"), result;
  for (const YamlNode &item : value->items) {
    if (item.kind != YamlNode::Mapping)
      return record(item, "key \"" + key + "\": expected a list of mappings, found " + display(item)),
             std::vector<YamlReader>();
    result.push_back(YamlReader(document, &item));
  }
  return result;
}

std::vector<double> YamlReader::numbers(llvm::StringRef key) {
  std::vector<double> result;
  const YamlNode *value = read(key, true, "");
  if (!value)
    return result;
  if (value->kind != YamlNode::Sequence)
    return reject(key, *value, "a list of numbers"), result;
  for (const YamlNode &item : value->items) {
    std::optional<double> number = asNumber(item);
    if (!number)
      return record(item, "key \"" + key + "\": expected a list of numbers, found " + display(item)),
             std::vector<double>();
    result.push_back(*number);
  }
  return result;
}

std::vector<std::string> YamlReader::strings(llvm::StringRef key) {
  std::vector<std::string> result;
  const YamlNode *value = read(key, true, "");
  if (!value)
    return result;
  if (value->kind != YamlNode::Sequence)
    return reject(key, *value, "a list of names"), result;
  for (const YamlNode &item : value->items) {
    if (item.kind != YamlNode::Scalar)
      return record(item, "key \"" + key + "\": expected a list of names, found " + display(item)),
             std::vector<std::string>();
    result.push_back(item.text);
  }
  return result;
}

std::vector<std::vector<std::string>> YamlReader::stringLists(llvm::StringRef key) {
  std::vector<std::vector<std::string>> result;
  const YamlNode *value = read(key, true, "");
  if (!value)
    return result;
  auto refuse = [&](const YamlNode &found) {
    record(found, "key \"" + key + "\": expected a list of lists of names, found " + display(found));
    return std::vector<std::vector<std::string>>();
  };
  if (value->kind != YamlNode::Sequence)
    return refuse(*value);
  for (const YamlNode &list : value->items) {
    if (list.kind != YamlNode::Sequence)
      return refuse(list);
    std::vector<std::string> &names = result.emplace_back();
    for (const YamlNode &item : list.items) {
      if (item.kind != YamlNode::Scalar)
        return refuse(item);
      names.push_back(item.text);
    }
  }
  return result;
}

} // namespace mlir::ppc
