#include "test/CudaStandIn/Ptx/Cursor.h"

#include "test/CudaStandIn/Ptx/Type.h"

#include <cctype>
#include <cstdlib>

namespace ptx {
namespace {

bool isWord(char c, bool dots) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%' || (dots && c == '.');
}

} // namespace

void Cursor::advance() {
  if (text[place] == '\n')
    ++currentLine;
  ++place;
}

void Cursor::skipSpace() {
  while (place < text.size()) {
    if (std::isspace(static_cast<unsigned char>(text[place]))) {
      advance();
    } else if (at(0) == '/' && at(1) == '/') {
      while (place < text.size() && text[place] != '\n')
        ++place;
    } else if (at(0) == '/' && at(1) == '*') {
      size_t end = text.find("*/", place + 2);
      if (end == std::string_view::npos)
        fail("a comment does not end");
      while (place < end + 2)
        advance();
    } else {
      return;
    }
  }
}

bool Cursor::atEnd() {
  skipSpace();
  return place == text.size();
}

char Cursor::peek() {
  skipSpace();
  return at(0);
}

bool Cursor::accept(char c) {
  if (peek() != c)
    return false;
  advance();
  return true;
}

void Cursor::expect(char c) {
  if (!accept(c))
    fail(std::string("expected '") + c + "', found '" + (atEnd() ? "the end" : std::string(1, at(0))) + "'");
}

std::string Cursor::word(bool dots) {
  skipSpace();
  size_t first = place;
  if (dots && at(0) == '.')
    ++place;
  while (place < text.size() && isWord(text[place], dots))
    ++place;
  if (first == place)
    fail(std::string("expected a name, found '") + at(0) + "'");
  return std::string(text.substr(first, place - first));
}

std::string Cursor::opcode() {
  skipSpace();
  size_t first = place;
  while (isWord(at(0), true) || (at(0) == ':' && at(1) == ':') || (at(0) == ':' && place > first && at(-1) == ':'))
    ++place;
  if (first == place)
    fail(std::string("expected an instruction, found '") + at(0) + "'");
  return std::string(text.substr(first, place - first));
}

bool Cursor::atNumber() {
  char c = peek();
  return std::isdigit(static_cast<unsigned char>(c)) || (c == '-' && std::isdigit(static_cast<unsigned char>(at(1))));
}

Cursor::Number Cursor::number() {
  bool negative = accept('-');
  std::string digits = word(true);
  auto parsed = [&](const char *from, int base) {
    char *end;
    uint64_t value = std::strtoull(from, &end, base);
    if (*end == 'U' || *end == 'u')
      ++end;
    if (*end)
      fail("'" + digits + "' is not a number");
    return value;
  };
  char second = digits.size() > 1 ? char(std::tolower(digits[1])) : '\0';
  if (digits[0] == '0' && second == 'f')
    return {parsed(digits.c_str() + 2, 16) ^ (negative ? 0x80000000u : 0u), Number::Single};
  if (digits[0] == '0' && second == 'd')
    return {parsed(digits.c_str() + 2, 16) ^ (uint64_t(negative) << 63), Number::Double};
  if (digits.find('.') != std::string::npos)
    return {bitsAs<uint64_t>(std::strtod(digits.c_str(), nullptr) * (negative ? -1 : 1)), Number::Double};
  bool binary = digits[0] == '0' && second == 'b';
  uint64_t value = binary ? parsed(digits.c_str() + 2, 2) : parsed(digits.c_str(), 0);
  return {negative ? -value : value, Number::Integer};
}

int64_t Cursor::integer() {
  Number result = number();
  if (result.kind != Number::Integer)
    fail("expected a whole number");
  return int64_t(result.bits);
}

void Cursor::skipLine() {
  while (place < text.size() && text[place] != '\n')
    ++place;
}

void Cursor::skipPast(char c) {
  while (!atEnd() && at(0) != c)
    advance();
  expect(c);
}

void Cursor::skipBraces() {
  expect('{');
  for (int depth = 1; depth > 0; advance()) {
    if (atEnd())
      fail("'{' is not closed");
    depth += at(0) == '{' ? 1 : at(0) == '}' ? -1 : 0;
  }
}

} // namespace ptx
