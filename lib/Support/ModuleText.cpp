// One pass over the text with an explicit stack, which recognizes strings, comments, brackets, and aliases (`#name`,
// `!name`) with the depth and the length of their contents. Locations may use aliases that are defined below them: uses
// of unknown aliases are checked again at the end.
#include "ppc/Support/ModuleText.h"
#include "ppc/Support/Limits.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace mlir::ppc {
namespace {

/// Content of an alias; without the content of other aliases that it uses.
struct Alias {
  struct Use {
    llvm::StringRef name;
    int64_t depth; // number of brackets around it
  };
  size_t offset = 0;
  int64_t depth = 0, length = 0;
  std::vector<Use> uses;
  enum { Unknown, Open, Known } state = Unknown;
};

class Scanner {
public:
  Scanner(llvm::StringRef name, llvm::StringRef text) : name(name), text(text) {}

  llvm::Error run();

private:
  llvm::Error errorAt(size_t offset, const llvm::Twine &message) const {
    llvm::StringRef before = text.take_front(offset);
    size_t line = before.count('\n') + 1, column = offset - (before.rfind('\n') + 1) + 1;
    return llvm::createStringError(name + ":" + llvm::Twine(line) + ":" + llvm::Twine(column) + ": " + message);
  }
  llvm::Error tooDeep(size_t offset) const {
    return errorAt(offset, "nested deeper than " + llvm::Twine(limits::nesting) + " levels");
  }
  bool startsLine(size_t at) const { return at == 0 || text[at - 1] == '\n'; }
  /// Whether "=" comes next, and not "==".
  bool isDefinition(size_t at) const {
    while (at < text.size() && llvm::isSpace(text[at]))
      ++at;
    return at < text.size() && text[at] == '=' && text.substr(at, 2) != "==";
  }
  /// Whether the value of an alias continues in another line with `c`, after the last character of the line before.
  bool goesOn(char c) const {
    char before = text[lastWritten];
    return before == '=' || before == ':' || before == ',' ||
           (before == '>' && lastWritten > 0 && text[lastWritten - 1] == '-') ||
           llvm::is_contained({'(', '<', '[', '{'}, c);
  }
  llvm::StringRef wordAt(size_t at) const {
    return text.substr(at).take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '.' || c == '$'; });
  }
  void open(char c) {
    levels.push_back({c});
    deepest();
  }
  void close(char c);
  /// Nesting at this position: brackets, and operators since the last comma in each.
  int64_t depth() const { return int64_t(levels.size()) + operators; }
  void deepest() {
    if (defined)
      defined->depth = std::max(defined->depth, depth());
  }
  void addOperator() {
    ++operators;
    ++(levels.empty() ? atTop : levels.back().operators);
    deepest();
  }
  size_t sigil(size_t at);
  size_t word(size_t at);
  size_t skipped(size_t at);
  size_t token(size_t at);
  void startAgain();
  llvm::Error resolveAll();

  struct Level {
    char bracket;
    int64_t operators = 0;
  };
  llvm::StringRef name, text;
  std::vector<Level> levels;
  int64_t operators = 0; // operators of all levels
  int64_t atTop = 0;     // operators outside of brackets
  llvm::StringMap<Alias> aliases;
  std::vector<std::string> order; // order of definition
  Alias *defined = nullptr;       // whose value is here
  Alias rest;                     // the text outside of definitions
  size_t lastWritten = 0;         // the last character that is neither space nor of a comment
};

} // namespace

void Scanner::close(char c) {
  char opening = c == ')' ? '(' : c == ']' ? '[' : c == '}' ? '{' : '<';
  // '>' also stands in comparisons; brackets that do not match are for the parser to report.
  if (opening == '<' && (levels.empty() || levels.back().bracket != '<'))
    return;
  while (!levels.empty()) {
    Level last = levels.back();
    operators -= last.operators;
    levels.pop_back();
    if (last.bracket == opening)
      return;
  }
}

/// Reads an alias that is used or defined at `at`; returns the position after its name.
size_t Scanner::sigil(size_t at) {
  llvm::StringRef word = wordAt(at + 1);
  size_t end = at + 1 + word.size();
  if (word.empty() || word.contains('.')) // attribute or type of a dialect
    return end;
  llvm::StringRef full = text.slice(at, end);
  if ((levels.empty() || startsLine(at)) && isDefinition(end)) {
    auto [entry, isNew] = aliases.try_emplace(full);
    if (isNew)
      order.push_back(full.str());
    startAgain(); // the parser reports unclosed brackets
    defined = &entry->second;
    *defined = Alias();
    defined->offset = at;
    return end;
  }
  Alias &user = defined ? *defined : rest;
  user.uses.push_back({full, depth()});
  return end;
}

/// Reads a name, an operator that is a word, or a number with its exponent; returns the position after it.
size_t Scanner::word(size_t at) {
  llvm::StringRef word = wordAt(at);
  if (word == "mod" || word == "floordiv" || word == "ceildiv")
    addOperator();
  size_t end = at + word.size();
  bool hasExponent = llvm::isDigit(text[at]) && (word.back() == 'e' || word.back() == 'E') && end < text.size();
  return end + (hasExponent && (text[end] == '-' || text[end] == '+'));
}

