// Random damage to texts that readers must survive. PPC_FUZZ_SECONDS: how long a fuzz test runs (a few hundred seeds
// without it); PPC_FUZZ_SEED: its first seed, to reproduce a failing case.
#ifndef PPC_TEST_UNIT_SUPPORT_TEXTMUTATION_H
#define PPC_TEST_UNIT_SUPPORT_TEXTMUTATION_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <chrono>
#include <cstdlib>
#include <random>
#include <string>

namespace mlir::ppc {

/// `text` with some bytes removed, repeated, changed, or replaced by one of `pieces`.
inline std::string damage(std::mt19937 &random, std::string text, llvm::ArrayRef<llvm::StringRef> pieces) {
  auto below = [&](size_t end) { return std::uniform_int_distribution<size_t>(0, end)(random); };
  for (size_t edits = 1 + below(3); edits > 0 && !text.empty(); --edits) {
    size_t at = below(text.size() - 1), length = std::min(1 + below(below(1) ? 4 : 40), text.size() - at);
    std::string piece = pieces[below(pieces.size() - 1)].str();
    switch (below(5)) {
    case 0:
      text.erase(at, length);
      break;
    case 1:
      text.insert(at, text.substr(below(text.size() - 1), length));
      break;
    case 2:
      text.insert(at, piece);
      break;
    case 3:
      text[at] = char(below(255));
      break;
    case 4:
      text.replace(at, length, piece);
      break;
    case 5: { // a whole value
      size_t from = text.find_first_of(":,", at), to = text.find_first_of(",\n", from + 1);
      if (from != std::string::npos && to != std::string::npos)
        text.replace(from + 1, to - from - 1, " " + piece);
      break;
    }
    }
  }
  return text;
}

/// Calls `test` with 300 seeds, one after the other, and with more until the time is up.
template <typename Test> void repeatWithSeeds(Test test) {
  constexpr unsigned least = 300;
  const char *limit = std::getenv("PPC_FUZZ_SECONDS"), *first = std::getenv("PPC_FUZZ_SEED");
  double seconds = limit ? std::atof(limit) : 0;
  auto begin = std::chrono::steady_clock::now();
  auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  unsigned seed = first ? std::atoi(first) : 1;
  for (unsigned done = 0; done < least || elapsed() < seconds; ++done)
    test(seed + done);
}

} // namespace mlir::ppc

#endif // PPC_TEST_UNIT_SUPPORT_TEXTMUTATION_H
