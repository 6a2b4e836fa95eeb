// Reads a text of PTX token by token.
#pragma once

#include "test/CudaStandIn/Ptx/Fault.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace ptx {

class Cursor {
public:
  explicit Cursor(std::string_view text) : text(text) {}

  int line() const { return currentLine; }
  bool atEnd();
  // The next character that is neither space nor comment, 0 at the end.
  char peek();
  bool accept(char c);
  void expect(char c);
  // An identifier, directive, register or name: letters, digits, and _ $ % . (a dot only where `dots`).
  std::string word(bool dots);
  // The text up to the next white space, ';' or '{', without comments: an opcode with its modifiers.
  std::string opcode();
  bool atNumber();
  struct Number {
    uint64_t bits;
    enum { Integer, Single, Double } kind;
  };
  // Decimal, octal, hexadecimal, binary, 0f or 0d; a minus in front.
  Number number();
  int64_t integer();
  void skipLine();
  void skipPast(char c);
  // Skips from '{' past its '}'.
  void skipBraces();
  [[noreturn]] void fail(const std::string &what) const { throw ParseError(currentLine, what); }

private:
  void skipSpace();
  char at(size_t offset) const { return place + offset < text.size() ? text[place + offset] : '\0'; }
  void advance();

  std::string_view text;
  size_t place = 0;
  int currentLine = 1;
};

} // namespace ptx
