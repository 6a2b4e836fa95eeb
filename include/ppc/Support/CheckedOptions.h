// Options of the command line that are numbers. Each says what it may be where it is declared, and whatever else is
// given is refused by the option's name and value:
//
//   IntegerOption dp("dp", within(1, limits::ranks), cl::desc("Data-parallel degree"));
//   RealOption beta1("beta1", withinReals(0, 1).below(), cl::desc("Decay of the first moment"));
//
// `error: --dp is '0', expected an integer from 1 to 4096`
#ifndef PPC_SUPPORT_CHECKEDOPTIONS_H
#define PPC_SUPPORT_CHECKEDOPTIONS_H

#include "llvm/Support/CommandLine.h"

namespace mlir::ppc {

struct IntegerRange {
  int64_t least = 0, most = 0;
  template <typename Option> void apply(Option &option) const { option.getParser().range = *this; }
};

struct RealRange {
  double least = 0, most = 0;
  bool isAbove = false, isBelow = false; // without the least; without the most
  RealRange above() const { return {least, most, true, isBelow}; }
  RealRange below() const { return {least, most, isAbove, true}; }
  template <typename Option> void apply(Option &option) const { option.getParser().range = *this; }
};

inline IntegerRange within(int64_t least, int64_t most) { return {least, most}; }
inline RealRange withinReals(double least, double most) { return {least, most}; }

/// Decimal digits with a sign.
class IntegerParser : public llvm::cl::basic_parser<int64_t> {
public:
  using basic_parser<int64_t>::basic_parser;
  llvm::StringRef getValueName() const override { return "N"; }
  bool parse(llvm::cl::Option &option, llvm::StringRef name, llvm::StringRef text, int64_t &value);
  IntegerRange range;
};

/// Decimal digits with a point and an exponent; no "nan", "inf" or hexadecimal.
class RealParser : public llvm::cl::basic_parser<double> {
public:
  using basic_parser<double>::basic_parser;
  llvm::StringRef getValueName() const override { return "number"; }
  bool parse(llvm::cl::Option &option, llvm::StringRef name, llvm::StringRef text, double &value);
  RealRange range;
};

using IntegerOption = llvm::cl::opt<int64_t, false, IntegerParser>;
using IntegerListOption = llvm::cl::list<int64_t, bool, IntegerParser>;
using RealOption = llvm::cl::opt<double, false, RealParser>;

} // namespace mlir::ppc

// LLVM prints a value for --print-options by its own parser of the type, which these are not.
template <>
inline void llvm::cl::opt<int64_t, false, mlir::ppc::IntegerParser>::printOptionValue(size_t width, bool) const {
  Parser.printOptionNoValue(*this, width);
}
template <>
inline void llvm::cl::opt<double, false, mlir::ppc::RealParser>::printOptionValue(size_t width, bool) const {
  Parser.printOptionNoValue(*this, width);
}

#endif // PPC_SUPPORT_CHECKEDOPTIONS_H