void Scanner::startAgain() {
  levels.clear();
  operators = atTop = 0;
  defined = nullptr;
}

/// Skips a comment or a string that begins at `at`; returns the position after it.
size_t Scanner::skipped(size_t at) {
  if (text[at] == '/') {
    if (!text.substr(at).starts_with("//"))
      return at + 1;
    if (text.substr(at).starts_with("// -----")) // --split-input-file
      startAgain();
    return std::min(text.find('\n', at), text.size());
  }
  for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at)
    at += text[at] == '\\';
  return std::min(at + 1, text.size());
}

/// Reads one token; returns the position after it.
size_t Scanner::token(size_t at) {
  char c = text[at], next = at + 1 < text.size() ? text[at + 1] : ' ';
  switch (c) {
  case '(':
  case '[':
  case '{':
    open(c);
    break;
  case ')':
  case ']':
  case '}':
    close(c);
    break;
  case '<':
    if (next != '=')
      open(c);
    break;
  case '>':
    if (next != '=')
      close(c);
    break;
  case '-':
    if (next == '>')
      return at + 2;
    [[fallthrough]];
  case '+':
  case '*':
    addOperator();
    break;
  case ',':
    operators -= std::exchange(levels.empty() ? atTop : levels.back().operators, 0);
    break;
  case '#':
  case '!':
    return sigil(at);
  case '/':
  case '"':
    return skipped(at);
  default:
    if (llvm::isAlnum(c) || c == '_')
      return word(at);
  }
  return at + 1;
}

llvm::Error Scanner::run() {
  bool newLine = false;
  for (size_t at = 0; at < text.size();) {
    char c = text[at];
    if (c == '\n') {
      newLine = true;
      if (!levels.empty() && levels.back().bracket == '{') // the end of an op
        operators -= std::exchange(levels.back().operators, 0);
    }
    if (llvm::isSpace(c)) {
      ++at;
      continue;
    }
    bool isComment = text.substr(at).starts_with("//");
    if (newLine && levels.empty() && !isComment && !(defined && goesOn(c))) {
      defined = nullptr;
      operators = atTop = 0;
    }
    newLine &= isComment;
    size_t end = token(at);
    if (defined)
      defined->length += int64_t(end - at);
    if (!isComment)
      lastWritten = end - 1;
    if (depth() > limits::nesting)
      return tooDeep(at);
    at = end;
  }
  return resolveAll();
}

/// The depth and length of each alias with those that it uses; with a stack, because a chain of them may be long.
llvm::Error Scanner::resolveAll() {
  std::vector<std::pair<Alias *, size_t>> stack; // and the next of its uses
  auto visit = [&](Alias &root) -> llvm::Error {
    stack.push_back({&root, 0});
    root.state = Alias::Open;
    while (!stack.empty()) {
      auto &[alias, next] = stack.back();
      if (next == alias->uses.size()) {
        alias->state = Alias::Known;
        stack.pop_back();
        continue;
      }
      Alias::Use use = alias->uses[next];
      auto found = aliases.find(use.name);
      if (found == aliases.end() || found->second.state == Alias::Open) { // unknown, or of itself: for the parser
        ++next;
        continue;
      }
      if (found->second.state == Alias::Unknown) {
        found->second.state = Alias::Open;
        stack.push_back({&found->second, 0});
        continue;
      }
      ++next;
      // An alias is a level of its own, like its content.
      alias->depth = std::max(alias->depth, use.depth + 1 + found->second.depth);
      alias->length = std::min(alias->length + found->second.length, limits::expandedAliases + 1);
      if (alias->depth > limits::nesting)
        return errorAt(alias->offset, "aliases nested deeper than " + llvm::Twine(limits::nesting) + " levels");
      if (alias->length > limits::expandedAliases)
        return errorAt(alias->offset, "with its aliases written out this is longer than " +
                                          llvm::Twine(limits::expandedAliases) + " characters");
    }
    return llvm::Error::success();
  };
  for (const std::string &alias : order)
    if (Alias &one = aliases[alias]; one.state == Alias::Unknown)
      if (llvm::Error error = visit(one))
        return error;
  // Uses outside of definitions: each is as deep as it stands, but they are not within one another.
  for (const Alias::Use &use : rest.uses)
    if (auto found = aliases.find(use.name); found != aliases.end())
      if (use.depth + found->second.depth > limits::nesting)
        return tooDeep(use.name.data() - text.data());
  return llvm::Error::success();
}

llvm::Error checkModuleText(llvm::StringRef name, llvm::StringRef text) {
  if (text.size() > size_t(limits::moduleBytes))
    return llvm::createStringError(name + ": " + llvm::Twine(text.size()) + " bytes; expected at most " +
                                   llvm::Twine(limits::moduleBytes));
  return Scanner(name, text).run();
}

} // namespace mlir::ppc
