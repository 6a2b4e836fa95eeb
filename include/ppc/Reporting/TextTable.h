// Tables of text for terminals.
#ifndef PPC_REPORTING_TEXTTABLE_H
#define PPC_REPORTING_TEXTTABLE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace mlir::ppc {

/// Columns are as wide as their widest cell; cells that are numbers (or numbers with a unit) stand at the right edge.
class TextTable {
public:
  explicit TextTable(std::vector<std::string> header) : header(std::move(header)) {}
  void row(std::vector<std::string> cells);
  /// Each line begins with `indent`; no blanks at line ends.
  void print(llvm::raw_ostream &out, llvm::StringRef indent = "") const;

private:
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
};

/// Human-readable counts with three digits: "8.03 B", "405 B", "1.04 T", "12.3 k".
std::string countText(double count);
/// "12.3 TFLOP".
std::string flopsText(double flops);
/// "41.3 %" of a share.
std::string percentText(double share);
/// "1,234" and "1,234,567".
std::string groupedText(double count);
/// Fixed digits.
std::string fixedText(double value, int digits);

} // namespace mlir::ppc

#endif // PPC_REPORTING_TEXTTABLE_H
