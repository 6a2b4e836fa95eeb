#include "ppc/Support/CheckedOptions.h"
#include "ppc/Support/Spelling.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir::ppc;

/// True, as parsers of options say that they failed.
static bool refuse(llvm::StringRef name, llvm::StringRef text, const llvm::Twine &expected) {
  llvm::errs() << "error: --" << name << " is '" << text << "', expected " << expected << '\n';
  return true;
}

bool IntegerParser::parse(llvm::cl::Option &, llvm::StringRef name, llvm::StringRef text, int64_t &value) {
  if (std::optional<int64_t> number = parseWhole(text); number && *number >= range.least && *number <= range.most) {
    value = *number;
    return false;
  }
  return refuse(name, text,
                "an integer from " + llvm::Twine(range.least) + " to " + llvm::Twine(range.most) +
                    (hasLeadingZero(text) ? ", without leading zeros" : ""));
}

static std::string shortest(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.12g", number);
  return text;
}

bool RealParser::parse(llvm::cl::Option &, llvm::StringRef name, llvm::StringRef text, double &value) {
  bool isPlain =
      !text.empty() && text.find_first_not_of("0123456789+-.eE") == llvm::StringRef::npos && !hasLeadingZero(text);
  if (isPlain && !text.getAsDouble(value) && std::isfinite(value) &&
      (range.isAbove ? value > range.least : value >= range.least) &&
      (range.isBelow ? value < range.most : value <= range.most)) {
    value += 0.0; // -0 is 0
    return false;
  }
  return refuse(name, text,
                std::string("a number ") + (range.isAbove ? "above " : "from ") + shortest(range.least) +
                    (range.isAbove   ? (range.isBelow ? " and" : " and at most")
                     : range.isBelow ? " and"
                                     : " to") +
                    (range.isBelow ? " below " : " ") + shortest(range.most));
}
