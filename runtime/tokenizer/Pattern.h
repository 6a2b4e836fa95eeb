// A regular expression over UTF-8 text, as tokenizers write them. PCRE2 matches it: libpcre2-8.so.0, which every Debian
// has, is loaded when a run needs it; a program links nothing for it. Tokenizers are made with Oniguruma, which reads
// some expressions otherwise: what the two read alike is accepted, \s is spelled out, and the rest is refused by name.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ppcrt {

// `pattern` in the notation of PCRE2. Throws InputError naming what is not supported.
std::string translatePattern(std::string_view pattern);

class Pattern {
public:
  // Throws InputError when the library cannot be loaded, or when `pattern` is not supported.
  explicit Pattern(const std::string &pattern);
  ~Pattern();
  Pattern(Pattern &&) noexcept;

  // Bytes [first, second) of the first match that begins at `from` or after it. `text` is valid UTF-8. Throws
  // InputError when the match takes more work than PCRE2 allows.
  std::optional<std::pair<int64_t, int64_t>> find(std::string_view text, int64_t from) const;

private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled;
  std::string source;
};

} // namespace ppcrt
