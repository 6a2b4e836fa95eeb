// Translation, and the eight functions of PCRE2 that are called.
#include "runtime/tokenizer/Pattern.h"
#include "runtime/base/Error.h"

#include <cstring>
#include <dlfcn.h>

namespace ppcrt {
namespace {

// White space of Unicode, which is what \s means to Oniguruma.
constexpr std::string_view spaces =
    "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}";

class Translation {
public:
  explicit Translation(std::string_view pattern) : pattern(pattern) {}

  std::string run() {
    while (at < pattern.size()) {
      char c = pattern[at];
      if (c == '\\')
        escape();
      else if (inClass)
        classCharacter(c);
      else if (c == '[')
        openClass();
      else if (c == '(' && pattern.substr(at, 2) == "(?")
        group();
      else if (c == '(' && pattern.substr(at, 2) == "(*")
        refuse("(*");
      else if (c == '^' || c == '$')
        refuse(std::string(1, c));
      else if (c == '}' && pattern.substr(at, 2) == "}+")
        refuse("}+");
      else
        copy(1);
    }
    return "(*LF)" + out; // "." stops at a line feed alone
  }

private:
  [[noreturn]] void refuse(const std::string &what) const {
    throw InputError(format("the regular expression \"%.*s\" is not supported: %s at byte %zu", int(pattern.size()),
                            pattern.data(), what.c_str(), at));
  }

  void copy(size_t count) {
    out += pattern.substr(at, count);
    at += count;
  }

  void openClass() {
    inClass = true;
    copy(pattern.substr(at, 2) == "[^" ? 2 : 1);
    if (pattern.substr(at, 1) == "]")
      refuse("] as the first of a set");
  }

  void classCharacter(char c) {
    if (c == '[') // a set in a set here, a plain character to PCRE2
      refuse("[ in a set");
    if (pattern.substr(at, 2) == "&&")
      refuse("&& in a set");
    inClass = c != ']';
    copy(1);
  }

  void group() {
    for (std::string_view start : {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:", "(?i)", "(?-i:"})
      if (pattern.substr(at, start.size()) == start)
        return copy(start.size());
    refuse(std::string(pattern.substr(at, 4)));
  }

  void escape() {
    if (at + 1 == pattern.size())
      refuse("\\ at the end");
    char c = pattern[at + 1];
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'), digit = c >= '0' && c <= '9';
    if (c == 's' || (c == 'S' && !inClass)) {
      out += inClass ? std::string(spaces) : (c == 's' ? "[" : "[^") + std::string(spaces) + "]";
      at += 2;
    } else if (c == 'u') {
      std::string_view code = pattern.substr(at + 2, 4);
      if (code.size() < 4 || code.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos)
        refuse("\\u without four digits");
      out += "\\x{" + std::string(code) + "}";
      at += 6;
    } else if (c == 'p' || c == 'P' || (c == 'x' && pattern.substr(at + 2, 1) == "{")) {
      size_t end = pattern.find('}', at);
      if (pattern.substr(at + 2, 1) != "{" || end == std::string_view::npos)
        refuse(std::string(pattern.substr(at, 3)));
      copy(end + 1 - at);
    } else if ((!letter && !digit) || std::strchr("rntfdD", c)) {
      copy(2);
    } else {
      refuse(std::string(pattern.substr(at, 2)));
    }
  }

  std::string_view pattern;
  std::string out;
  size_t at = 0;
  bool inClass = false;
};

// As pcre2.h of version 10 declares them, for code units of 8 bits.
struct Library {
  static constexpr uint32_t utf = 0x00080000, ucp = 0x00020000, noUtfCheck = 0x40000000, jitComplete = 1;
  static constexpr int noMatch = -1;

  void *(*compile)(const char *, size_t, uint32_t, int *, size_t *, void *);
  int (*jitCompile)(void *, uint32_t);
  void *(*makeData)(const void *, void *);
  int (*match)(const void *, const char *, size_t, size_t, uint32_t, void *, void *);
  size_t *(*ovector)(void *);
  int (*message)(int, char *, size_t);
  void (*freeData)(void *);
  void (*freeCode)(void *);

  static const Library &load() {
    static const Library library = resolve();
    return library;
  }

private:
  template <typename T> static void find(void *handle, const char *name, T &out) {
    void *symbol = dlsym(handle, name);
    if (!symbol)
      throw InputError(format("libpcre2-8.so.0 has no %s: tokenizers need PCRE2 10", name));
    out = reinterpret_cast<T>(symbol);
  }

  static Library resolve() {
    void *handle = dlopen("libpcre2-8.so.0", RTLD_NOW);
    if (!handle)
      throw InputError(format("tokenizers need PCRE2, but libpcre2-8.so.0 cannot be loaded (%s): install it (Debian: "
                              "libpcre2-8-0)",
                              dlerror()));
    Library library{};
    find(handle, "pcre2_compile_8", library.compile);
    find(handle, "pcre2_jit_compile_8", library.jitCompile);
    find(handle, "pcre2_match_data_create_from_pattern_8", library.makeData);
    find(handle, "pcre2_match_8", library.match);
    find(handle, "pcre2_get_ovector_pointer_8", library.ovector);
    find(handle, "pcre2_get_error_message_8", library.message);
    find(handle, "pcre2_match_data_free_8", library.freeData);
    find(handle, "pcre2_code_free_8", library.freeCode);
    return library;
  }
};

std::string messageOf(int error) {
  char text[128] = "";
  Library::load().message(error, text, sizeof text);
  return text;
}

} // namespace

std::string translatePattern(std::string_view pattern) { return Translation(pattern).run(); }

struct Pattern::Compiled {
  void *code = nullptr, *data = nullptr;
  ~Compiled() {
    if (data)
      Library::load().freeData(data);
    if (code)
      Library::load().freeCode(code);
  }
};

Pattern::Pattern(const std::string &pattern) : compiled(std::make_unique<Compiled>()), source(pattern) {
  const Library &library = Library::load();
  std::string translated = translatePattern(pattern);
  int error;
  size_t place;
  compiled->code =
      library.compile(translated.data(), translated.size(), Library::utf | Library::ucp, &error, &place, nullptr);
  if (!compiled->code)
    throw InputError("the regular expression \"" + source + "\" is not supported: " + messageOf(error));
  library.jitCompile(compiled->code, Library::jitComplete); // where that fails it is interpreted
  compiled->data = library.makeData(compiled->code, nullptr);
}

Pattern::~Pattern() = default;
Pattern::Pattern(Pattern &&) noexcept = default;

std::optional<std::pair<int64_t, int64_t>> Pattern::find(std::string_view text, int64_t from) const {
  const Library &library = Library::load();
  int found = library.match(compiled->code, text.data(), text.size(), size_t(from), Library::noUtfCheck, compiled->data,
                            nullptr);
  if (found == Library::noMatch)
    return std::nullopt;
  if (found < 0)
    throw InputError(
        format("the regular expression \"%s\" cannot be matched at byte %lld: ", source.c_str(), (long long)from) +
        messageOf(found));
  const size_t *ends = library.ovector(compiled->data);
  return std::pair<int64_t, int64_t>(ends[0], ends[1]);
}

} // namespace ppcrt
