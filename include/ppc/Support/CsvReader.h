// Splits comma-separated text (RFC 4180) into cells.
#ifndef PPC_SUPPORT_CSVREADER_H
#define PPC_SUPPORT_CSVREADER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace mlir::ppc {

struct CsvTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows; // each as long as the header
  std::vector<int64_t> lines;                 // line of the file at which each row begins
};

/// Reads CSV. Cells may be quoted; "" inside quotes is a quote. Blank lines are skipped, CRLF is a line end. `name` is
/// the file name in messages. Errors (`NAME:LINE: error: ...`): no header, a repeated column, a row with another number
/// of cells, a quote that does not end, a NUL byte.
llvm::Expected<CsvTable> readCsv(llvm::StringRef name, llvm::StringRef text);

/// The cell as CSV: quoted when it has to be.
std::string csvCell(llvm::StringRef text);

} // namespace mlir::ppc

#endif // PPC_SUPPORT_CSVREADER_H
