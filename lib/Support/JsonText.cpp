// One pass over the text with a stack of its own.
#include "ppc/Support/JsonText.h"
#include "ppc/Support/Limits.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/JSON.h"

#include <vector>

namespace mlir::ppc {

static llvm::Error errorAt(llvm::StringRef name, llvm::StringRef text, size_t offset, const llvm::Twine &message) {
  llvm::StringRef before = text.take_front(offset);
  size_t line = before.count('\n') + 1, column = offset - (before.rfind('\n') + 1) + 1;
  return llvm::createStringError(name + ":" + llvm::Twine(line) + ":" + llvm::Twine(column) + ": " + message);
}

/// Position after the closing quote of the string that begins at `begin`; the end of the text if it is not closed.
static size_t endOfString(llvm::StringRef text, size_t begin) {
  for (size_t at = begin + 1; at < text.size(); ++at) {
    if (text[at] == '\\')
      ++at;
    else if (text[at] == '"')
      return at + 1;
  }
  return text.size();
}

/// The string that a literal with its quotes stands for: "\u0061" is "a".
static std::string unescaped(llvm::StringRef literal) {
  if (literal.contains('\\')) {
    llvm::Expected<llvm::json::Value> value = llvm::json::parse(literal);
    if (!value)
      llvm::consumeError(value.takeError());
    else if (std::optional<llvm::StringRef> string = value->getAsString())
      return string->str();
  }
  return literal.drop_front().drop_back().str();
}

/// The number at the head of the text that JSON does not have and Python writes; else empty.
static llvm::StringRef notFinite(llvm::StringRef text) {
  for (llvm::StringRef word : {"NaN", "-NaN", "Infinity", "-Infinity"})
    if (text.starts_with(word))
      return word;
  return "";
}

llvm::Error checkJsonText(llvm::StringRef name, llvm::StringRef text) {
  if (text.size() > size_t(limits::jsonBytes))
    return llvm::createStringError(name + ": " + llvm::Twine(text.size()) + " bytes; expected at most " +
                                   llvm::Twine(limits::jsonBytes));
  struct Level {
    bool isObject;
    llvm::StringSet<> keys;
    llvm::StringRef key; // the last one, with its quotes
  };
  std::vector<Level> levels;
  bool isKey = false; // a string here is the key of an object
  for (size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    if (c == '{' || c == '[') {
      levels.push_back({c == '{', {}, levels.empty() ? "" : levels.back().key});
      if (levels.size() > size_t(limits::nesting))
        return errorAt(name, text, at, "nested deeper than " + llvm::Twine(limits::nesting) + " levels");
      isKey = c == '{';
    } else if (c == '}' || c == ']') {
      if (!levels.empty())
        levels.pop_back();
      isKey = false;
    } else if (c == ',') {
      isKey = !levels.empty() && levels.back().isObject;
    } else if (c == '"') {
      size_t end = endOfString(text, at);
      llvm::StringRef literal = text.slice(at, end);
      if (isKey && literal.size() >= 2 && !levels.back().keys.insert(unescaped(literal)).second)
        return errorAt(name, text, at, "key " + literal + " is given twice");
      if (isKey)
        levels.back().key = literal;
      isKey = false;
      at = end - 1;
    } else if (llvm::StringRef word = notFinite(text.substr(at)); !word.empty()) {
      llvm::StringRef key = levels.empty() ? "" : levels.back().key;
      return errorAt(name, text, at,
                     (key.empty() ? "" : "key " + key + ": ") + word +
                         " is not a JSON number, though Python writes it: write a finite number, or remove the key");
    }
  }
  return llvm::Error::success();
}

} // namespace mlir::ppc
